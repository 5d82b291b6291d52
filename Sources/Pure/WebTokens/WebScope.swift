/// Permission of a client of btcall-web.
package enum WebScope: String, CaseIterable, Hashable, Sendable {
    /// Read what `btcall … --json` shows, and follow events.
    case read
    /// Dial, answer, end, hold and merge calls; mute; do not disturb.
    case calls
    /// Move calls, prefer devices, set volumes, connect and disconnect headsets.
    case route
    /// Register as a telephony application, and report calls.
    case provider
    /// Pair, trust and forget headsets.
    case pair
    /// Change settings. Includes all other scopes.
    case admin

    /// The names for a message: `read, calls, route, provider, pair, admin`.
    package static let accepted = allCases.map(\.rawValue).joined(separator: ", ")
}
