/// Who may let the far end hear the microphone, as `[privacy] microphone` says it.
package enum MicrophoneRule: String, Hashable, Sendable, CaseIterable {
    case allow
    /// Nobody: calls go on, and only receive.
    case deny
    /// A client, by `Audio1.AllowMicrophone`.
    case askClient = "ask-client"
}

/// Whether the microphone may be heard now, in the words of `Audio1.MicrophoneAccess`.
package enum MicrophoneAccess: String, Hashable, Sendable, CaseIterable {
    case allowed
    case denied
    /// No client has allowed it yet.
    case waiting
}
