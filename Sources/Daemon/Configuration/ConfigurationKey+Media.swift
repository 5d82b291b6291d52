import BTCallAPI
import BluetoothTypes

/// `[calls]`: the directions of audio and video.
extension ConfigurationSection {
    package static var mediaKeys: [ConfigurationKey] {
        [
            word(
                "audioDirection", MediaDirection.sendReceive.rawValue,
                "default direction of the audio of calls", \.audioDirection),
            word(
                "videoDirection", MediaDirection.sendReceive.rawValue,
                "default direction of the video of calls that have video", \.videoDirection),
            word(
                "mediaChange", MediaChangeRule.accept.rawValue,
                "an application's request to change audio or video directions: accept it, or ask a client",
                \.mediaChange),
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
