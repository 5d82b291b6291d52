import AudioDSP
import BTCallAPI

/// `[audio]`: what is done to the microphone.
extension ConfigurationSection {
    package static var voiceKeys: [ConfigurationKey] {
        let isWebRTC = VoiceProcessingKind.webrtc.isAvailable
        let accepted = isWebRTC ? "webrtc, speex or none" : "speex or none (\(VoiceProcessingKind.howToBuild))"
        return [
            ConfigurationKey(
                "voiceProcessing", VoiceProcessingKind.preferred.rawValue,
                "who takes echo and noise out of the microphone: webrtc, speex, or none: it stays as it is",
                accepted: accepted, effect: .now, read: { $0.voiceProcessing.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let kind = VoiceProcessingKind(rawValue: value.lowercased()), kind.isAvailable else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.voiceProcessing = kind
                }),
            boolean("echoCancellation", "yes", "the echo of the far end is taken out", .now, \.takesEcho),
            boolean("noiseSuppression", "yes", "steady noise is taken out", .now, \.takesNoise),
            boolean("automaticGain", "yes", "quiet and loud speech become equally loud", .now, \.adjustsGain),
            boolean("highPass", "yes", "hum below 100 Hz is taken out", .now, \.takesHum),
        ]
    }
}

extension Configuration {
    /// Headsets are told that they may leave echo and noise to us.
    package var takesOutEcho: Bool { voiceProcessing != .none && (takesEcho || takesNoise) }
}
