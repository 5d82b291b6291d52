/// What a command can be run for (`[hooks]`), by the word of its key.
package enum HookEvent: String, Hashable, Sendable, CaseIterable {
    case headsetConnected, headsetLost
    case callIncoming, callStarted, callEnded
    case routeChanged
    case problem
    case button

    package var summary: String {
        switch self {
        case .headsetConnected: "a headset is connected for calls: BTCALL_ADDRESS, BTCALL_NAME"
        case .headsetLost: "it is not any more: BTCALL_ADDRESS, BTCALL_NAME"
        case .callIncoming: "a call rings: BTCALL_CALL, BTCALL_NUMBER, BTCALL_NAME, BTCALL_PROVIDER"
        case .callStarted: "a call was answered: the same, and BTCALL_DIRECTION"
        case .callEnded: "a call is over: the same, and BTCALL_REASON"
        case .routeChanged: "the audio has moved: BTCALL_OLD_DEVICE, BTCALL_DEVICE, BTCALL_REASON"
        case .problem: "something is missing from now on: BTCALL_PROBLEM, BTCALL_WHAT, BTCALL_REMEDY"
        case .button: "a button without an action in [buttons]: BTCALL_ADDRESS, BTCALL_BUTTON, BTCALL_PRESS"
        }
    }
}

/// A program with its arguments as the configuration writes them: words with spaces between; quotes keep a word together.
///
/// No shell sees it: nothing else has a meaning.
package struct CommandWords: Hashable, Sendable, CustomStringConvertible {
    package static let accepted = "a program by its absolute path, and arguments; \"…\" around those with spaces"
    /// The program first.
    package let words: [String]
    /// As it was written.
    package let description: String

    /// Nil for what does not begin with an absolute path, and for a quote that does not end.
    package init?(_ text: String) {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character == " ", !isQuoted {
                if let whole = word { words.append(whole) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let whole = word { words.append(whole) }
        guard !isQuoted, let program = words.first, program.hasPrefix("/") else { return nil }
        self.words = words
        description = text
    }
}
