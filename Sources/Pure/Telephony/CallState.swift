/// State of a call.
///
/// `setup` is an outgoing call that was requested but not yet accepted by its provider: no headset sees it. `incoming`
/// rings; `waiting` is an incoming call while another one is up. Only `CallTable` decides which of the two applies.
package enum CallState: Hashable, Sendable {
    case setup, dialing, alerting, incoming, waiting, active, held
    case ended(CallEndReason)

    /// Begun by the remote party and not answered yet.
    package var isRinging: Bool { self == .incoming || self == .waiting }

    /// Begun by us and not answered yet; `setup` counts.
    package var isOutgoingSetup: Bool { self == .setup || self == .dialing || self == .alerting }

    package var isEnded: Bool {
        switch self {
        case .ended: true
        case .setup, .dialing, .alerting, .incoming, .waiting, .active, .held: false
        }
    }

    /// Whether a provider may report `next` for a call in this state; repeating the present state is always allowed.
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

/// Reason for the end of a call.
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
