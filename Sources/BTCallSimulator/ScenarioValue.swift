import Foundation

/// A JSON value of a scenario file, or an observable of a run.
enum ScenarioValue: Hashable, Sendable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([ScenarioValue])
    case object([String: ScenarioValue])

    static func milliseconds(_ duration: Duration) -> ScenarioValue {
        let (seconds, attoseconds) = duration.components
        return .number(Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000_000))
    }

    /// Compact JSON with sorted keys.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Text, finite numbers and nesting: this does not fail.
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension ScenarioValue: CustomStringConvertible {
    /// As in a failure line: text without quotes.
    var description: String {
        switch self {
        case .text(let text): text
        case .null, .flag, .number, .list, .object: json
        }
    }
}

extension ScenarioValue: Codable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Key.self) {
            var members: [String: ScenarioValue] = [:]
            for key in object.allKeys {
                members[key.stringValue] = try object.decode(ScenarioValue.self, forKey: key)
            }
            self = .object(members)
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [ScenarioValue] = []
            while !list.isAtEnd { elements.append(try list.decode(ScenarioValue.self)) }
            self = .list(elements)
        } else {
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                self = .null
            } else if let flag = try? single.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? single.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try single.decode(String.self))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .flag(let flag):
            var container = encoder.singleValueContainer()
            try container.encode(flag)
        case .number(let number):
            var container = encoder.singleValueContainer()
            if let whole = Int64(exactly: number) {
                try container.encode(whole)
            } else {
                try container.encode(number)
            }
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .list(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for (name, member) in members { try container.encode(member, forKey: Key(stringValue: name)) }
        }
    }
}
