import JSONText
import Routing

// What scenarios need of JSON. A whole number in a scenario is `.integer`, however it is written.
extension JSON {
    static func milliseconds(_ duration: Duration) -> JSON {
        let (seconds, attoseconds) = duration.components
        return .integer(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    /// An object whose members are ordered by name.
    static func ordered(_ members: [(String, JSON)]) -> JSON { JSON(members.sorted { $0.0 < $1.0 }) }

    /// As in a failure line: text without quotes.
    var shown: String { stringValue ?? text() }
}

extension [JSON.Member] {
    var names: [String] { map(\.name) }

    /// Takes a member out.
    mutating func remove(_ name: String) -> JSON? {
        firstIndex { $0.name == name }.map { remove(at: $0).value }
    }
}

extension JSON {
    /// The value as a recording has it; nil when it holds what none can: null, or a number with a fraction.
    var recorded: RecordedValue? {
        switch self {
        case .null: return nil
        case .bool(let flag): return .flag(flag)
        case .integer, .number: return integerValue.map { .number($0) }
        case .string(let text): return .text(text)
        case .array(let elements):
            let values = elements.compactMap(\.recorded)
            return values.count == elements.count ? .list(values) : nil
        case .object(let members):
            var values: [RecordedValue.Member] = []
            for member in members {
                guard let value = member.value.recorded else { return nil }
                values.append(RecordedValue.Member(name: member.name, value: value))
            }
            return .object(values)
        }
    }
}
