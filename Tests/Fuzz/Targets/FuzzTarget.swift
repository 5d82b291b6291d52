/// One thing that is fuzzed: what is done with an input, and what must hold meanwhile.
///
/// A target is a file here, a folder `corpus/NAME`, and an entry in `all`; see README.md.
struct FuzzTarget: Sendable {
    /// As the runner and the folders have it.
    let name: String
    /// Throws the rule that does not hold. A trap is found as well.
    let run: @Sendable ([UInt8]) throws(BrokenRule) -> Void

    static let all = [
        FuzzTarget(name: "at", run: ATTarget.run),
        FuzzTarget(name: "gateway", run: GatewayTarget.run),
        FuzzTarget(name: "calls", run: CallsTarget.run),
        FuzzTarget(name: "quirks", run: QuirksTarget.run),
        FuzzTarget(name: "baresip", run: BaresipTarget.run),
        FuzzTarget(name: "json", run: JSONTarget.run),
    ]
    /// Not among the others: it fails.
    static let canary = FuzzTarget(name: "canary", run: CanaryTarget.run)
}

/// What must hold and does not.
struct BrokenRule: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Parameter rule: what must hold, with the values that it does not hold for.
func require(_ holds: Bool, _ rule: @autoclosure () -> String) throws(BrokenRule) {
    guard holds else { throw BrokenRule(rule()) }
}
