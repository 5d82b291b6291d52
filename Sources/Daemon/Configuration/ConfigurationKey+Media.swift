import BTCallAPI
import BluetoothTypes

/// `[calls]`: which ways audio and video go.
extension ConfigurationSection {
    package static var mediaKeys: [ConfigurationKey] {
        [
            word(
                "audioDirection", MediaDirection.sendReceive.rawValue,
                "audio of calls that are answered or dialled without saying it", \.audioDirection),
            word(
                "videoDirection", MediaDirection.sendReceive.rawValue,
                "video of calls that have video, when it is not said", \.videoDirection),
            word(
                "mediaChange", MediaChangeRule.accept.rawValue,
                "when an application wants audio or video to go other ways: accept, or ask a client", \.mediaChange),
            boolean(
                "muteByHeadset", "yes", "a headset that sets its microphone volume to 0 mutes the calls", .now,
                \.mutesByHeadset),
        ]
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ standard: String, _ summary: String, _ path: WritableKeyPath<Configuration, Word>
    ) -> ConfigurationKey {
        let accepted = Word.allCases.map(\.rawValue).joined(separator: ", ")
        return ConfigurationKey(
            name, standard, summary, accepted: accepted, effect: .now, read: { $0[keyPath: path].rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let word = Word(rawValue: value) else { throw ConfigurationValueError(accepted: accepted) }
                configuration[keyPath: path] = word
            })
    }
}
