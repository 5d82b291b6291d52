/// Notation of units in names: spelt out, as `…Seconds` and `…Milliseconds`.
package enum UnitSpelling {
    /// Returns the present name of a key with an earlier version's ending: `openTimeoutMilliseconds` for `openTimeoutMs`.
    ///
    /// - Returns: nil for a name with any other ending.
    package static func current(of name: some StringProtocol) -> String? {
        guard name.hasSuffix("Ms") else { return nil }
        return name.dropLast(2) + "Milliseconds"
    }
}
