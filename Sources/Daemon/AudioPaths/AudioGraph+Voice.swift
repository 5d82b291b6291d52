package import AudioDSP
package import AudioEngine
package import BluetoothTypes
package import ControlLoop

/// Requested voice processing, and who receives the result.
@ControlPlane
package struct VoiceWish {
    package let kind: VoiceProcessingKind
    package let stages: VoiceStages
    package let report: @ControlPlane (AudioEngineError?) -> Void
}

extension AudioGraph {
    /// Requests voice processing of the microphone. Without an open device it starts with the next one, because a processor
    /// takes memory.
    ///
    /// - Parameter report: called after the attempt; with the reason if it failed, in which case nothing is processed.
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

    /// Notes that a headset removes echo and noise itself, on its present link and on later ones.
    package func setOwnVoiceProcessing(_ isOwn: Bool, ofLink address: BluetoothAddress) {
        guard ownVoices.contains(address) != isOwn else { return }
        if isOwn { ownVoices.insert(address) } else { ownVoices.remove(address) }
        if let identifier = identifier(ofLink: address) { engine.setOwnVoiceProcessing(identifier, isOwn) }
    }

    /// Starts requested voice processing; called when a device is open, or about to be.
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
