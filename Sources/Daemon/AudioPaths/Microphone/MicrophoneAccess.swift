/// Whether the microphone may be used now, in the words of `Audio1.MicrophoneAccess`.
package enum MicrophoneAccess: String, Hashable, Sendable, CaseIterable {
    case allowed
    case denied
    /// No client has allowed it yet.
    case waiting
}
