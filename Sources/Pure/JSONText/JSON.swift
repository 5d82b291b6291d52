/// A JSON value (RFC 8259). Members of an object keep their order.
///
/// ``init(reading:rules:)`` reads external text; ``text(_:)`` writes.
package enum JSON: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSON

        package init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    case null
    case bool(Bool)
    /// A number without fraction and exponent, stored exactly.
    case integer(Int64)
    /// Any other number. Infinity and NaN are written as null.
    case number(Double)
    case string(String)
    case array([JSON])
    /// In the order of the text. Duplicate names only if the reader's rules keep them.
    case object([Member])
}

// MARK: Construction

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }

    /// An object.
    package init(_ members: [(String, JSON)]) { self = .object(members.map { Member($0.0, $0.1) }) }

    /// nil becomes null.
    package init(_ text: String?) { self = text.map { .string($0) } ?? .null }

    /// nil becomes null. Rounded beyond the range of `Int64`.
    package init(_ number: (some BinaryInteger)?) {
        self = number.map { number in Int64(exactly: number).map { .integer($0) } ?? .number(Double(number)) } ?? .null
    }

    package init(_ flag: Bool) { self = .bool(flag) }
    package init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }
}

// MARK: Access

extension JSON {
    /// First member of that name; nil without one or this is not an object.
    package subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    package var boolValue: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    package var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// A whole number in any notation: 1000, 1000.0 or 1e3.
    package var integerValue: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): Self.whole(number)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// As `Int64(exactly:)`, which needs the mathematics library, but this module imports nothing.
    private static func whole(_ number: Double) -> Int64? {
        guard number >= -0x1p63, number < 0x1p63 else { return nil }
        let whole = Int64(number)
        return Double(whole) == number ? whole : nil
    }

    /// Any number, rounded.
    package var numberValue: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension [JSON.Member] {
    /// First member of that name.
    package subscript(_ name: String) -> JSON? { first { $0.name == name }?.value }
}
