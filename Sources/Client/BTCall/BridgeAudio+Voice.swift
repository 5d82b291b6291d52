import BTCallAPI
import DBus

// What is done to the microphone before the far end hears it.
extension BridgeAudio {
    /// Who takes echo and noise out of the microphone.
    public enum VoiceProcessor: String, Hashable, Sendable, CaseIterable {
        case webrtc, speex
        /// Nobody: the microphone stays as it is.
        case none
    }

    /// What of it is done; each comes and goes without a gap.
    public enum VoiceStage: Hashable, Sendable, CaseIterable {
        case echoCancellation
        case noiseSuppression
        /// Quiet and loud speech become equally loud.
        case automaticGain
        /// Hum below 100 Hz is taken out.
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

    /// Whether anything is done to the microphone. Nothing is done to that of a headset that does it itself.
    public func isVoiceProcessingEnabled() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.voiceProcessing)
    }

    /// Sets ``isVoiceProcessingEnabled()``, also in a call, with a gap of some 40 ms; it lasts until the daemon ends.
    ///
    /// - Throws: `.wrongState` where the configuration names nobody who could do it.
    public func setVoiceProcessingEnabled(_ isEnabled: Bool) async throws(BridgeError) {
        try await setFlag(BTCallName.Audio.voiceProcessing, isEnabled)
    }

    /// Whether the microphone is let through as it is while everything goes on adapting.
    public func isVoiceProcessingBypassed() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.voiceProcessingBypassed)
    }

    /// Sets ``isVoiceProcessingBypassed()`` without a gap; it lasts until the daemon ends.
    public func setVoiceProcessingBypassed(_ isBypassed: Bool) async throws(BridgeError) {
        try await setFlag(BTCallName.Audio.voiceProcessingBypassed, isBypassed)
    }

    /// Who does it now; `none` while it is not enabled.
    ///
    /// - Throws: `.failed` for one that this version does not know.
    public func voiceProcessor() async throws(BridgeError) -> VoiceProcessor {
        let name = BTCallName.Audio.voiceProcessor
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        let word = try decoding { () throws(APIError) in try fields.string(name) }
        guard let processor = VoiceProcessor(rawValue: word) else {
            throw BridgeError(.failed, "btcalld has the voice processor \"\(word)\", which this library does not know")
        }
        return processor
    }

    /// Whether this is done when voice processing is enabled.
    public func isVoiceStageEnabled(_ stage: VoiceStage) async throws(BridgeError) -> Bool {
        try await flag(stage.property)
    }

    /// Sets ``isVoiceStageEnabled(_:)`` without a gap. It is kept over a restart of the daemon, as ``CallBridge`` keeps settings.
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
