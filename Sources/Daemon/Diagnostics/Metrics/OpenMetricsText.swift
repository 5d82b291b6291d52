/// Text in the OpenMetrics format, version 1.0.0: families of samples in the order of addition, and the end marker.
package struct OpenMetricsText: Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, info, stateset

        /// The suffix that the kind adds to the names of its samples (OpenMetrics 1.0.0 §"Overall Structure").
        fileprivate var suffix: String {
            switch self {
            case .counter: "_total"
            case .info: "_info"
            case .gauge, .stateset: ""
            }
        }
    }

    private var body = ""
    private var family = ""

    package init() {}

    /// Begins a family, to which the following samples belong.
    ///
    /// - Parameters:
    ///   - name: without the suffix of its kind; ends with `_` and the unit, if it has one.
    ///   - help: its meaning in one line.
    package mutating func begin(_ name: String, _ kind: Kind, unit: String? = nil, _ help: String) {
        family = name + kind.suffix
        body += "# TYPE \(name) \(kind.rawValue)\n"
        if let unit { body += "# UNIT \(name) \(unit)\n" }
        body += "# HELP \(name) \(Self.escaped(help))\n"
    }

    package mutating func add(_ labels: [(name: String, value: String)], _ value: Int) { add(labels, "\(value)") }

    /// - Parameter value: a value that is not finite is written as 0.
    package mutating func add(_ labels: [(name: String, value: String)], _ value: Double) {
        add(labels, value.isFinite ? "\(value)" : "0")
    }

    package mutating func add(_ value: Int) { add([], value) }

    package mutating func add(_ value: Double) { add([], value) }

    /// Adds a duration in seconds.
    package mutating func add(_ value: Duration) { add([], value / .seconds(1)) }

    private mutating func add(_ labels: [(name: String, value: String)], _ value: String) {
        body += family
        if !labels.isEmpty {
            body += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",") + "}"
        }
        body += " \(value)\n"
    }

    /// The complete text.
    package var text: String { body + "# EOF\n" }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
