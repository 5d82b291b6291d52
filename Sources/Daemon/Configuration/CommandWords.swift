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
