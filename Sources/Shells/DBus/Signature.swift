/// A sequence of complete types (D-Bus specification, "Type System"), such as "oha{sv}".
package struct Signature: Hashable, Sendable, CustomStringConvertible {
    /// One complete type.
    package indirect enum CompleteType: Hashable, Sendable, CustomStringConvertible {
        case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double
        case string, objectPath, signature, unixDescriptor, variant
        case array(CompleteType)
        case structure([CompleteType])
        /// An array of dictionary entries.
        case dictionary(key: CompleteType, value: CompleteType)

        package var description: String {
            switch self {
            case .byte: "y"
            case .boolean: "b"
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
            case .variant: "v"
            case .array(let element): "a\(element)"
            case .structure(let members): "(" + members.map(\.description).joined() + ")"
            case .dictionary(let key, let value): "a{\(key)\(value)}"
            }
        }

        /// Whether it may be the key of a dictionary.
        package var isBasic: Bool {
            switch self {
            case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .string, .objectPath,
                .signature, .unixDescriptor:
                true
            case .variant, .array, .structure, .dictionary: false
            }
        }

        /// Parses exactly one complete type.
        package init(_ text: String) throws(BusError) {
            let types = try Signature(text).types
            guard types.count == 1, let type = types.first else {
                throw .invalidArguments("'\(text)' is not one complete type")
            }
            self = type
        }
    }

    /// In bytes.
    package static let maximumLength = 255
    /// Of arrays in arrays, and of structures in structures.
    package static let maximumDepth = 32

    package let types: [CompleteType]

    /// - Throws: `InvalidArgs` for anything that the specification does not allow, limits of length and depth included.
    package init(_ text: String) throws(BusError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw .invalidArguments("a signature is longer than \(Self.maximumLength) bytes")
        }
        var parser = Parser(text: text, bytes: Array(text.utf8))
        types = try parser.parse()
    }

    package init(_ types: [CompleteType]) {
        self.types = types
    }

    package var description: String { types.map(\.description).joined() }

    private struct Parser {
        let text: String
        let bytes: [UInt8]
        var position = 0

        mutating func parse() throws(BusError) -> [CompleteType] {
            var types: [CompleteType] = []
            while position < bytes.count { types.append(try type(arrays: 0, structures: 0)) }
            return types
        }

        mutating func type(arrays: Int, structures: Int) throws(BusError) -> CompleteType {
            switch next() {
            case UInt8(ascii: "y"): return .byte
            case UInt8(ascii: "b"): return .boolean
            case UInt8(ascii: "n"): return .int16
            case UInt8(ascii: "q"): return .uint16
            case UInt8(ascii: "i"): return .int32
            case UInt8(ascii: "u"): return .uint32
            case UInt8(ascii: "x"): return .int64
            case UInt8(ascii: "t"): return .uint64
            case UInt8(ascii: "d"): return .double
            case UInt8(ascii: "s"): return .string
            case UInt8(ascii: "o"): return .objectPath
            case UInt8(ascii: "g"): return .signature
            case UInt8(ascii: "h"): return .unixDescriptor
            case UInt8(ascii: "v"): return .variant
            case UInt8(ascii: "a"): return try array(arrays: arrays + 1, structures: structures)
            case UInt8(ascii: "("): return try structure(arrays: arrays, structures: structures + 1)
            default: throw invalid("unexpected end or type code")
            }
        }

        mutating func array(arrays: Int, structures: Int) throws(BusError) -> CompleteType {
            guard arrays <= maximumDepth else { throw invalid("arrays nested too deeply") }
            guard position < bytes.count, bytes[position] == UInt8(ascii: "{") else {
                return .array(try type(arrays: arrays, structures: structures))
            }
            // An entry counts as a structure.
            guard structures < maximumDepth else { throw invalid("structures nested too deeply") }
            position += 1
            let key = try type(arrays: arrays, structures: structures + 1)
            guard key.isBasic else { throw invalid("a dictionary's key must be a basic type") }
            let value = try type(arrays: arrays, structures: structures + 1)
            guard next() == UInt8(ascii: "}") else { throw invalid("a dictionary entry has one key and one value") }
            return .dictionary(key: key, value: value)
        }

        mutating func structure(arrays: Int, structures: Int) throws(BusError) -> CompleteType {
            guard structures <= maximumDepth else { throw invalid("structures nested too deeply") }
            var members: [CompleteType] = []
            while position < bytes.count, bytes[position] != UInt8(ascii: ")") {
                members.append(try type(arrays: arrays, structures: structures))
            }
            guard next() == UInt8(ascii: ")") else { throw invalid("a structure is not closed") }
            guard !members.isEmpty else { throw invalid("a structure has no members") }
            return .structure(members)
        }

        private mutating func next() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        private func invalid(_ reason: String) -> BusError {
            .invalidArguments("'\(text)' is not a signature: \(reason) at byte \(position)")
        }
    }
}
