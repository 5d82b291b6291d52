package import DBus

/// One accepted entry of a dictionary: its name and the type of its value.
package struct EntryType: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        case text, flag, textOrFlag, number, integer, texts, paths, integers, rectangle, descriptor
    }

    package let name: String
    private let kind: Kind

    package static func text(_ name: String) -> EntryType { EntryType(name: name, kind: .text) }
    package static func flag(_ name: String) -> EntryType { EntryType(name: name, kind: .flag) }
    package static func textOrFlag(_ name: String) -> EntryType { EntryType(name: name, kind: .textOrFlag) }
    package static func number(_ name: String) -> EntryType { EntryType(name: name, kind: .number) }
    /// Any integer type of the bus.
    package static func integer(_ name: String) -> EntryType { EntryType(name: name, kind: .integer) }
    package static func texts(_ name: String) -> EntryType { EntryType(name: name, kind: .texts) }
    package static func paths(_ name: String) -> EntryType { EntryType(name: name, kind: .paths) }
    package static func integers(_ name: String) -> EntryType { EntryType(name: name, kind: .integers) }
    /// Position and size: a structure of four integers of any type.
    package static func rectangle(_ name: String) -> EntryType { EntryType(name: name, kind: .rectangle) }
    package static func descriptor(_ name: String) -> EntryType { EntryType(name: name, kind: .descriptor) }

    /// The type for messages: a signature, or `integer`.
    package var typeName: String {
        switch kind {
        case .text: "s"
        case .flag: "b"
        case .textOrFlag: "s or b"
        case .number: "d"
        case .integer: "integer"
        case .texts: "as"
        case .paths: "ao"
        case .integers: "au"
        case .rectangle: "(iiuu)"
        case .descriptor: "h"
        }
    }

    package func accepts(_ value: Value) -> Bool {
        switch kind {
        case .text: value.stringValue != nil
        case .flag: value.boolValue != nil
        case .textOrFlag: value.stringValue != nil || value.boolValue != nil
        case .number: value.doubleValue != nil
        case .integer: value.uint64Value != nil || value.integerValue != nil
        case .texts: value.arrayValue?.allSatisfy { $0.stringValue != nil } == true
        case .paths: value.arrayValue?.allSatisfy { $0.objectPathValue != nil } == true
        case .integers: value.arrayValue?.allSatisfy { $0.integerValue != nil } == true
        case .rectangle:
            value.structureValue.map { $0.count == 4 && $0.allSatisfy { $0.integerValue != nil } } == true
        case .descriptor: value.descriptorValue != nil
        }
    }
}
