/// How names say their unit: spelt out, as `…Seconds` and `…Milliseconds`.
package enum UnitSpelling {
    /// The present name of a key that ends as those of earlier versions did: `openTimeoutMilliseconds` for `openTimeoutMs`.
    ///
    /// - Returns: nil for a name that ends otherwise.
    package static func current(of name: some StringProtocol) -> String? {
        guard name.hasSuffix("Ms") else { return nil }
        return name.dropLast(2) + "Milliseconds"
    }
}
