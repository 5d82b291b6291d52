import BTCallAPI

// The microphone: automatic configuration, operation between calls, permission and the light that shows its use.
extension ConfigurationSection {
    package static var captureKeys: [ConfigurationKey] {
        [
            boolean(
                "autoConfigure", "yes", "no: only open and close PCMs, set no mixer control", .restart,
                \.autoConfigure),
            boolean(
                "alwaysPrepared", "no", "keep the board's microphone running between calls, for a quick start", .now,
                \.alwaysPrepared),
        ]
    }

    package static var microphoneKeys: [ConfigurationKey] {
        let rules = MicrophoneRule.allCases.map(\.rawValue).joined(separator: ", ")
        return [
            ConfigurationKey(
                "microphone", "allow", "allow, deny (calls only receive) or ask-client (until Audio1.AllowMicrophone)",
                accepted: rules, effect: .now, read: { $0.microphone.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let rule = MicrophoneRule(rawValue: value) else {
                        throw ConfigurationValueError(accepted: rules)
                    }
                    configuration.microphone = rule
                }),
            ConfigurationKey(
                "led", "",
                "on while a microphone or camera is in use: /sys/class/leds/NAME or gpio:gpiochip0:17, ! inverts",
                accepted: PrivacyOutputSpecification.accepted, effect: .restart,
                read: { $0.privacyOutput?.description ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let output = PrivacyOutputSpecification(value) else {
                        throw ConfigurationValueError(accepted: PrivacyOutputSpecification.accepted)
                    }
                    configuration.privacyOutput = output
                }),
        ]
    }
}
