import BTCallAPI
import BluetoothTypes

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
    ///   - state: the state in ``BridgeEvent/callStateChanged(_:_:reason:)``; it does not tell `mediaPending` from `inCall`,
    ///     as ``BridgeEvent/callStatusChanged(_:_:reason:)`` does.
    ///   - reason: the raw value of a ``Call/EndReason``; used for `ended` only.
    public init(_ state: Call.State, reason: String? = nil) {
        if state == .ended {
            self.init(CallStatusWord(endedBecause: reason ?? ""))
        } else {
            self.init(CallStatusWord(CallDescription.State(state), isCarried: true, audio: .sendReceive))
        }
    }

    init(_ word: CallStatusWord) {
        switch word {
        case .setup: self = .setup
        case .alerting: self = .alerting
        case .ringing: self = .ringing
        case .mediaPending: self = .mediaPending
        case .inCall: self = .inCall
        case .timedOut: self = .timedOut
        case .busy: self = .busy
        case .notFound: self = .notFound
        case .error: self = .error
        case .ended: self = .ended
        }
    }
}
