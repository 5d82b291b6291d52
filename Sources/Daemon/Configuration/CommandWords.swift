/// A program with its arguments, as written in the configuration: words separated by spaces; quotes keep a word together.
///
/// Run without a shell: no other character has a special meaning.
package struct CommandWords: Hashable, Sendable, CustomStringConvertible {
    package static let accepted = "a program by its absolute path, and arguments; \"…\" around those with spaces"
    /// The program first.
    package let words: [String]
    /// The text in the configuration.
    package let description: String

    /// Nil unless the text begins with an absolute path and every quote is closed.
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
