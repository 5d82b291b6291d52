/// A forward-only cursor over the parameters of a command: comma-separated numbers, quoted strings and bare words.
///
/// Every read is bounded by the line, which `ATReader` bounds.
package struct ATParameters: Hashable, Sendable {
    private let bytes: [UInt8]
    private var position = 0
    private var hasField: Bool

    package init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        hasField = !self.bytes.isEmpty
    }

    /// Whether all fields have been read. `1,` has two fields, the second one empty.
    package var isAtEnd: Bool { !hasField }

    /// All unread bytes, unchanged, for commands with a syntax of their own.
    package var rest: [UInt8] { Array(bytes[position...]) }

    /// Reads a decimal number of at most nine digits.
    package mutating func number() throws(ATSyntaxError) -> Int {
        guard let number = try optionalNumber() else { throw .missing }
        return number
    }

    /// Reads a number; nil when the field is empty or missing.
    package mutating func optionalNumber() throws(ATSyntaxError) -> Int? {
        guard let field = nextField(), !field.isEmpty else { return nil }
        guard let number = Self.number(field) else { throw .malformed }
        return number
    }

    /// Reads a decimal number within `range`.
    package mutating func number(in range: ClosedRange<Int>) throws(ATSyntaxError) -> Int {
        let number = try number()
        guard range.contains(number) else { throw .range }
        return number
    }

    /// Reads a number up to 32 bits wide, for bit masks.
    package mutating func mask() throws(ATSyntaxError) -> UInt32 {
        guard let field = nextField(), !field.isEmpty else { throw .missing }
        guard field.count <= 10, field.allSatisfy(Self.isDigit),
            let mask = UInt32(String(decoding: field, as: UTF8.self))
        else { throw .malformed }
        return mask
    }

    /// Reads a quoted string without its quotes, or a bare word; nil when the field is empty or missing.
    package mutating func text() -> String? {
        guard var field = nextField(), !field.isEmpty else { return nil }
        if field.first == UInt8(ascii: "\"") {
            field = field.dropFirst()
            if field.last == UInt8(ascii: "\"") { field = field.dropLast() }
        }
        return String(decoding: field, as: UTF8.self)
    }

    /// Reads all remaining fields as numbers, at most `limit` of them.
    package mutating func numbers(limit: Int) throws(ATSyntaxError) -> [Int] {
        var numbers: [Int] = []
        while hasField {
            guard numbers.count < limit else { throw .excess }
            numbers.append(try number())
        }
        return numbers
    }

    /// Throws if parameters remain.
    package func end() throws(ATSyntaxError) {
        guard isAtEnd else { throw .excess }
    }

    /// Returns the bytes up to the next comma outside quotes and skips that comma; nil after the last field.
    private mutating func nextField() -> ArraySlice<UInt8>? {
        guard hasField else { return nil }
        let start = position
        var isQuoted = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: ","), !isQuoted {
                position += 1
                return bytes[start..<(position - 1)]
            }
            position += 1
        }
        hasField = false
        return bytes[start...]
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        guard field.count <= 9 else { return nil }
        var number = 0
        for byte in field {
            guard isDigit(byte) else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
