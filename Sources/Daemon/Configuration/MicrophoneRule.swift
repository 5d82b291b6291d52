/// Who may let the far end hear the microphone, as `[privacy] microphone` says it.
package enum MicrophoneRule: String, Hashable, Sendable, CaseIterable {
    case allow
    /// Nobody: calls go on, and only receive.
    case deny
    /// A client, by `Audio1.AllowMicrophone`.
    case askClient = "ask-client"
}
