/// The key of a headset that opens its voice link to talk and closes it to listen.
///
/// Only for headsets with a row of protocol `link`: with others, the same is the button that transfers a call.
package struct LinkTalkReader: Hashable, Sendable {
    private var isPressed = false

    package init() {}

    /// Handles an open voice link.
    ///
    /// - Parameter byHeadset: false for a link that btcalld opened, which is no press.
    package mutating func opened(byHeadset: Bool) -> TalkSignal? {
        guard byHeadset, !isPressed else { return nil }
        isPressed = true
        return .pressed
    }

    /// Handles the end of the link, closed by either side or lost: nobody speaks through a link that is closed.
    package mutating func closed() -> TalkSignal? {
        guard isPressed else { return nil }
        isPressed = false
        return .released
    }
}
