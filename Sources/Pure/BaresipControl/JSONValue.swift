/// A JSON text (RFC 8259): what another program says. Read strictly and within bounds; members keep their order, numbers
/// stay as they are written.
package indirect enum JSONValue: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    case null
    case flag(Bool)
    case number(String)
    case text(String)
    case list([JSONValue])
    /// As they come: a name may be there twice.
    case object([Member])

    /// Lists and objects within each other.
    package static let maximumDepth = 16

    /// - Parameter bytes: one value and nothing after it but white space. What is not UTF-8 within a string, and half a
    ///   surrogate pair, becomes U+FFFD: such text is another party's, and one bad name must not hide a call.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        var reader = JSONReader(bytes: bytes)
        self = try reader.whole()
    }

    /// The first member of that name; nil when there is none, and when this is no object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var textValue: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    package var flagValue: Bool? {
        guard case .flag(let flag) = self else { return nil }
        return flag
    }
}

/// Where a text stops being JSON, and why.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// In bytes from the beginning.
    package let offset: Int
    package let problem: String

    package var description: String { "byte \(offset): \(problem)" }
}

private struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    var depth = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func whole() throws(JSONError) -> JSONValue {
        let value = try value()
        skipSpace()
        guard position == bytes.count else { throw error("something follows the value") }
        return value
    }

    private func error(_ problem: String) -> JSONError { JSONError(offset: position, problem: problem) }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONError) -> JSONValue {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return .object(try members())
        case UInt8(ascii: "["): return .list(try elements())
        case UInt8(ascii: "\""): return .text(try string())
        case UInt8(ascii: "t"): return try word("true", .flag(true))
        case UInt8(ascii: "f"): return try word("false", .flag(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("the text ends where a value belongs")
        case let byte?:
            let isNumber = byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard isNumber else { throw error("this begins no value") }
            return .number(try number())
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in "\(word)".utf8 {
            guard current == byte else { throw error("the word is not \(word)") }
            position += 1
        }
        return value
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= JSONValue.maximumDepth else { throw error("more than \(JSONValue.maximumDepth) levels") }
        position += 1
        skipSpace()
    }

    private mutating func elements() throws(JSONError) -> [JSONValue] {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if take("]") { return elements }
        while true {
            elements.append(try value())
            skipSpace()
            if take("]") { return elements }
            guard take(",") else { throw error("a list has , or ] here") }
        }
    }

    private mutating func members() throws(JSONError) -> [JSONValue.Member] {
        try enter()
        defer { depth -= 1 }
        var members: [JSONValue.Member] = []
        if take("}") { return members }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw error("an object has a name here") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw error("a name is followed by :") }
            members.append(JSONValue.Member(name, try value()))
            skipSpace()
            if take("}") { return members }
            guard take(",") else { throw error("an object has , or } here") }
        }
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        if position == start { throw error("a number has a digit here") }
    }

    private mutating func number() throws(JSONError) -> String {
        let start = position
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw error("a control character in a string")
            default: text.append(byte)
            }
        }
        throw error("the string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let byte = current else { throw error("the string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(try scalar()).utf8)
        default: throw error("there is no such escape")
        }
    }

    private mutating func scalar() throws(JSONError) -> Character {
        let unit = try codeUnit()
        if UTF16.isLeadSurrogate(unit), current == UInt8(ascii: "\\"), position + 1 < bytes.count,
            bytes[position + 1] == UInt8(ascii: "u")
        {
            let before = position
            position += 2
            let second = try codeUnit()
            if UTF16.isTrailSurrogate(second) {
                let value = 0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(second & 0x3FF)
                return Character(Unicode.Scalar(value) ?? "\u{FFFD}")
            }
            position = before
        }
        return Character(Unicode.Scalar(unit) ?? "\u{FFFD}")
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("\\u has four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
