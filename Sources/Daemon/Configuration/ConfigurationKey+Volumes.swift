import BTCallAPI
package import BluetoothTypes

// Volume and battery, for all headsets and for one.
extension ConfigurationSection {
    package static var volumeAndBatteryKeys: [ConfigurationKey] {
        let sources = BoardBatterySource.allCases.map(\.rawValue).joined(separator: ", ")
        return [
            integer(
                "volumeCeiling", "15", "0 to 15: the highest volume of a headset's speaker", 0...15, .now,
                \.volumeCeiling),
            ConfigurationKey(
                "boardBattery", "upower",
                "upower, property (Manager1.BoardBattery) or none: source of the board's battery level on headsets",
                accepted: sources, effect: .now, read: { $0.boardBattery.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let source = BoardBatterySource(rawValue: value) else {
                        throw ConfigurationValueError(accepted: sources)
                    }
                    configuration.boardBattery = source
                }),
        ]
    }

    package static func headsetVolumeKeys(_ address: BluetoothAddress) -> [ConfigurationKey] {
        let accepted = "a whole number from 0 to 15; leave the key out for that of [bluetooth]"
        return [
            ConfigurationKey(
                "volumeCeiling", "", "0 to 15: the highest volume of its speaker; absent: as in [bluetooth]",
                accepted: accepted, effect: .restart,
                read: { $0.headsets[address]?.volumeCeiling.map { String($0) } ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let number = Int(value), (0...15).contains(number) else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.headsets[address, default: Configuration.OwnHeadset()].volumeCeiling = number
                })
        ]
    }
}
