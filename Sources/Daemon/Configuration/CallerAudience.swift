/// Who is told with whom a call is: the key `callers` of `[privacy]`. That there is one is told to everybody on the bus.
package enum CallerAudience: String, Hashable, Sendable, CaseIterable {
    /// Root and the members of the daemon's group.
    case group
    case everybody
}
