import BTCallAPI
import DBus

// Processing of the microphone before the far end hears it.
extension BridgeAudio {
    /// The component that removes echo and noise from the microphone.
    public enum VoiceProcessor: String, Hashable, Sendable, CaseIterable {
        case webrtc, speex
        /// None: the microphone is left unprocessed.
        case none
    }

    /// Steps of voice processing; each is switched without a gap.
    public enum VoiceStage: Hashable, Sendable, CaseIterable {
        case echoCancellation
        case noiseSuppression
        /// Quiet and loud speech become equally loud.
        case automaticGain
        /// Removes hum below 100 Hz.
        case highPass

        var property: String {
            switch self {
            case .echoCancellation: BTCallName.Audio.echoCancellation
            case .noiseSuppression: BTCallName.Audio.noiseSuppression
            case .automaticGain: BTCallName.Audio.automaticGain
            case .highPass: BTCallName.Audio.highPass
            }
        }
    }

    /// Whether the microphone is processed. A headset's own microphone is not processed when the headset does it itself.
    public func isVoiceProcessingEnabled() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.voiceProcessing)
    }

    /// Sets ``isVoiceProcessingEnabled()``, also during a call, with a gap of about 40 ms. It holds until the daemon ends.
    ///
    /// - Throws: `.wrongState` where the configuration names no voice processor.
    public func setVoiceProcessingEnabled(_ isEnabled: Bool) async throws(BridgeError) {
        try await setFlag(BTCallName.Audio.voiceProcessing, isEnabled)
    }

    /// Whether the microphone bypasses processing while the processor keeps adapting.
    public func isVoiceProcessingBypassed() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.voiceProcessingBypassed)
    }

    /// Sets ``isVoiceProcessingBypassed()`` without a gap. It holds until the daemon ends.
    public func setVoiceProcessingBypassed(_ isBypassed: Bool) async throws(BridgeError) {
        try await setFlag(BTCallName.Audio.voiceProcessingBypassed, isBypassed)
    }

    /// The processor in use; `none` while processing is disabled.
    ///
    /// - Throws: `.failed` for a processor that this version does not know.
    public func voiceProcessor() async throws(BridgeError) -> VoiceProcessor {
        let name = BTCallName.Audio.voiceProcessor
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        let word = try decoding { () throws(APIError) in try fields.string(name) }
        guard let processor = VoiceProcessor(rawValue: word) else {
            throw BridgeError(.failed, "btcalld has the voice processor \"\(word)\", which this library does not know")
        }
        return processor
    }

    /// Whether this step is done while voice processing is enabled.
    public func isVoiceStageEnabled(_ stage: VoiceStage) async throws(BridgeError) -> Bool {
        try await flag(stage.property)
    }

    /// Sets ``isVoiceStageEnabled(_:)`` without a gap. Kept over restarts of the daemon, as ``CallBridge`` keeps settings.
    public func setVoiceStage(_ stage: VoiceStage, enabled: Bool) async throws(BridgeError) {
        try await setFlag(stage.property, enabled)
    }

    private func flag(_ name: String) async throws(BridgeError) -> Bool {
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        return try decoding { () throws(APIError) in try fields.bool(name) }
    }

    private func setFlag(_ name: String, _ value: Bool) async throws(BridgeError) {
        try await connection.setProperty(BTCallPath.audio, BTCallName.Interface.audio, name, .bool(value))
    }
}
