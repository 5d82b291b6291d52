/// Reason why a text was not read: a mistake of its writer.
package struct JSONError: Error, Hashable, Sendable {
    package enum Problem: Hashable, Sendable {
        /// - found: beginning of the actual text; nil at the end of the text.
        case expected(String, found: String?)
        case followedBySomething
        case controlCharacter
        /// In a string.
        case notUTF8
        /// An escaped half of a character beyond the basic plane (RFC 8259 §7).
        case halfSurrogatePair
        case duplicateName(String)
        case tooDeep(limit: Int)
        case tooLong(limit: Int)
        case numberTooLong(limit: Int)
    }

    package let problem: Problem
    /// Start of the error, in bytes from the beginning of the text.
    package let offset: Int
    /// From 1.
    package let line: Int
    /// In bytes, from 1.
    package let column: Int
}

extension JSONError.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .expected(let what, found: nil): "\(what) expected, but it ends"
        case .expected(let what, let found?): "\(what) expected, not '\(found)'"
        case .followedBySomething: "something stands behind the end"
        case .controlCharacter: "a text that goes over the end of the line, or has a control character"
        case .notUTF8: "a text that is not UTF-8"
        case .halfSurrogatePair: "half a surrogate pair"
        case .duplicateName(let name): "key '\(name)' stands twice in one object"
        case .tooDeep(let limit): "nested more than \(limit) deep"
        case .tooLong(let limit): "longer than \(limit) bytes"
        case .numberTooLong(let limit): "a number of more than \(limit) characters"
        }
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "line \(line), column \(column): \(problem)" }
}
