/// Reads JSON (RFC 8259) into values; says in which line something else stands.
///
/// A day of events is a megabyte and more of JSON, which is most of the work of replaying it.
package struct ScenarioJSON {
    /// What is wrong, and in which line, counted from 1.
    package struct Problem: Error {
        package let line: Int
        package let text: String
    }

    /// Deeper nesting is refused: no scenario needs it, and the reader recurses.
    private static let depthLimit = 64

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    /// - Parameter bytes: UTF-8, with or without a byte order mark.
    package static func value(_ bytes: [UInt8]) throws(Problem) -> ScenarioValue {
        var reader = ScenarioJSON(bytes: bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        let value = try reader.readValue()
        guard reader.peek() == nil else { throw reader.problem("something stands behind the end") }
        return value
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private func problem(_ text: String) -> Problem {
        let line = bytes[..<min(position, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1
        return Problem(line: line, text: text)
    }

    private func expected(_ what: String) -> Problem {
        guard position < bytes.count else { return problem("\(what) expected, but it ends") }
        let end = bytes[position...].prefix { $0 > 0x20 && $0 != UInt8(ascii: ",") }.prefix(20).endIndex
        let found = String(decoding: bytes[position..<max(end, position + 1)], as: UTF8.self)
        return problem("\(what) expected, not '\(found)'")
    }

    /// The next byte that is no space; nil at the end.
    private mutating func peek() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return bytes[position]
            }
        }
        return nil
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    // MARK: Values

    private mutating func readValue() throws(Problem) -> ScenarioValue {
        switch peek() {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readList()
        case UInt8(ascii: "\""): return .text(try readText())
        case UInt8(ascii: "t"): return try readWord("true", .flag(true))
        case UInt8(ascii: "f"): return try readWord("false", .flag(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: return try readNumber()
        }
    }

    private mutating func readWord(_ word: String, _ value: ScenarioValue) throws(Problem) -> ScenarioValue {
        guard bytes[position...].starts(with: word.utf8) else { throw expected("a value") }
        position += word.utf8.count
        return value
    }

    private mutating func enter() throws(Problem) {
        depth += 1
        guard depth <= Self.depthLimit else { throw problem("nested more than \(Self.depthLimit) deep") }
        position += 1
    }

    private mutating func readObject() throws(Problem) -> ScenarioValue {
        try enter()
        defer { depth -= 1 }
        var members: [String: ScenarioValue] = [:]
        if skip("}") { return .object(members) }
        while true {
            guard peek() == UInt8(ascii: "\"") else { throw expected("a key in quotes") }
            let key = try readText()
            guard skip(":") else { throw expected("':'") }
            guard members.updateValue(try readValue(), forKey: key) == nil else {
                throw problem("key '\(key)' stands twice in one object")
            }
            if skip("}") { return .object(members) }
            guard skip(",") else { throw expected("',' or '}'") }
        }
    }

    private mutating func readList() throws(Problem) -> ScenarioValue {
        try enter()
        defer { depth -= 1 }
        var elements: [ScenarioValue] = []
        if skip("]") { return .list(elements) }
        while true {
            elements.append(try readValue())
            if skip("]") { return .list(elements) }
            guard skip(",") else { throw expected("',' or ']'") }
        }
    }

    private mutating func readNumber() throws(Problem) -> ScenarioValue {
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                position += 1
                continue
            default: break
            }
            break
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        // Stricter than Swift, which also reads +1, .5 and 007.
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let isWellFormed =
            digits.first?.isASCII == true && digits.first?.isNumber == true && digits.last?.isNumber == true
            && !(digits.hasPrefix("0") && digits.dropFirst().first?.isNumber == true)
        guard isWellFormed, let number = Double(text), number.isFinite else {
            position = start
            throw expected("a value")
        }
        return .number(number)
    }

    // MARK: Texts

    private mutating func readText() throws(Problem) -> String {
        position += 1
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
                    throw problem("a text that is not UTF-8")
                }
                position += 1
                return text
            case UInt8(ascii: "\\"): return try readEscapedText(from: start)
            case 0..<0x20: throw problem("a text that goes over the end of the line, or has a control character")
            default: position += 1
            }
        }
        throw expected("'\"'")
    }

    private mutating func readEscapedText(from start: Int) throws(Problem) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else {
                    throw problem("a text that is not UTF-8")
                }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                position += 1
                text += try readEscape()
            case 0..<0x20: throw problem("a text that goes over the end of the line, or has a control character")
            default:
                text.append(byte)
                position += 1
            }
        }
        throw expected("'\"'")
    }

    /// What stands behind a backslash.
    private mutating func readEscape() throws(Problem) -> [UInt8] {
        guard position < bytes.count else { throw expected("an escape") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            var units = [try readUnit()]
            if UTF16.isLeadSurrogate(units[0]), bytes[position...].starts(with: "\\u".utf8) {
                position += 2
                units.append(try readUnit())
            }
            guard let text = String(validating: units, as: UTF16.self) else {
                throw problem("half a surrogate pair")
            }
            return Array(text.utf8)
        default:
            position -= 1
            throw expected("one of \" \\ / b f n r t u behind '\\'")
        }
    }

    private mutating func readUnit() throws(Problem) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw expected("four hexadecimal digits") }
        position += 4
        return unit
    }
}
