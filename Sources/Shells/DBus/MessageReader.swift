internal import CDBus
internal import Glibc

/// Reads the arguments of a message that libdbus has received and therefore checked.
struct MessageReader {
    /// Limits for reading a message; larger ones are refused, because no well-behaved program sends them and each value
    /// takes memory.
    struct Limits: Sendable {
        var values: Int
        /// Bytes of one text, and of all.
        var text: Int
        var texts: Int

        /// For replies and signals, which come from programs that we called or subscribed to.
        static let wide = Limits(values: 1 << 18, text: .max, texts: .max)
        /// For calls of any program on the bus.
        static let call = Limits(values: 4096, text: 16 << 10, texts: 64 << 10)
    }

    private let limits: Limits
    private var count = 0
    /// Bytes of text that were read.
    private(set) var bytes = 0

    private init(_ limits: Limits) {
        self.limits = limits
    }

    /// - Returns: the values, and their approximate size in bytes.
    /// - Throws: `LimitsExceeded` for more than `limits` allow.
    static func read(_ message: OpaquePointer, _ limits: Limits) throws(BusError) -> (values: [Value], size: Int) {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0 else { return ([], 0) }
        var reader = MessageReader(limits)
        let values = try reader.values(&iterator, depth: 0)
        return (values, reader.bytes + reader.count * MemoryLayout<Value>.stride)
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
        count += 1
        guard count <= limits.values, depth <= 2 * Value.maximumDepth else {
            throw .limitsExceeded("a message has too many values; accepted: at most \(limits.values)")
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
        case TypeCode.string: return .string(try text(&iterator))
        case TypeCode.objectPath: return .objectPath(try text(&iterator))
        case TypeCode.signature: return .signature(try text(&iterator))
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

    private mutating func text(_ iterator: inout DBusMessageIter) throws(BusError) -> String {
        let start: UnsafePointer<CChar>? = Self.basic(&iterator, nil)
        guard let pointer = start else { return "" }
        let length = strlen(pointer)
        guard length <= limits.text, length <= limits.texts - bytes else {
            throw .limitsExceeded(
                "a text of \(length) bytes is too long; accepted: \(limits.text) bytes, and \(limits.texts) in all")
        }
        bytes += length
        return String(cString: pointer)
    }

    /// The text of a string, object path or signature argument.
    static func text(_ iterator: inout DBusMessageIter) -> String {
        let pointer: UnsafePointer<CChar>? = basic(&iterator, nil)
        return pointer.map { String(cString: $0) } ?? ""
    }
}
