package import AudioDSP
package import AudioEngine
package import BluetoothTypes
package import ControlLoop

/// What is to be done to the microphone, and who hears how that went.
@ControlPlane
package struct VoiceWish {
    package let kind: VoiceProcessingKind
    package let stages: VoiceStages
    package let report: @ControlPlane (AudioEngineError?) -> Void
}

extension AudioGraph {
    /// Has the microphone processed from here on; while no device is open, from the next one on: a processor takes memory.
    ///
    /// - Parameter report: told when it was tried, with the reason if it cannot be; then nothing is done.
    package func setVoiceProcessing(
        _ kind: VoiceProcessingKind, _ stages: VoiceStages, report: @escaping @ControlPlane (String?) -> Void
    ) {
        voiceWish = VoiceWish(kind: kind, stages: stages) { error in report(error.map { "\($0)" }) }
        if !terminals.isEmpty { fulfilVoiceWish() }
    }

    package func setVoiceStages(_ stages: VoiceStages) {
        if let wish = voiceWish { voiceWish = VoiceWish(kind: wish.kind, stages: stages, report: wish.report) }
        engine.setVoiceStages(stages)
    }

    /// A headset takes echo and noise out itself, on the link that it has and on later ones.
    package func setOwnVoiceProcessing(_ isOwn: Bool, ofLink address: BluetoothAddress) {
        guard ownVoices.contains(address) != isOwn else { return }
        if isOwn { ownVoices.insert(address) } else { ownVoices.remove(address) }
        if let identifier = identifier(ofLink: address) { engine.setOwnVoiceProcessing(identifier, isOwn) }
    }

    /// A device is there, or about to be.
    package func fulfilVoiceWish() {
        guard let wish = voiceWish else { return }
        voiceWish = nil
        do throws(AudioEngineError) {
            try engine.setVoiceProcessing(wish.kind, stages: wish.stages)
            wish.report(nil)
        } catch {
            wish.report(error)
        }
    }
}
