import BluetoothTypes
import JSONText

/// A part of the policy's state that can be written to a recording and restored from it.
protocol Recordable {
    /// - Parameter zero: the instant that the recording counts from.
    init?(_ recorded: JSON, from zero: Instant)
    func recorded(from zero: Instant) -> JSON
}

/// A value that consists of named parts.
protocol RecordableObject: Recordable {
    /// - Returns: nil when a required part is missing.
    init?(_ fields: inout RecordedFields)
    func write(_ fields: inout RecordedFields)
}

extension RecordableObject {
    init?(_ recorded: JSON, from zero: Instant) {
        guard case .object(let members) = recorded else { return nil }
        var fields = RecordedFields(reading: members, from: zero)
        self.init(&fields)
        guard fields.problem == nil else { return nil }
    }

    func recorded(from zero: Instant) -> JSON {
        var fields = RecordedFields(from: zero)
        write(&fields)
        return .object(fields.members)
    }
}

/// The named parts of a value while it is written or read.
///
/// A nil part is omitted. Invalid and unknown parts are problems: another version wrote them, and the restored state would
/// differ.
struct RecordedFields {
    private(set) var members: [JSON.Member] = []
    private let isReading: Bool
    private let zero: Instant
    private var names: [String] = []
    private var invalid: String?

    /// For writing.
    init(from zero: Instant) {
        isReading = false
        self.zero = zero
    }

    init(reading members: [JSON.Member], from zero: Instant) {
        self.members = members
        isReading = true
        self.zero = zero
    }

    /// Problem found while reading; nil without one.
    var problem: String? {
        if let invalid { return "'\(invalid)' is not understood" }
        guard isReading, let unknown = members.first(where: { !names.contains($0.name) }) else { return nil }
        return "unknown key '\(unknown.name)'; accepted: \(names.joined(separator: ", "))"
    }

    mutating func write<Part: Recordable>(_ name: String, _ part: Part?) {
        guard let part else { return }
        members.append(JSON.Member(name, part.recorded(from: zero)))
    }

    /// - Returns: nil when the part is missing or invalid.
    mutating func read<Part: Recordable>(_ name: String, as type: Part.Type = Part.self) -> Part? {
        names.append(name)
        guard let member = members.first(where: { $0.name == name }) else { return nil }
        let part = Part(member.value, from: zero)
        if part == nil, invalid == nil { invalid = name }
        return part
    }

    /// Writes the part, or replaces it by the recorded one; a missing part stays unchanged.
    mutating func part<Part: Recordable>(_ name: String, _ part: inout Part) {
        if isReading {
            part = read(name) ?? part
        } else {
            write(name, part)
        }
    }

    /// The same for an optional part; nil if missing.
    mutating func part<Part: Recordable>(_ name: String, _ part: inout Part?) {
        if isReading {
            part = read(name)
        } else {
            write(name, part)
        }
    }
}

// MARK: Simple parts

extension Bool: Recordable {
    init?(_ recorded: JSON, from zero: Instant) {
        guard case .bool(let flag) = recorded else { return nil }
        self = flag
    }

    func recorded(from zero: Instant) -> JSON { .bool(self) }
}

extension Int: Recordable {
    /// All of them count events. Larger values never occur, and would trap when one more is added.
    private static let mostCounted: Int64 = 1_000_000_000

    init?(_ recorded: JSON, from zero: Instant) {
        guard let number = recorded.integerValue, (0...Self.mostCounted).contains(number) else { return nil }
        self.init(exactly: number)
    }

    func recorded(from zero: Instant) -> JSON { JSON(self) }
}

extension String: Recordable {
    init?(_ recorded: JSON, from zero: Instant) {
        guard let text = recorded.stringValue else { return nil }
        self = text
    }

    func recorded(from zero: Instant) -> JSON { .string(self) }
}

extension Instant: Recordable {
    private static let beginning = Instant(nanoseconds: .min)

    /// Whole milliseconds from zero on; `beginning` is before everything.
    init?(_ recorded: JSON, from zero: Instant) {
        if recorded == .string("beginning") {
            self = Self.beginning
        } else {
            guard let milliseconds = recorded.integerValue, milliseconds.magnitude < 1_000_000_000_000 else {
                return nil
            }
            self.init(nanoseconds: zero.nanoseconds + milliseconds * 1_000_000)
        }
    }

    func recorded(from zero: Instant) -> JSON {
        self == Self.beginning ? .string("beginning") : .integer(zero.duration(to: self).milliseconds)
    }
}

extension Array: Recordable where Element: Recordable {
    init?(_ recorded: JSON, from zero: Instant) {
        guard case .array(let values) = recorded else { return nil }
        let elements = values.compactMap { Element($0, from: zero) }
        guard elements.count == values.count else { return nil }
        self = elements
    }

    func recorded(from zero: Instant) -> JSON { .array(map { $0.recorded(from: zero) }) }
}

/// A part that has one word per value.
protocol RecordableWord: Recordable {
    init?(word: String)
    var word: String { get }
}

extension RecordableWord {
    init?(_ recorded: JSON, from zero: Instant) {
        guard let text = recorded.stringValue else { return nil }
        self.init(word: text)
    }

    func recorded(from zero: Instant) -> JSON { .string(word) }
}

extension RecordableWord where Self: RawRepresentable<String> {
    init?(word: String) { self.init(rawValue: word) }
    var word: String { rawValue }
}
