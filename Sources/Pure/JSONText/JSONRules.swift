/// Rules of a JSON reader. The defaults suit files and messages whose writer receives the error.
package struct JSONRules: Hashable, Sendable {
    /// Treatment of duplicate names in one object.
    package enum Duplicates: Hashable, Sendable {
        case refused
        case kept
    }

    /// Treatment of strings that are not UTF-8, and of half surrogate pairs.
    package enum MalformedText: Hashable, Sendable {
        case refused
        /// By U+FFFD.
        case replaced
    }

    /// Maximum length of the text in bytes.
    package var bytes: Int
    /// Maximum nesting of lists and objects. The reader recurses, so hundreds need a large stack.
    package var depth: Int
    /// Maximum length of a number in characters; 1,100 suffice for every `Double` in full.
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

    /// For messages that carry third-party text: one malformed name must not hide the rest.
    package static let lenient = JSONRules(
        bytes: 1 << 20, depth: 16, duplicates: .kept, malformedText: .replaced)
}
