import Routing

/// A JSON value of a scenario file, or an observable of a run.
package enum ScenarioValue: Hashable, Sendable {
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
    package var json: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .flag(let flag): text += flag ? "true" : "false"
        case .number(let number): text += Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .text(let value): Self.write(value, to: &text)
        case .list(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                Self.write(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        defer { text += "\"" }
        let isPlain = value.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain {
            text += value
            return
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            default:
                if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
    }
}

extension ScenarioValue: CustomStringConvertible {
    /// As in a failure line: text without quotes.
    package var description: String {
        switch self {
        case .text(let text): text
        case .null, .flag, .number, .list, .object: json
        }
    }
}

extension ScenarioValue {
    /// The value as a recording has it; nil when it holds what none can: null, or a number with a fraction.
    var recorded: RecordedValue? {
        switch self {
        case .null: return nil
        case .flag(let flag): return .flag(flag)
        case .number(let number): return Int64(exactly: number).map { .number($0) }
        case .text(let text): return .text(text)
        case .list(let elements):
            let values = elements.compactMap(\.recorded)
            return values.count == elements.count ? .list(values) : nil
        case .object(let members):
            var values: [RecordedValue.Member] = []
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                guard let value = member.recorded else { return nil }
                values.append(RecordedValue.Member(name: name, value: value))
            }
            return .object(values)
        }
    }
}
