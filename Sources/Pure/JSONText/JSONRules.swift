/// What a reader of JSON accepts. The defaults are for files and messages whose writer can be told of a mistake.
package struct JSONRules: Hashable, Sendable {
    /// What happens to the same name twice in one object.
    package enum Duplicates: Hashable, Sendable {
        case refused
        case kept
    }

    /// What happens to a string that is not UTF-8, and to half a surrogate pair.
    package enum MalformedText: Hashable, Sendable {
        case refused
        /// By U+FFFD.
        case replaced
    }

    /// Longest text, in bytes.
    package var bytes: Int
    /// Lists and objects within each other. The reader recurses, so that hundreds need a large stack.
    package var depth: Int
    /// Longest number, in characters; 1,100 write every `Double` in full.
    package var numberLength: Int
    package var duplicates: Duplicates
    package var malformedText: MalformedText

    package init(
        bytes: Int = 64 << 20, depth: Int = 64, numberLength: Int = 1_100, duplicates: Duplicates = .refused,
        malformedText: MalformedText = .refused
    ) {
        self.bytes = bytes
        self.depth = depth
        self.numberLength = numberLength
        self.duplicates = duplicates
        self.malformedText = malformedText
    }

    /// For messages of programs that carry texts of third parties: one malformed name must not hide the rest.
    package static let lenient = JSONRules(
        bytes: 1 << 20, depth: 16, duplicates: .kept, malformedText: .replaced)
}
