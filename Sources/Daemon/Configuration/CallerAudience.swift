/// Who may see the other party of a call: the key `callers` of `[privacy]`. The existence of calls is visible to everybody
/// on the bus.
package enum CallerAudience: String, Hashable, Sendable, CaseIterable {
    /// Root and the members of the daemon's group.
    case group
    case everybody
}
