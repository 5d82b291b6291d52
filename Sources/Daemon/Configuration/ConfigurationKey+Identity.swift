import BTCallAPI

/// `[identity]`: account, user and names of the box, for applications and headsets.
extension ConfigurationSection {
    /// Longest operator name of +COPS in bytes (3GPP TS 27.007 §7.3).
    private static let networkNameBytes = 16
    private static let longestName = 96

    package static var identityKeys: [ConfigurationKey] {
        [
            name("accountId", "the account that calls belong to, for applications", \.accountID).only(.inactive),
            name("userId", "the user of that account, for applications", \.userID).only(.inactive),
            name(
                "displayName",
                "the name of this box: the alias of its Bluetooth adapters, and the network's name unless operatorName is set",
                \.displayName),
            name(
                "localizedName", "the network's name on headsets with a display, in place of the others",
                longest: networkNameBytes, \.localizedName
            ).only(.noCalls),
            path("ringtoneSound", "a WAV file to ring with instead of [ring] file", \.ringtoneSound).only(.noCalls),
            path("iconFileName", "a picture of the application, for graphical clients", \.iconFileName).only(.noCalls),
        ]
    }

    private static func name(
        _ name: String, _ summary: String, longest: Int = longestName, _ path: WritableKeyPath<Identity, String>
    ) -> ConfigurationKey {
        let accepted =
            "at most \(longest) bytes without control characters, quotes, semicolons and spaces at the ends; empty for none"
        return text(name, summary, accepted, path) { text in
            let isPlain = text.utf8.allSatisfy {
                $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ";")
            }
            return text.utf8.count <= longest && isPlain && text.first != " " && text.last != " "
        }
    }

    private static func path(
        _ name: String, _ summary: String, _ path: WritableKeyPath<Identity, String>
    ) -> ConfigurationKey {
        text(name, summary, "an absolute path of at most 150 bytes; empty for none", path) {
            $0.isEmpty || $0.hasPrefix("/") && $0.utf8.count <= 150
        }.atRuntime(keptPath, isKeptPath)
    }

    private static func text(
        _ name: String, _ summary: String, _ accepted: String, _ path: WritableKeyPath<Identity, String>,
        _ isAccepted: @escaping (String) -> Bool
    ) -> ConfigurationKey {
        ConfigurationKey(
            name, "", summary, accepted: accepted, effect: .now, read: { $0.identity[keyPath: path] },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard isAccepted(value) else { throw ConfigurationValueError(accepted: accepted) }
                configuration.identity[keyPath: path] = value
            })
    }
}
