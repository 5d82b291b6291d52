/// The action of a button (`[buttons]`).
package enum ButtonAction: Hashable, Sendable {
    case answer, hangup
    /// Answers a ringing call, otherwise ends the present one.
    case toggle
    case mute, redial, hold, volumeUp, volumeDown
    case run(CommandWords)

    private static let words: [(word: String, action: ButtonAction)] = [
        ("answer", .answer), ("hangup", .hangup), ("toggle", .toggle), ("mute", .mute), ("redial", .redial),
        ("hold", .hold), ("volumeUp", .volumeUp), ("volumeDown", .volumeDown),
    ]

    package static var accepted: String {
        words.map(\.word).joined(separator: ", ") + ", or run and " + CommandWords.accepted + "; empty for none"
    }

    package init?(_ text: String) {
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.action
            return
        }
        let prefix = "run "
        guard text.hasPrefix(prefix), let command = CommandWords(String(text.dropFirst(prefix.count))) else {
            return nil
        }
        self = .run(command)
    }

    package var text: String {
        if case .run(let command) = self { return "run \(command)" }
        return Self.words.first { $0.action == self }?.word ?? ""
    }
}
