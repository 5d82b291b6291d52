/// The course of a call in one word, as kits for video calls name it: ``Call/State`` and how the call came out in one.
///
/// There is no `preparingBufferViews`: this bridge shows no pictures. A held call is `inCall`; ``Call/state`` tells it from an active
/// one.
public enum CallStatus: String, Hashable, Sendable, CaseIterable {
    /// An outgoing call is being set up.
    case setup
    /// It rings at the other side.
    case alerting
    /// It rings here, or waits beside another call.
    case ringing
    /// It is answered, and nothing carries its audio yet.
    case mediaPending
    case inCall
    /// It came to nothing: nobody answered in time, the line is busy, nobody has this address, something broke.
    case timedOut, busy, notFound, error
    /// It is over in any other way.
    case ended

    /// - Parameters:
    ///   - state: as ``BridgeEvent/callStateChanged(_:_:reason:)`` has it.
    ///   - reason: the word of a ``Call/EndReason``; it counts for `ended` alone.
    public init(_ state: Call.State, reason: String? = nil) {
        switch state {
        case .dialing: self = .setup
        case .alerting: self = .alerting
        case .ringing, .waiting: self = .ringing
        case .active, .held: self = .inCall
        case .ended:
            self =
                switch CallFailure(reason: reason) {
                case .timedOut: .timedOut
                case .busy: .busy
                case .notFound: .notFound
                case .error, .providerGone: .error
                case nil: .ended
                }
        }
    }
}

extension Call {
    /// Its course in one word. How a call came out is not in it: a call that is over is no longer listed.
    public var status: CallStatus {
        guard state == .active, link == nil, media.audio != .off else { return CallStatus(state) }
        return .mediaPending
    }
}
