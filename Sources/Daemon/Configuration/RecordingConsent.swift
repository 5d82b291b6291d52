/// Whether calls may be recorded: the key `recording` of `[privacy]`.
package enum RecordingConsent: String, Hashable, Sendable, CaseIterable {
    /// Nobody may.
    case deny
    /// Everybody may who may use the daemon.
    case allow
    /// Each time somebody is asked (`RecordingRequested`), and has to allow it.
    case ask
}
