import JSONText

// JSON for scenarios. A whole number in a scenario is `.integer`, in any notation.
extension JSON {
    static func milliseconds(_ duration: Duration) -> JSON {
        let (seconds, attoseconds) = duration.components
        return .integer(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    /// An object whose members are ordered by name.
    static func ordered(_ members: [(String, JSON)]) -> JSON { JSON(members.sorted { $0.0 < $1.0 }) }

    /// The value in a failure line: text without quotes.
    var shown: String { stringValue ?? text() }
}

extension [JSON.Member] {
    var names: [String] { map(\.name) }

    /// Removes a member and returns it.
    mutating func remove(_ name: String) -> JSON? {
        firstIndex { $0.name == name }.map { remove(at: $0).value }
    }
}
