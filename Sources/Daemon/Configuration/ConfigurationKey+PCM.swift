import BTCallAPI

/// The keys of `[audio]` for programs on the ALSA PCM.
extension ConfigurationSection {
    package static var pcmKeys: [ConfigurationKey] {
        let accepted = "an absolute path of at most 107 bytes, or none"
        return [
            ConfigurationKey(
                "pcmSocket", "/run/btcall/pcm.sock", "where programs on the ALSA PCM btcall find the daemon",
                accepted: accepted, effect: .restart, read: { $0.pcmSocket ?? "none" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard value == "none" || value.hasPrefix("/") && value.utf8.count <= 107 else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.pcmSocket = value == "none" ? nil : value
                })
        ]
    }
}
