/// A fuzzed component: the use of an input, and the rules that must hold meanwhile.
///
/// A target is a file here, a folder `corpus/NAME`, and an entry in `all`; see README.md.
struct FuzzTarget: Sendable {
    /// Name for the runner and the folders.
    let name: String
    /// Throws the rule that is broken. A trap is detected, too.
    let run: @Sendable ([UInt8]) throws(BrokenRule) -> Void

    static let all = [
        FuzzTarget(name: "at", run: ATTarget.run),
        FuzzTarget(name: "gateway", run: GatewayTarget.run),
        FuzzTarget(name: "calls", run: CallsTarget.run),
        FuzzTarget(name: "quirks", run: QuirksTarget.run),
        FuzzTarget(name: "baresip", run: BaresipTarget.run),
        FuzzTarget(name: "json", run: JSONTarget.run),
        FuzzTarget(name: "talk", run: TalkTarget.run),
        FuzzTarget(name: "talkrows", run: TalkRowsTarget.run),
    ]
    /// Not in `all`: it fails.
    static let canary = FuzzTarget(name: "canary", run: CanaryTarget.run)
}

/// A rule that does not hold.
struct BrokenRule: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Parameter rule: the rule, with the values that violate it.
func require(_ holds: Bool, _ rule: @autoclosure () -> String) throws(BrokenRule) {
    guard holds else { throw BrokenRule(rule()) }
}
