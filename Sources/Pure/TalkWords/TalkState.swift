/// What the talk keys have made of a call: the words of `Call1.TalkState`.
package enum TalkState: String, Hashable, Sendable, CaseIterable {
    /// Full duplex: mode off, or the call is not active.
    case off
    /// The microphone is closed.
    case listening
    /// A key is pressed, and the provider is being asked.
    case asking
    /// The microphone is open.
    case talking
    /// The key was released; the microphone is still open.
    case tail
    /// The provider has not granted the floor, or has withdrawn it. Until the key is released.
    case refused
    /// The time to talk is over. Until the key is released, or pressed again.
    case timedOut
}
