internal import CDBus

/// Reads the arguments of a message that libdbus has received, and therefore checked.
struct MessageReader {
    /// More values than this in one message are refused: nobody who means well sends them, and each takes memory.
    static let maximumCount = 1 << 18

    private var room = MessageReader.maximumCount

    static func read(_ message: OpaquePointer) throws(BusError) -> [Value] {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0 else { return [] }
        var reader = MessageReader()
        return try reader.values(&iterator, depth: 0)
    }

    private mutating func values(_ iterator: inout DBusMessageIter, depth: Int) throws(BusError) -> [Value] {
        var values: [Value] = []
        while dbus_message_iter_get_arg_type(&iterator) != TypeCode.invalid {
            values.append(try value(&iterator, depth: depth))
            dbus_message_iter_next(&iterator)
        }
        return values
    }

    private mutating func value(_ iterator: inout DBusMessageIter, depth: Int) throws(BusError) -> Value {
        room -= 1
        guard room >= 0, depth <= 2 * Value.maximumDepth else {
            throw .limitsExceeded("a message has more than \(Self.maximumCount) values")
        }
        switch dbus_message_iter_get_arg_type(&iterator) {
        case TypeCode.byte: return .byte(Self.basic(&iterator, 0))
        case TypeCode.boolean: return .bool(Self.basic(&iterator, dbus_bool_t(0)) != 0)
        case TypeCode.int16: return .int16(Self.basic(&iterator, 0))
        case TypeCode.uint16: return .uint16(Self.basic(&iterator, 0))
        case TypeCode.int32: return .int32(Self.basic(&iterator, 0))
        case TypeCode.uint32: return .uint32(Self.basic(&iterator, 0))
        case TypeCode.int64: return .int64(Self.basic(&iterator, 0))
        case TypeCode.uint64: return .uint64(Self.basic(&iterator, 0))
        case TypeCode.double: return .double(Self.basic(&iterator, 0))
        case TypeCode.string: return .string(Self.text(&iterator))
        case TypeCode.objectPath: return .objectPath(Self.text(&iterator))
        case TypeCode.signature: return .signature(Self.text(&iterator))
        case TypeCode.unixDescriptor:
            // libdbus gives a close-on-exec duplicate, or -1 when the process has no descriptor left.
            return .unixDescriptor(PassedDescriptor(taking: Self.basic(&iterator, -1)))
        case TypeCode.variant:
            var inner = Self.inside(&iterator)
            return .variant(try value(&inner, depth: depth + 1))
        case TypeCode.structure:
            var inner = Self.inside(&iterator)
            return .structure(try values(&inner, depth: depth + 1))
        case TypeCode.array: return try array(&iterator, depth: depth)
        default: throw .failed("a message has a type that is not known here")
        }
    }

    private mutating func array(_ iterator: inout DBusMessageIter, depth: Int) throws(BusError) -> Value {
        guard let pointer = dbus_message_iter_get_signature(&iterator) else { throw .failed("out of memory") }
        let element = String(cString: pointer).dropFirst()
        dbus_free(pointer)
        var inner = Self.inside(&iterator)
        guard element.first == "{" else {
            return .array(String(element), try values(&inner, depth: depth + 1))
        }
        // Keys are basic types: one letter.
        let types = element.dropFirst().dropLast()
        var entries: [DictionaryEntry] = []
        while dbus_message_iter_get_arg_type(&inner) == TypeCode.dictionaryEntry {
            var pair = Self.inside(&inner)
            let key = try value(&pair, depth: depth + 2)
            dbus_message_iter_next(&pair)
            entries.append(DictionaryEntry(key, try value(&pair, depth: depth + 2)))
            dbus_message_iter_next(&inner)
        }
        return .dictionary(String(types.prefix(1)), String(types.dropFirst()), entries)
    }

    private static func inside(_ iterator: inout DBusMessageIter) -> DBusMessageIter {
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        return inner
    }

    private static func basic<Basic: BitwiseCopyable>(_ iterator: inout DBusMessageIter, _ initial: Basic) -> Basic {
        var value = initial
        withUnsafeMutablePointer(to: &value) { dbus_message_iter_get_basic(&iterator, $0) }
        return value
    }

    /// The text of a string, object path or signature argument.
    static func text(_ iterator: inout DBusMessageIter) -> String {
        let pointer: UnsafePointer<CChar>? = basic(&iterator, nil)
        return pointer.map { String(cString: $0) } ?? ""
    }
}
