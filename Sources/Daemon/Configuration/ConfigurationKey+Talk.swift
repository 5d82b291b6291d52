import BTCallAPI
package import BluetoothTypes
import TalkWords

/// `[talk]`: push to talk.
extension ConfigurationSection {
    package static var talkKeys: [ConfigurationKey] {
        [
            modeKey,
            integer(
                "tailMilliseconds", "200", "how long the far end still hears the person after the release", 0...2000,
                .now, \.talk.tailMilliseconds),
            integer(
                "timeoutSeconds", "60", "seconds after which a pressed key counts as stuck, and is released; 0: never",
                0...3600, .now, \.talk.timeoutSeconds),
            boardKey,
            boolean(
                "tones", "yes", "play tones when somebody may talk, may not, or has been cut off", .now,
                \.talk.playsTones),
            linkKey,
            quirksPath(
                "database", Configuration.shippedTalkKeys, "the shipped rows about talk keys of devices", \.talkKeysFile
            ),
            quirksPath(
                "overlay", Configuration.adminTalkKeys, "rows of your own, which replace or switch off shipped ones",
                \.talkKeysOverlay),
        ]
    }

    private static var modeKey: ConfigurationKey {
        let words = TalkMode.allCases.map(\.rawValue).joined(separator: ", ")
        return ConfigurationKey(
            "mode", TalkMode.off.rawValue,
            "when the far end hears the person: off (always), push (while a key is pressed), toggle, latch",
            accepted: words, effect: .now, read: { $0.talk.mode.rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let mode = TalkMode(rawValue: value) else { throw ConfigurationValueError(accepted: words) }
                configuration.talk.mode = mode
            })
    }

    private static var boardKey: ConfigurationKey {
        let accepted = HookSpecification.accepted + "; empty for none"
        return ConfigurationKey(
            "key", "", "a talk key of the board: evdev:NAME:KEY_F13 or gpio:gpiochip0:17, ! inverts",
            accepted: accepted, effect: .restart, read: { $0.talk.key?.description ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                let key = HookSpecification(value)
                guard key != nil || value.isEmpty else { throw ConfigurationValueError(accepted: accepted) }
                configuration.talk.key = key
            })
    }

    private static var linkKey: ConfigurationKey {
        let words = TalkConfiguration.Link.allCases.map(\.rawValue).joined(separator: " or ")
        return ConfigurationKey(
            "link", TalkConfiguration.Link.keep.rawValue,
            "voice link of headsets in calls with a talk mode: keep (during the call) or press (while somebody talks)",
            accepted: words, effect: .now, read: { $0.talk.link.rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let link = TalkConfiguration.Link(rawValue: value) else {
                    throw ConfigurationValueError(accepted: words)
                }
                configuration.talk.link = link
            })
    }

    package static func headsetTalkKeys(_ address: BluetoothAddress) -> [ConfigurationKey] {
        let words = TalkConfiguration.Link.allCases.map(\.rawValue).joined(separator: " or ")
        let accepted = "\(words); leave the key out for that of [talk]"
        return [
            ConfigurationKey(
                "talkLink", "", "keep or press: when its voice link is open for push to talk; absent: as in [talk]",
                accepted: accepted, effect: .restart, read: { $0.headsets[address]?.talkLink?.rawValue ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let link = TalkConfiguration.Link(rawValue: value) else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.headsets[address, default: Configuration.OwnHeadset()].talkLink = link
                })
        ]
    }
}
