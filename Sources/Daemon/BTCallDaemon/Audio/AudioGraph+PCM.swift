import AudioEngine
import Routing

// The volume of local devices.
extension AudioGraph {
    /// How loud calls are on local devices, those that are open and later ones.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setLocalSpeakerGain(_ gain: Float) {
        localSpeakerGain = gain
        for terminal in terminals {
            if case .local = terminal.endpoint { engine.setSpeakerGain(terminal.identifier, gain) }
        }
    }
}
