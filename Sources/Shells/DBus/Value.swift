/// One value of the D-Bus type system.
package enum Value: Hashable, Sendable {
    case byte(UInt8)
    case bool(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    case unixDescriptor(PassedDescriptor)
    /// The signature of an element, which an empty array needs as well, and the elements.
    indirect case array(String, [Value])
    indirect case structure([Value])
    /// The signatures of key and value, and the entries in the order of the message.
    indirect case dictionary(String, String, [DictionaryEntry])
    indirect case variant(Value)
}

/// A key with its value.
package struct DictionaryEntry: Hashable, Sendable {
    package var key: Value
    package var value: Value

    package init(_ key: Value, _ value: Value) {
        self.key = key
        self.value = value
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}

// MARK: Making values

extension Value {
    /// An `a{sv}`, keys sorted. Values become variants unless they are.
    package static func vardict(_ values: [String: Value]) -> Value {
        .dictionary(
            "s", "v",
            values.sorted { $0.key < $1.key }.map { key, value in
                if case .variant = value { return DictionaryEntry(.string(key), value) }
                return DictionaryEntry(.string(key), .variant(value))
            })
    }

    /// An `as`.
    package static func strings(_ values: [String]) -> Value { .array("s", values.map { .string($0) }) }

    /// An `ao`.
    package static func objectPaths(_ values: [String]) -> Value { .array("o", values.map { .objectPath($0) }) }

    /// An `ay`.
    package static func bytes(_ values: [UInt8]) -> Value { .array("y", values.map { .byte($0) }) }
}

// MARK: Taking values apart; all look through variants, and give nil for another type

extension Value {
    /// The value without the variants around it.
    package var unwrapped: Value {
        var value = self
        while case .variant(let inner) = value { value = inner }
        return value
    }

    package var boolValue: Bool? { if case .bool(let value) = unwrapped { value } else { nil } }
    package var byteValue: UInt8? { if case .byte(let value) = unwrapped { value } else { nil } }
    package var int16Value: Int16? { if case .int16(let value) = unwrapped { value } else { nil } }
    package var uint16Value: UInt16? { if case .uint16(let value) = unwrapped { value } else { nil } }
    package var int32Value: Int32? { if case .int32(let value) = unwrapped { value } else { nil } }
    package var uint32Value: UInt32? { if case .uint32(let value) = unwrapped { value } else { nil } }
    package var int64Value: Int64? { if case .int64(let value) = unwrapped { value } else { nil } }
    package var uint64Value: UInt64? { if case .uint64(let value) = unwrapped { value } else { nil } }
    package var doubleValue: Double? { if case .double(let value) = unwrapped { value } else { nil } }

    /// The value of any integer type, if it fits.
    package var integerValue: Int? {
        switch unwrapped {
        case .byte(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(exactly: value)
        case .uint32(let value): Int(exactly: value)
        case .int64(let value): Int(exactly: value)
        case .uint64(let value): Int(exactly: value)
        case .bool, .double, .string, .objectPath, .signature, .unixDescriptor, .array, .structure, .dictionary,
            .variant:
            nil
        }
    }

    /// The text of a string, object path or signature.
    package var stringValue: String? {
        switch unwrapped {
        case .string(let value), .objectPath(let value), .signature(let value): value
        case .byte, .bool, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .unixDescriptor, .array,
            .structure, .dictionary, .variant:
            nil
        }
    }

    package var objectPathValue: String? { if case .objectPath(let value) = unwrapped { value } else { nil } }

    package var descriptorValue: PassedDescriptor? {
        if case .unixDescriptor(let value) = unwrapped { value } else { nil }
    }

    package var arrayValue: [Value]? { if case .array(_, let values) = unwrapped { values } else { nil } }
    package var structureValue: [Value]? { if case .structure(let values) = unwrapped { values } else { nil } }
    package var entries: [DictionaryEntry]? {
        if case .dictionary(_, _, let entries) = unwrapped { entries } else { nil }
    }

    /// The texts of an array of strings or object paths.
    package var stringsValue: [String]? {
        guard case .array(let element, let values) = unwrapped, ["s", "o", "g"].contains(element) else { return nil }
        return values.compactMap(\.stringValue)
    }

    package var bytesValue: [UInt8]? {
        guard case .array("y", let values) = unwrapped else { return nil }
        return values.compactMap(\.byteValue)
    }

    /// A dictionary with text keys; values without their variants, the last of equal keys.
    package var vardictValue: [String: Value]? {
        guard let entries else { return nil }
        var values: [String: Value] = [:]
        for entry in entries {
            guard let key = entry.key.stringValue else { return nil }
            values[key] = entry.value.unwrapped
        }
        return values
    }

    /// The value of a text key, without its variants; nil if this is no dictionary or has no such key.
    package subscript(key: String) -> Value? {
        entries?.last { $0.key.stringValue == key }?.value.unwrapped
    }
}
