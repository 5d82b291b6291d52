import AudioDSP
import BTCallAPI

/// `[audio]`: voice processing of the microphone.
extension ConfigurationSection {
    package static var voiceKeys: [ConfigurationKey] {
        let isWebRTC = VoiceProcessingKind.webrtc.isAvailable
        let accepted = isWebRTC ? "webrtc, speex or none" : "speex or none (\(VoiceProcessingKind.howToBuild))"
        return [
            ConfigurationKey(
                "voiceProcessing", VoiceProcessingKind.preferred.rawValue,
                "processor that removes echo and noise from the microphone: webrtc, speex or none",
                accepted: accepted, effect: .now, read: { $0.voiceProcessing.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let kind = VoiceProcessingKind(rawValue: value.lowercased()), kind.isAvailable else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.voiceProcessing = kind
                }),
            boolean("echoCancellation", "yes", "remove the echo of the far end", .now, \.takesEcho),
            boolean("noiseSuppression", "yes", "remove steady noise", .now, \.takesNoise),
            boolean("automaticGain", "yes", "even out quiet and loud speech", .now, \.adjustsGain),
            boolean("highPass", "yes", "remove hum below 100 Hz", .now, \.takesHum),
        ]
    }
}

extension Configuration {
    /// Whether headsets are told that they may leave echo and noise to btcalld.
    package var takesOutEcho: Bool { voiceProcessing != .none && (takesEcho || takesNoise) }
}
