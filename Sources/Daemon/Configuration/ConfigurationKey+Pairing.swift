import BTCallAPI
import HeadsetPolicy

/// `[pairing]`: pairing without a screen.
extension ConfigurationSection {
    package static var pairingKeys: [ConfigurationKey] {
        let seconds = "a whole number from 1 to 600"
        let entries = "\(PairingRules.acceptedEntry); several with commas between; empty for any audio device"
        return [
            ConfigurationKey(
                "button", "", "opens a pairing window: evdev:NAME:KEY_PROG1 or gpio:gpiochip0:17, ! inverts",
                accepted: HookSpecification.accepted, effect: .restart,
                read: { $0.pairing.button?.description ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let button = HookSpecification(value) else {
                        throw ConfigurationValueError(accepted: HookSpecification.accepted)
                    }
                    configuration.pairing.button = button
                }),
            ConfigurationKey(
                "led", "", "blinks while a window is open: /sys/class/leds/NAME or gpio:gpiochip0:17, ! inverts",
                accepted: PrivacyOutputSpecification.accepted, effect: .restart,
                read: { $0.pairing.light?.description ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let light = PrivacyOutputSpecification(value) else {
                        throw ConfigurationValueError(accepted: PrivacyOutputSpecification.accepted)
                    }
                    configuration.pairing.light = light
                }),
            ConfigurationKey(
                "seconds", "\(PairingRules.usualSeconds)", "how long the button's window is open", accepted: seconds,
                effect: .restart, read: { "\($0.pairing.seconds)" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let number = Int(value), PairingRules.seconds.contains(number) else {
                        throw ConfigurationValueError(accepted: seconds)
                    }
                    configuration.pairing.seconds = number
                }),
            ConfigurationKey(
                "allow", "", "headsets that the button's window accepts: addresses and names with * and ?; empty: any",
                accepted: entries, effect: .restart, read: { $0.pairing.allow.joined(separator: ", ") },
                apply: { configuration, value throws(ConfigurationValueError) in
                    let comma: Character = ","
                    let allow = value.split(separator: comma).map { Self.trimmed($0) }
                    // An empty entry would be a typing mistake that opens the window to everybody.
                    guard allow.allSatisfy({ PairingRules.entry($0) != nil }), allow.count <= PairingRules.mostEntries
                    else { throw ConfigurationValueError(accepted: entries) }
                    configuration.pairing.allow = allow
                }),
        ]
    }

    private static func trimmed(_ text: Substring) -> String {
        let space: Character = " "
        var rest = text
        while rest.first == space { rest = rest.dropFirst() }
        while rest.last == space { rest = rest.dropLast() }
        return String(rest)
    }
}
