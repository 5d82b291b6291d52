extension JSON {
    package enum Layout: Hashable, Sendable {
        /// One line without spaces.
        case compact
        /// One line with a space after each comma and colon.
        case spaced
        /// Several lines, indented by two spaces per level.
        case indented
    }

    /// Writes the value.
    ///
    /// Escapes characters that a terminal would act on or not show (``Swift/Unicode/Scalar/isShown``), so that the text can
    /// be printed unchanged.
    package func text(_ layout: Layout = .compact) -> String {
        var text = ""
        write(to: &text, layout)
        return text
    }

    /// Appends the value to a text.
    package func write(to text: inout String, _ layout: Layout = .compact) {
        write(to: &text, layout, depth: 0)
    }

    private func write(to text: inout String, _ layout: Layout, depth: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                Self.writeSeparator(to: &text, layout, depth: depth + 1, isFirst: index == 0)
                element.write(to: &text, layout, depth: depth + 1)
            }
            Self.writeEnd("]", to: &text, layout, depth: depth, isEmpty: elements.isEmpty)
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                Self.writeSeparator(to: &text, layout, depth: depth + 1, isFirst: index == 0)
                Self.write(member.name, to: &text)
                text += layout == .compact ? ":" : ": "
                member.value.write(to: &text, layout, depth: depth + 1)
            }
            Self.writeEnd("}", to: &text, layout, depth: depth, isEmpty: members.isEmpty)
        }
    }

    private static func writeSeparator(to text: inout String, _ layout: Layout, depth: Int, isFirst: Bool) {
        if !isFirst { text += layout == .spaced ? ", " : "," }
        if layout == .indented { writeLineBreak(to: &text, depth: depth) }
    }

    private static func writeEnd(_ end: String, to text: inout String, _ layout: Layout, depth: Int, isEmpty: Bool) {
        if layout == .indented, !isEmpty { writeLineBreak(to: &text, depth: depth) }
        text += end
    }

    private static func writeLineBreak(to text: inout String, depth: Int) {
        text += "\n"
        for _ in 0..<depth { text += "  " }
    }

    /// Appends a string in quotes.
    package static func write(_ string: String, to text: inout String) {
        text += "\""
        let isPlain = string.utf8.allSatisfy { byte in
            (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        if isPlain {
            text += string
        } else {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": text += "\\\""
                case "\\": text += "\\\\"
                case "\n": text += "\\n"
                case "\r": text += "\\r"
                case "\t": text += "\\t"
                case let scalar where scalar.isShown: text.unicodeScalars.append(scalar)
                default: text += scalar.escapedForJSON
                }
            }
        }
        text += "\""
    }
}
