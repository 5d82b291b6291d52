package import AudioEngine
import Routing

// Streams of the ALSA PCM of calls.
extension AudioGraph {
    package func addPCM(_ stream: UInt32, _ memory: PCMMemory) throws(AudioEngineError) {
        try engine.addPCM(stream, memory)
    }

    package func removePCM(_ stream: UInt32) { engine.removePCM(stream) }

    /// - Parameter call: whose audio the PCM is; nil: nobody's.
    package func setPCMCall(_ call: UInt32?) { engine.setPCMCall(call) }

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
