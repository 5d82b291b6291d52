internal import CDBus

/// Appends values that `Value.check` has accepted to a message. Returns false when libdbus runs out of memory or
/// descriptors; the message is useless then.
enum MessageWriter {
    static func append(_ value: Value, to iterator: inout DBusMessageIter) -> Bool {
        switch value {
        case .byte(let value): basic(value, TypeCode.byte, &iterator)
        case .bool(let value): basic(dbus_bool_t(value ? 1 : 0), TypeCode.boolean, &iterator)
        case .int16(let value): basic(value, TypeCode.int16, &iterator)
        case .uint16(let value): basic(value, TypeCode.uint16, &iterator)
        case .int32(let value): basic(value, TypeCode.int32, &iterator)
        case .uint32(let value): basic(value, TypeCode.uint32, &iterator)
        case .int64(let value): basic(value, TypeCode.int64, &iterator)
        case .uint64(let value): basic(value, TypeCode.uint64, &iterator)
        case .double(let value): basic(value, TypeCode.double, &iterator)
        case .string(let text): append(text, TypeCode.string, &iterator)
        case .objectPath(let text): append(text, TypeCode.objectPath, &iterator)
        case .signature(let text): append(text, TypeCode.signature, &iterator)
        case .unixDescriptor(let descriptor): basic(descriptor.descriptor, TypeCode.unixDescriptor, &iterator)
        case .array(let element, let values):
            container(TypeCode.array, element, &iterator) { inner in
                values.allSatisfy { append($0, to: &inner) }
            }
        case .structure(let values):
            container(TypeCode.structure, nil, &iterator) { inner in
                values.allSatisfy { append($0, to: &inner) }
            }
        case .dictionary(let key, let value, let entries):
            container(TypeCode.array, "{\(key)\(value)}", &iterator) { inner in
                entries.allSatisfy { entry in
                    container(TypeCode.dictionaryEntry, nil, &inner) { pair in
                        append(entry.key, to: &pair) && append(entry.value, to: &pair)
                    }
                }
            }
        case .variant(let value):
            container(TypeCode.variant, value.typeSignature, &iterator) { append(value, to: &$0) }
        }
    }

    private static func basic<Basic: BitwiseCopyable>(
        _ value: Basic, _ type: Int32, _ iterator: inout DBusMessageIter
    ) -> Bool {
        withUnsafePointer(to: value) { dbus_message_iter_append_basic(&iterator, type, $0) != 0 }
    }

    private static func append(_ text: String, _ type: Int32, _ iterator: inout DBusMessageIter) -> Bool {
        text.withCString { basic($0, type, &iterator) }
    }

    private static func container(
        _ type: Int32, _ signature: String?, _ iterator: inout DBusMessageIter,
        _ body: (inout DBusMessageIter) -> Bool
    ) -> Bool {
        var inner = DBusMessageIter()
        guard dbus_message_iter_open_container(&iterator, type, signature, &inner) != 0 else { return false }
        guard body(&inner) else {
            dbus_message_iter_abandon_container(&iterator, &inner)
            return false
        }
        return dbus_message_iter_close_container(&iterator, &inner) != 0
    }
}
