package import BluetoothTypes

/// Decides what to do when another program changes a setting of ours: set it again, but do not fight for it.
package struct ForeignChangeGuard: Hashable, Sendable {
    package enum Reaction: Hashable, Sendable {
        case reassert
        /// It has happened too often: leave the setting to the other program.
        case yield
        /// The setting was left to the other program before.
        case ignore
    }

    /// Number of changes within the window that counts as a fight.
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

    /// Takes the setting back: the route has changed, or a client requested it.
    package mutating func reset() { self = ForeignChangeGuard() }
}
