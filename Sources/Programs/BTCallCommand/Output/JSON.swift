import ControlLoop

/// A JSON document whose objects keep the order in which they were written.
enum JSON: Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements) }

    /// Absent is null.
    init(_ text: String?) { self = text.map { .string($0) } ?? .null }
    init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
    init(_ flag: Bool) { self = .bool(flag) }
    init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }

    /// What a terminal would act on is escaped, as ``PrintableText`` has it.
    ///
    /// - Parameter indented: over several lines with two spaces a level; otherwise all on one line.
    func text(indented: Bool = false) -> String {
        var text = ""
        write(to: &text, indented: indented, depth: 0)
        return text
    }

    private func write(to text: inout String, indented: Bool, depth: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let elements):
            Self.writeList("[", "]", elements, to: &text, indented, depth) { element, text in
                element.write(to: &text, indented: indented, depth: depth + 1)
            }
        case .object(let members):
            Self.writeList("{", "}", members, to: &text, indented, depth) { member, text in
                Self.write(member.0, to: &text)
                text += indented ? ": " : ":"
                member.1.write(to: &text, indented: indented, depth: depth + 1)
            }
        }
    }

    private static func writeList<Element>(
        _ open: String, _ close: String, _ elements: [Element], to text: inout String, _ indented: Bool, _ depth: Int,
        _ write: (Element, inout String) -> Void
    ) {
        text += open
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            if indented { text += "\n" + String(repeating: "  ", count: depth + 1) }
            write(element, &text)
        }
        if indented && !elements.isEmpty { text += "\n" + String(repeating: "  ", count: depth) }
        text += close
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if PrintableText.isShown(scalar) {
                    text.unicodeScalars.append(scalar)
                } else {
                    text += PrintableText.jsonEscape(scalar)
                }
            }
        }
        text += "\""
    }
}
