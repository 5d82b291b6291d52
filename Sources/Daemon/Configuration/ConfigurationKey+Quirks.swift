import BTCallAPI
package import BluetoothTypes
import HandsFree

// The quirks databases, and effects for one headset in the configuration file.
extension ConfigurationSection {
    package static var quirksKeys: [ConfigurationKey] {
        [
            quirksPath(
                "database", Configuration.shippedQuirks, "the shipped rows about headsets and controllers", \.quirksFile
            ),
            quirksPath(
                "overlay", Configuration.adminQuirks, "rows of your own, which replace or switch off shipped ones",
                \.quirksOverlay),
        ]
    }

    static func quirksPath(
        _ name: String, _ standard: String, _ summary: String, _ path: WritableKeyPath<Configuration, String?>
    ) -> ConfigurationKey {
        let accepted = "an absolute path, or none"
        return ConfigurationKey(
            name, standard, summary, accepted: accepted, effect: .restart,
            read: { $0[keyPath: path] ?? "none" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value == "none" || value.hasPrefix("/") else { throw ConfigurationValueError(accepted: accepted) }
                configuration[keyPath: path] = value == "none" ? nil : value
            })
    }

    package static func headsetQuirkKeys(_ address: BluetoothAddress) -> [ConfigurationKey] {
        QuirkEffect.Key.allCases.map { key in
            ConfigurationKey(
                key.rawValue, "", key.summary, accepted: key.accepted, effect: .restart,
                read: { $0.headsetEffects[address]?.last { $0.key == key }?.value ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let effect = QuirkEffect(key, value) else {
                        throw ConfigurationValueError(accepted: key.accepted)
                    }
                    configuration.headsetEffects[address, default: []].append(effect)
                })
        }
    }
}
