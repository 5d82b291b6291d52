package import AudioDSP
package import AudioEngine
package import BluetoothTypes
package import ControlLoop

/// Requested voice processing, and who receives the result.
@ControlPlane
package struct VoiceProcessingRequest {
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
        requestedVoiceProcessing = VoiceProcessingRequest(kind: kind, stages: stages) { error in
            report(error.map { "\($0)" })
        }
        if !terminals.isEmpty { startRequestedVoiceProcessing() }
    }

    package func setVoiceStages(_ stages: VoiceStages) {
        if let request = requestedVoiceProcessing {
            requestedVoiceProcessing = VoiceProcessingRequest(
                kind: request.kind, stages: stages, report: request.report)
        }
        engine.setVoiceStages(stages)
    }

    /// Notes that a headset removes echo and noise itself, on its present link and on later ones.
    package func setOwnVoiceProcessing(_ isOwn: Bool, ofLink address: BluetoothAddress) {
        guard ownVoices.contains(address) != isOwn else { return }
        if isOwn { ownVoices.insert(address) } else { ownVoices.remove(address) }
        if let identifier = identifier(ofLink: address) { engine.setOwnVoiceProcessing(identifier, isOwn) }
    }

    /// Starts requested voice processing; called when a device is open, or about to be.
    package func startRequestedVoiceProcessing() {
        guard let request = requestedVoiceProcessing else { return }
        requestedVoiceProcessing = nil
        do throws(AudioEngineError) {
            try engine.setVoiceProcessing(request.kind, stages: request.stages)
            request.report(nil)
        } catch {
            request.report(error)
        }
    }
}
