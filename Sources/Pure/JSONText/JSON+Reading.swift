extension JSON {
    /// Reads one value, surrounded only by white space.
    ///
    /// - Parameter bytes: UTF-8, with or without a byte order mark.
    package init(reading bytes: [UInt8], rules: JSONRules = JSONRules()) throws(JSONError) {
        var reader = Reader(bytes: bytes, rules: rules)
        self = try reader.readWhole()
    }
}

/// Strict reader (RFC 8259): an error's position is the first unexpected byte.
private struct Reader {
    let bytes: [UInt8]
    let rules: JSONRules
    private var position = 0
    private var depth = 0

    init(bytes: [UInt8], rules: JSONRules) {
        self.bytes = bytes
        self.rules = rules
    }

    mutating func readWhole() throws(JSONError) -> JSON {
        guard bytes.count <= rules.bytes else { throw error(.tooLong(limit: rules.bytes)) }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        let value = try readValue()
        guard peek() == nil else { throw error(.followedBySomething) }
        return value
    }

    // MARK: Problems

    private func error(_ problem: JSONError.Problem) -> JSONError {
        let before = bytes[..<min(position, bytes.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return JSONError(
            problem: problem, offset: before.count, line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            column: before.count - lineStart + 1)
    }

    private func expected(_ what: String) -> JSONError {
        guard position < bytes.count else { return error(.expected(what, found: nil)) }
        let end = bytes[position...].prefix { $0 > 0x20 && $0 != UInt8(ascii: ",") }.prefix(20).endIndex
        let found = String(decoding: bytes[position..<max(end, position + 1)], as: UTF8.self)
        return error(.expected(what, found: found))
    }

    // MARK: Bytes

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// The next byte that is not white space; nil at the end.
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

    private mutating func readValue() throws(JSONError) -> JSON {
        switch peek() {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readArray()
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: return try readNumber()
        }
    }

    private mutating func readWord(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
        guard bytes[position...].starts(with: word.utf8) else { throw expected("a value") }
        position += word.utf8.count
        return value
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= rules.depth else { throw error(.tooDeep(limit: rules.depth)) }
        position += 1
    }

    private mutating func readObject() throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var members: [JSON.Member] = []
        var names = SeenNames()
        if skip("}") { return .object(members) }
        while true {
            guard peek() == UInt8(ascii: "\"") else { throw expected("a key in quotes") }
            let name = try readString()
            guard skip(":") else { throw expected("':'") }
            let value = try readValue()
            if rules.duplicates == .refused, !names.insert(name, after: members) { throw error(.duplicateName(name)) }
            members.append(JSON.Member(name, value))
            if skip("}") { return .object(members) }
            guard skip(",") else { throw expected("',' or '}'") }
        }
    }

    private mutating func readArray() throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var elements: [JSON] = []
        if skip("]") { return .array(elements) }
        while true {
            elements.append(try readValue())
            if skip("]") { return .array(elements) }
            guard skip(",") else { throw expected("',' or ']'") }
        }
    }

    // MARK: Numbers

    private mutating func readNumber() throws(JSONError) -> JSON {
        let start = position
        let isNegative = current == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let digits = position
        var integer: Int64? = 0
        skipDigits(&integer, isNegative)
        let hasLeadingZero = position > digits + 1 && bytes[digits] == UInt8(ascii: "0")
        var isWhole = true
        var isWellFormed = position > digits && !hasLeadingZero
        if isWellFormed, current == UInt8(ascii: ".") {
            isWhole = false
            isWellFormed = skipDigits(after: 1)
        }
        if isWellFormed, current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isWhole = false
            let sign = position + 1 < bytes.count ? bytes[position + 1] : 0
            isWellFormed = skipDigits(after: sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") ? 2 : 1)
        }
        let end = position
        position = start
        guard isWellFormed else { throw expected("a value") }
        guard end - start <= rules.numberLength else { throw error(.numberTooLong(limit: rules.numberLength)) }
        position = end
        if isWhole, let integer { return .integer(integer) }
        guard let number = Double(String(decoding: bytes[start..<end], as: UTF8.self)), number.isFinite else {
            position = start
            throw expected("a value")
        }
        return .number(number)
    }

    /// - Parameter integer: nil once it exceeds `Int64`.
    private mutating func skipDigits(_ integer: inout Int64?, _ isNegative: Bool) {
        while let byte = current, case 0x30...0x39 = byte {
            position += 1
            guard let value = integer else { continue }
            let (shifted, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte - 0x30)
            let (next, overflows) =
                isNegative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            integer = isTooLarge || overflows ? nil : next
        }
    }

    /// - Returns: whether a digit follows the next bytes.
    private mutating func skipDigits(after count: Int) -> Bool {
        position += count
        let start = position
        while let byte = current, case 0x30...0x39 = byte { position += 1 }
        return position > start
    }

    // MARK: Strings

    private mutating func readString() throws(JSONError) -> String {
        position += 1
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let text = try string(bytes[start..<position])
                position += 1
                return text
            case UInt8(ascii: "\\"): return try readEscapedString(from: start)
            case 0..<0x20: throw error(.controlCharacter)
            default: position += 1
            }
        }
        throw expected("'\"'")
    }

    private func string(_ bytes: some Collection<UInt8>) throws(JSONError) -> String {
        switch rules.malformedText {
        case .replaced: return String(decoding: bytes, as: UTF8.self)
        case .refused:
            guard let text = String(validating: bytes, as: UTF8.self) else { throw error(.notUTF8) }
            return text
        }
    }

    private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let string = try string(text)
                position += 1
                return string
            case UInt8(ascii: "\\"):
                position += 1
                try readEscape(into: &text)
            case 0..<0x20: throw error(.controlCharacter)
            default:
                text.append(byte)
                position += 1
            }
        }
        throw expected("'\"'")
    }

    /// Reads the escape after a backslash.
    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(bytes[position])
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            return text.append(contentsOf: String(try readScalar()).utf8)
        case nil: throw expected("an escape")
        case _?: throw expected("one of \" \\ / b f n r t u behind '\\'")
        }
        position += 1
    }

    /// Reads the digits after `\u`, with the second half of a pair.
    private mutating func readScalar() throws(JSONError) -> Character {
        let unit = try readUnit()
        if let scalar = Unicode.Scalar(unit) { return Character(scalar) }
        let end = position
        if UTF16.isLeadSurrogate(unit), bytes[position...].starts(with: "\\u".utf8) {
            position += 2
            let second = try readUnit()
            let value = 0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(second & 0x3FF)
            if UTF16.isTrailSurrogate(second), let scalar = Unicode.Scalar(value) { return Character(scalar) }
        }
        guard rules.malformedText == .replaced else { throw error(.halfSurrogatePair) }
        position = end
        return "\u{FFFD}"
    }

    private mutating func readUnit() throws(JSONError) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw expected("four hexadecimal digits") }
        position += 4
        return unit
    }
}

/// The names of an object so far. A set is faster only for objects with many members.
private struct SeenNames {
    private static let few = 16
    private var names: Set<String> = []

    /// - Parameter members: the members so far.
    /// - Returns: whether the name is new.
    mutating func insert(_ name: String, after members: [JSON.Member]) -> Bool {
        if members.count < Self.few { return !members.contains { $0.name == name } }
        if members.count == Self.few { names = Set(members.map(\.name)) }
        return names.insert(name).inserted
    }
}
