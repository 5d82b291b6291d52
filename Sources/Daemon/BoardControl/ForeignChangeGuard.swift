package import BluetoothTypes

/// Decides what to do when another program changes a setting of ours: set it again, but do not fight for it.
package struct ForeignChangeGuard: Hashable, Sendable {
    package enum Reaction: Hashable, Sendable {
        case reassert
        /// It has happened too often: the other program has it from here on.
        case yield
        /// It has been yielded.
        case ignore
    }

    /// So many changes within the window are a fight.
    package static let limit = 3
    package static let window = Duration.seconds(10)

    private var changes: [Instant] = []
    package private(set) var hasYielded = false

    package init() {}

    package mutating func changed(at now: Instant) -> Reaction {
        guard !hasYielded else { return .ignore }
        changes.removeAll { $0.advanced(by: Self.window) <= now }
        changes.append(now)
        hasYielded = changes.count >= Self.limit
        return hasYielded ? .yield : .reassert
    }

    /// The setting is ours again: the route has changed, or somebody has asked for it.
    package mutating func reset() { self = ForeignChangeGuard() }
}
