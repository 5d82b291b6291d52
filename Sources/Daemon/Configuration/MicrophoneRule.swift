/// Who may allow the far end to hear the microphone: `[privacy] microphone`.
package enum MicrophoneRule: String, Hashable, Sendable, CaseIterable {
    case allow
    /// Nobody: calls continue, but only receive.
    case deny
    /// A client, with `Audio1.AllowMicrophone`.
    case askClient = "ask-client"
}
