import BTCallAPI
import BluetoothTypes

// Headsets that reconnect only in part, and the music of other programs.
extension ConfigurationSection {
    package static var musicKeys: [ConfigurationKey] {
        let seconds = "a whole number from 0 to 60"
        return [
            ConfigurationKey(
                "profileCheckSeconds", "6",
                "seconds from a headset's connection until btcalld connects its missing profiles; 0: never",
                accepted: seconds, effect: .now, read: { String($0.profileCheck.milliseconds / 1000) },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let number = Int(value), (0...60).contains(number) else {
                        throw ConfigurationValueError(accepted: seconds)
                    }
                    configuration.profileCheck = .seconds(number)
                }),
            boolean(
                "pausePlayers", "yes", "pause the players on the bus (MPRIS) for calls on headsets", .now,
                \.pausesPlayers),
            commandKey,
        ]
    }

    /// The program runs as the daemon's user, so only the file may name it.
    private static var commandKey: ConfigurationKey {
        let accepted = "an absolute path; empty for none"
        return ConfigurationKey(
            "mediaCommand", "",
            "a program run as PROGRAM suspend ADDRESS before a headset's link opens, PROGRAM restore ADDRESS after the calls",
            accepted: accepted, effect: .restart, read: { $0.mediaCommand ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value.isEmpty || value.hasPrefix("/") else { throw ConfigurationValueError(accepted: accepted) }
                configuration.mediaCommand = value.isEmpty ? nil : value
            })
    }
}
