/// Progress of a call in one value, as video call kits name it: ``Call/State`` combined with the outcome of the call.
///
/// `preparingBufferViews` does not exist: this bridge shows no pictures. A held call is `inCall`; ``Call/state``
/// distinguishes it from an active one.
public enum CallStatus: String, Hashable, Sendable, CaseIterable {
    /// An outgoing call is being set up.
    case setup
    /// The other side rings.
    case alerting
    /// This side rings, or the call waits beside another call.
    case ringing
    /// The call is answered, and no device carries its audio yet.
    case mediaPending
    case inCall
    /// The call failed: not answered in time, line busy, address unknown, or an error.
    case timedOut, busy, notFound, error
    /// The call ended in any other way.
    case ended

    /// - Parameters:
    ///   - state: the state in ``BridgeEvent/callStateChanged(_:_:reason:)``.
    ///   - reason: the raw value of a ``Call/EndReason``; used for `ended` only.
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
    /// Progress of the call in one value. It never includes an outcome: a call that has ended is no longer listed.
    public var status: CallStatus {
        guard state == .active, link == nil, media.audio != .off else { return CallStatus(state) }
        return .mediaPending
    }
}
