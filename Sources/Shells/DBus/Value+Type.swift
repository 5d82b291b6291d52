extension Value {
    /// The deepest nesting that a message may have, variants included.
    static let maximumDepth = 64
    /// The largest payload we send, in bytes (the system bus takes 32 MiB).
    static let maximumSize = 16 << 20

    /// The declared type; the signatures of arrays and dictionaries are not checked here.
    package var typeSignature: String {
        switch self {
        case .byte: "y"
        case .bool: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .unixDescriptor: "h"
        case .array(let element, _): "a" + element
        case .structure(let members): "(" + members.map(\.typeSignature).joined() + ")"
        case .dictionary(let key, let value, _): "a{\(key)\(value)}"
        case .variant: "v"
        }
    }

    /// Checks that libdbus can take the values, and that they have the types.
    ///
    /// - Parameter types: nil accepts the declared types of the values.
    /// - Returns: the types.
    /// - Throws: `InvalidArgs` for wrong types, invalid object paths, signatures and texts; `LimitsExceeded` for values that
    ///   are too large or nested too deeply.
    @discardableResult
    static func check(_ values: [Value], against types: Signature? = nil) throws(BusError) -> Signature {
        // A value nested without end would overflow the stack when its type is computed: check the depth first.
        for value in values { try value.checkDepth(1) }
        let found = values.map(\.typeSignature).joined()
        if let types, types.description != found {
            throw .invalidArguments("expected '\(types)', got '\(found)'")
        }
        let signature: Signature
        if let types { signature = types } else { signature = try Signature(found) }
        var room = maximumSize
        for (value, type) in zip(values, signature.types) { try value.check(type, &room) }
        return signature
    }

    private func checkDepth(_ depth: Int) throws(BusError) {
        guard depth <= Self.maximumDepth else {
            throw .limitsExceeded("a value is nested deeper than \(Self.maximumDepth)")
        }
        switch self {
        case .array(_, let values), .structure(let values):
            for value in values { try value.checkDepth(depth + 1) }
        case .dictionary(_, _, let entries):
            for entry in entries {
                try entry.key.checkDepth(depth + 2)
                try entry.value.checkDepth(depth + 2)
            }
        case .variant(let value): try value.checkDepth(depth + 1)
        case .byte, .bool, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .string, .objectPath, .signature,
            .unixDescriptor:
            return
        }
    }

    private func check(_ type: Signature.CompleteType, _ room: inout Int) throws(BusError) {
        room -= 8
        guard room >= 0 else { throw .limitsExceeded("a message is larger than \(Self.maximumSize) bytes") }
        switch (self, type) {
        case (.byte, .byte), (.bool, .boolean), (.int16, .int16), (.uint16, .uint16), (.int32, .int32),
            (.uint32, .uint32), (.int64, .int64), (.uint64, .uint64), (.double, .double):
            return
        case (.string(let text), .string):
            guard !text.utf8.contains(0) else { throw .invalidArguments("a string contains a zero byte") }
            room -= text.utf8.count
        case (.objectPath(let path), .objectPath):
            try NameRule.objectPath.check(path)
            room -= path.utf8.count
        case (.signature(let text), .signature):
            _ = try Signature(text)
            room -= text.utf8.count
        case (.unixDescriptor(let descriptor), .unixDescriptor):
            guard descriptor.descriptor >= 0 else { throw .invalidArguments("a descriptor is no longer open") }
        case (.variant(let value), .variant):
            try value.check(try Signature.CompleteType(value.typeSignature), &room)
        case (.array(_, let values), .array(let element)):
            for value in values { try value.check(element, &room) }
        case (.structure(let values), .structure(let members)):
            guard values.count == members.count else { throw mismatch(type) }
            for (value, member) in zip(values, members) { try value.check(member, &room) }
        case (.dictionary(_, _, let entries), .dictionary(let key, let value)):
            for entry in entries {
                try entry.key.check(key, &room)
                try entry.value.check(value, &room)
            }
        default: throw mismatch(type)
        }
        // The elements of an array were compared with the array's signature; its own must be the expected one.
        if case .array = type, typeSignature != type.description { throw mismatch(type) }
        if case .dictionary = type, typeSignature != type.description { throw mismatch(type) }
    }

    private func mismatch(_ type: Signature.CompleteType) -> BusError {
        .invalidArguments("expected '\(type)', got '\(typeSignature)'")
    }
}
