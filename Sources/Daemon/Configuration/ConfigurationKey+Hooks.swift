import BTCallAPI
import BluetoothTypes

// `[hooks]` and `[buttons]`. Commands run as the daemon's user, so only the file may name them.
extension ConfigurationSection {
    package static var hookKeys: [ConfigurationKey] {
        let accepted = CommandWords.accepted + "; empty for none"
        return HookEvent.allCases.map { event in
            ConfigurationKey(
                event.rawValue, "", event.summary, accepted: accepted, effect: .restart,
                read: { $0.hooks[event]?.description ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard value.isEmpty || CommandWords(value) != nil else {
                        throw ConfigurationValueError(accepted: accepted)
                    }
                    configuration.hooks[event] = CommandWords(value)
                })
        }
    }

    package static var buttonKeys: [ConfigurationKey] {
        ButtonGesture.all.map { gesture in
            ConfigurationKey(
                gesture.word, "", summary(gesture), accepted: ButtonAction.accepted, effect: .restart,
                read: { $0.buttons[gesture]?.text ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard value.isEmpty || ButtonAction(value) != nil else {
                        throw ConfigurationValueError(accepted: ButtonAction.accepted)
                    }
                    configuration.buttons[gesture] = ButtonAction(value)
                })
        }
    }

    private static func summary(_ gesture: ButtonGesture) -> String {
        switch (gesture.key, gesture.press) {
        case (.callKey, .short):
            "answer, hangup, toggle, mute, redial, hold, volumeUp, volumeDown or run COMMAND: the key of AT+CKPD"
        case (.callKey, .long): "the call key, held (AT+BVRA); headsets are then offered voice recognition"
        case (.hangUp, .short): "the hang-up key, while the audio belongs to no call"
        case (.play, .short): "a media key (AVRCP), like those that follow"
        case (_, .short): "the key for \(gesture.key.rawValue)"
        case (_, .double): "the same key, pressed twice within 400 ms; a short press is then delayed by that time"
        case (_, .long): "the same key, held"
        }
    }
}
