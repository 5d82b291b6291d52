import BTCallAPI
import BluetoothTypes

// Headsets that come back by half, and the music that others play to them.
extension ConfigurationSection {
    package static var musicKeys: [ConfigurationKey] {
        let seconds = "a whole number from 0 to 60"
        return [
            ConfigurationKey(
                "profileCheckSeconds", "6",
                "from a headset's connection until those of its profiles are asked for that are missing; 0: never",
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

    /// It runs as the daemon's user: only the file names it.
    private static var commandKey: ConfigurationKey {
        let accepted = "an absolute path; empty for none"
        return ConfigurationKey(
            "mediaCommand", "",
            "a program that is run as PROGRAM suspend ADDRESS before a headset's link opens, PROGRAM restore ADDRESS after the calls",
            accepted: accepted, effect: .restart, read: { $0.mediaCommand ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value.isEmpty || value.hasPrefix("/") else { throw ConfigurationValueError(accepted: accepted) }
                configuration.mediaCommand = value.isEmpty ? nil : value
            })
    }
}
