/// Where a call is in its life.
///
/// `setup` is an outgoing call that was asked for and that its provider has not taken yet: no headset sees it.
/// `incoming` rings; `waiting` is an incoming call while another one is up. Which of the two applies is decided by
/// `CallTable` alone.
package enum CallState: Hashable, Sendable {
    case setup, dialing, alerting, incoming, waiting, active, held
    case ended(CallEndReason)

    /// Not answered yet and begun by the other party.
    package var isRinging: Bool { self == .incoming || self == .waiting }

    /// Begun by us and not answered yet; `setup` counts.
    package var isOutgoingSetup: Bool { self == .setup || self == .dialing || self == .alerting }

    package var isEnded: Bool {
        switch self {
        case .ended: true
        case .setup, .dialing, .alerting, .incoming, .waiting, .active, .held: false
        }
    }

    /// Whether a provider may report `next` for a call that is in this state; the same state again is always allowed.
    package func mayBecome(_ next: CallState) -> Bool {
        if self == next { return !isEnded }
        switch (self, next) {
        case (.ended, _): return false
        case (_, .ended): return true
        case (.setup, .dialing), (.setup, .alerting), (.dialing, .alerting): return true
        case (_, .active), (_, .held): return self != .setup || next == .active
        case (_, .incoming), (_, .waiting): return isRinging
        case (_, .setup), (_, .dialing), (_, .alerting): return false
        }
    }
}

/// Why a call is over.
package enum CallEndReason: String, Hashable, Sendable, CaseIterable {
    case localHangUp, remoteHangUp, rejected, missed, answeredElsewhere, cancelled
    case busy, notFound, timedOut, error, transferred, providerGone
}

extension CallState: CustomStringConvertible {
    package var description: String {
        switch self {
        case .setup: "setup"
        case .dialing: "dialing"
        case .alerting: "alerting"
        case .incoming: "incoming"
        case .waiting: "waiting"
        case .active: "active"
        case .held: "held"
        case .ended(let reason): "ended (\(reason.rawValue))"
        }
    }
}
