/// One `key = value` of a file of rows, or a section header, with its position.
package struct QuirksEntry: Hashable, Sendable {
    package let section: String
    /// Nil for the header itself.
    package let key: String?
    package let value: String
    /// Counted from 1.
    package let line: Int

    package init(section: String, key: String?, value: String, line: Int) {
        self.section = section
        self.key = key
        self.value = value
        self.line = line
    }
}

/// Error in a file of rows: position, problem and accepted content.
package struct QuirksError: Error, Hashable, Sendable {
    /// Nil when the file as a whole is meant.
    package let line: Int?
    /// `[section] key`; nil without a key.
    package let key: String?
    package let problem: String
    package let accepted: String

    package init(line: Int?, key: String?, problem: String, accepted: String) {
        self.line = line
        self.key = key
        self.problem = problem
        self.accepted = accepted
    }
}

extension QuirksEntry {
    /// The error of this entry.
    package func refused(_ problem: String, _ accepted: String) -> QuirksError {
        QuirksError(
            line: line, key: "[\(section)]" + (key.map { " \($0)" } ?? ""), problem: problem, accepted: accepted)
    }
}
