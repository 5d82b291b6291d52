import BTCallAPI

/// `[privacy]`: who may use the microphone, record calls, and see the other party.
extension ConfigurationSection {
    package static var privacyKeys: [ConfigurationKey] { microphoneKeys + recordingKeys + [callersKey] }

    private static var callersKey: ConfigurationKey {
        let words = CallerAudience.allCases.map(\.rawValue).joined(separator: ", ")
        return ConfigurationKey(
            "callers", CallerAudience.group.rawValue,
            "who may see the other party of calls: group (root and members of btcall) or everybody", accepted: words,
            effect: .now, read: { $0.callers.rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let audience = CallerAudience(rawValue: value) else {
                    throw ConfigurationValueError(accepted: words)
                }
                configuration.callers = audience
            })
    }

    private static var recordingKeys: [ConfigurationKey] {
        let words = RecordingConsent.allCases.map(\.rawValue).joined(separator: ", ")
        return [
            ConfigurationKey(
                "recording", RecordingConsent.deny.rawValue, "whether programs may record calls: deny, allow or ask",
                accepted: words, effect: .now, read: { $0.recording.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let consent = RecordingConsent(rawValue: value) else {
                        throw ConfigurationValueError(accepted: words)
                    }
                    configuration.recording = consent
                })
        ]
    }
}
