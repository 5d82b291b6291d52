/// Whether calls may be recorded: the key `recording` of `[privacy]`.
package enum RecordingConsent: String, Hashable, Sendable, CaseIterable {
    /// Nobody may.
    case deny
    /// Everybody who may use the daemon.
    case allow
    /// A client has to allow each request (`RecordingRequested`).
    case ask
}
