package import TalkWords

/// State of a call's floor and its key, as the bus shows them (`Call1.TalkState`, `TalkHolder`).
package struct Talking: Hashable, Sendable {
    package let state: TalkState
    /// The key that has the floor, asks for it, or had it last; nil while listening and off.
    package let holder: TalkKeyID?

    package init(_ state: TalkState, _ holder: TalkKeyID? = nil) {
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
