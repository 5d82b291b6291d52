/// State of a call's floor, as the bus shows it (`Call1.Talking`).
package struct Talking: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Full duplex (mode off, or the call is not active).
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

    package let state: State
    /// The key that has the floor, asks for it, or had it last; nil while listening and off.
    package let holder: TalkKeyID?

    package init(_ state: State, _ holder: TalkKeyID? = nil) {
        self.state = state
        self.holder = holder
    }

    package static let off = Talking(.off)
    package static let listening = Talking(.listening)

    /// Whether the microphone is open.
    package var isOpen: Bool {
        switch state {
        case .talking, .tail: true
        case .off, .listening, .asking, .refused, .timedOut: false
        }
    }
}
