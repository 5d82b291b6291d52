/// Takes the lines of a shell sample apart into the programs that it runs, as far as samples go: words, quotes, comments, pipes,
/// lists, command substitutions, redirections and assignments.
struct ShellReader {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var rest: Substring
    private var commands: [[String]] = []
    private var words: [String] = []
    private var word: String?
    /// The next word is the file of a redirection.
    private var isFile = false

    /// The programs with their arguments, without `sudo`; those within a substitution come before the one that it is for.
    static func commands(in text: String) throws(Failure) -> [[String]] {
        var reader = ShellReader(rest: text[...])
        try reader.read(until: nil)
        return reader.commands
    }

    private init(rest: Substring) { self.rest = rest }

    private mutating func read(until end: Character?) throws(Failure) {
        while let character = rest.popFirst() {
            switch character {
            case end: return endCommand()
            case " ", "\t": endWord()
            case "\n", ";", "|", "&": endCommand()
            case "\\":
                guard let next = rest.popFirst() else { throw Failure(description: "nothing follows \\") }
                if next != "\n" { word = (word ?? "") + String(next) }
            case "#" where word == nil: rest = rest.drop { $0 != "\n" }
            case "'", "\"": try quoted(character)
            case "$" where rest.first == "(": try substitution()
            case ">", "<":
                // A number before it is a descriptor.
                if word.map({ $0.allSatisfy(\.isNumber) }) ?? false { word = nil }
                endWord()
                if rest.first == ">" || rest.first == "&" { rest.removeFirst() }
                isFile = true
            default: word = (word ?? "") + String(character)
            }
        }
        guard end == nil else { throw Failure(description: "a substitution has no end") }
        endCommand()
    }

    private mutating func quoted(_ quote: Character) throws(Failure) {
        word = word ?? ""
        while let character = rest.popFirst() {
            if character == quote { return }
            if character == "$", quote == "\"", rest.first == "(" {
                try substitution()
            } else {
                word?.append(character)
            }
        }
        throw Failure(description: "a quoted text has no end")
    }

    private mutating func substitution() throws(Failure) {
        rest.removeFirst()
        var inner = ShellReader(rest: rest)
        try inner.read(until: ")")
        rest = inner.rest
        commands += inner.commands
        word = (word ?? "") + "$()"
    }

    private mutating func endWord() {
        guard let done = word else { return }
        word = nil
        if isFile {
            isFile = false
        } else if !(words.isEmpty && Self.isAssignment(done)) {
            words.append(done)
        }
    }

    private mutating func endCommand() {
        endWord()
        isFile = false
        if words.first == "sudo" { words.removeFirst() }
        if !words.isEmpty { commands.append(words) }
        words = []
    }

    private static func isAssignment(_ word: String) -> Bool {
        guard let sign = word.firstIndex(of: "="), sign > word.startIndex else { return false }
        return word[..<sign].allSatisfy { $0.isLetter || $0 == "_" }
    }
}
