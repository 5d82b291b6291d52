/// How a key acts on the microphone of a call: the words of `[talk] mode` and of `Call1.TalkMode`.
package enum TalkMode: String, Hashable, Sendable, CaseIterable {
    /// Full duplex: the microphone is not touched.
    case off
    /// Open while a key is held.
    case push
    /// Each press changes between open and closed; releases mean nothing.
    case toggle
    /// Held: like push. A short press stays open until the next press, as key panels of intercoms do.
    case latch
}
