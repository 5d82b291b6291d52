import ControlLoop

/// A line for people: cleaned text with emphasised parts.
///
/// Its only terminal sequences are those of ``TerminalStyle``.
package struct StyledText: Hashable, Sendable, ExpressibleByStringInterpolation {
    /// The text including the sequences.
    package private(set) var text = ""

    /// Cleans the text.
    package init(_ text: String) { self.text = PrintableText.line(text) }

    package init(stringLiteral value: String) { self.init(value) }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.styled }

    /// The text between two sequences; without sequences when it is empty.
    package init(_ begin: String, _ text: String, _ end: String) {
        let cleaned = PrintableText.line(text)
        if !cleaned.isEmpty { self.text = begin + cleaned + end }
    }

    package static func + (left: StyledText, right: StyledText) -> StyledText {
        var sum = left
        sum.text += right.text
        return sum
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var styled = StyledText("")

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { styled = styled + StyledText(literal) }

        package mutating func appendInterpolation(_ part: StyledText) { styled = styled + part }

        package mutating func appendInterpolation(_ part: some CustomStringConvertible) {
            styled = styled + StyledText(part.description)
        }
    }
}
