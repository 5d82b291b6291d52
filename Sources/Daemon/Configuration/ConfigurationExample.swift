import BluetoothTypes

/// The configuration file that ships: every section and key, commented out, with its meaning and its default.
package enum ConfigurationExample {
    /// Printed by `btcalld --example`; a test keeps `etc/btcalld.conf` identical.
    package static var text: String {
        var lines = [
            "# btcalld: every key with its default. Check a changed file with `btcalld --check FILE`.",
            "# A line has at most \(ConfigurationReader.maximumLineBytes) bytes; comments begin with # or ;",
        ]
        let anyHeadset = ConfigurationSection.headset(BluetoothAddress(value: 0xAABB_CCDD_EEFF))
        for section in ConfigurationSection.all + [anyHeadset] {
            lines.append("")
            switch section {
            case .daemon, .routing, .bluetooth, .audio, .calls, .talk, .ring, .privacy, .pairing, .quirks, .identity,
                .hooks, .buttons:
                lines.append("[\(section.name)]")
            case .device:
                lines.append("# A local device; leave the section out when the board does not have it.")
                lines.append("#[\(section.name)]")
            case .headset:
                lines.append("# One headset, by its address: its values replace those for all headsets.")
                lines.append("#[\(section.name)]")
            }
            for key in section.keys {
                lines.append("# \(key.summary)")
                lines.append(key.standard.isEmpty ? "#\(key.name) =" : "#\(key.name) = \(key.standard)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
