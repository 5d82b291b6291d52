/// Identifies one request while it is open; assigned by the caller, and returned in `.completed`.
package struct CallRequestID: Hashable, Comparable, Sendable {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }

    package static func < (left: CallRequestID, right: CallRequestID) -> Bool { left.value < right.value }
}

/// Request of a headset, the command line or a D-Bus client.
package enum CallRequest: Hashable, Sendable {
    case answer(CallID)
    case reject(CallID)
    /// Ends the conversation: a call in a conference ends together with all others of it.
    case hangUp(CallID)
    /// A ringing call was not answered: it is missed.
    case giveUp(CallID)
    /// Ends only that call, also out of a conference.
    case end(CallID)
    /// - Parameter provider: nil for the first registered provider that can dial.
    case dial(number: String, provider: String? = nil)
    case setHeld(CallID, Bool)
    case threeWay(ThreeWayAction)
    /// Sends tones, each one of `0…9 A…D * #`, to an active call; nil for the first one shown to headsets.
    case sendDTMF(String, to: CallID? = nil)
    /// Response and hold (HFP 1.9 §4.30): no provider supports it yet; the table refuses it.
    case responseAndHold(ResponseAndHold)
}

/// AT+CHLD (HFP 1.9 §4.34.2, 3GPP TS 22.030 §6.5.5.1).
package enum ThreeWayAction: Hashable, Sendable {
    /// 0
    case releaseHeldOrRejectWaiting
    /// 1
    case releaseActiveAndAcceptOther
    /// 1x: the +CLCC index
    case release(index: Int)
    /// 2
    case holdActiveAndAcceptOther
    /// 2x: the +CLCC index
    case consult(index: Int)
    /// 3
    case join
    /// 4: no application can do it; the table refuses it, and btcalld does not offer it to headsets.
    case transfer

    /// Reads `0`, `1`, `11`…`17`, `2`, `21`…`27`, `3`, `4`; nil for anything else.
    package init?(text: String) {
        let digits = Array(text.utf8)
        guard let first = digits.first, digits.count <= 2 else { return nil }
        if digits.count == 2 {
            guard (UInt8(ascii: "1")...UInt8(ascii: "7")).contains(digits[1]) else { return nil }
            let index = Int(digits[1] - UInt8(ascii: "0"))
            switch first {
            case UInt8(ascii: "1"): self = .release(index: index)
            case UInt8(ascii: "2"): self = .consult(index: index)
            default: return nil
            }
            return
        }
        switch first {
        case UInt8(ascii: "0"): self = .releaseHeldOrRejectWaiting
        case UInt8(ascii: "1"): self = .releaseActiveAndAcceptOther
        case UInt8(ascii: "2"): self = .holdActiveAndAcceptOther
        case UInt8(ascii: "3"): self = .join
        case UInt8(ascii: "4"): self = .transfer
        default: return nil
        }
    }

    /// The value in the headset's notation.
    package var text: String {
        switch self {
        case .releaseHeldOrRejectWaiting: "0"
        case .releaseActiveAndAcceptOther: "1"
        case .release(let index): "1\(index)"
        case .holdActiveAndAcceptOther: "2"
        case .consult(let index): "2\(index)"
        case .join: "3"
        case .transfer: "4"
        }
    }
}

/// AT+BTRH (HFP 1.9 §4.34.2).
package enum ResponseAndHold: Int, Hashable, Sendable {
    case hold = 0
    case accept = 1
    case reject = 2
}

/// Result of a request.
package enum CallRequestOutcome: Hashable, Sendable {
    case done
    case failed(CallRequestFailure)
    /// The call ended before the request was carried out.
    case cancelled
}

/// Reason why a request was not carried out.
package enum CallRequestFailure: Error, Hashable, Sendable {
    /// No such call, or none in the right state.
    case noSuchCall
    /// The call or its provider does not support this; nothing was changed.
    case notSupported
    /// No registered provider can dial, or it disappeared.
    case noProvider
    /// Seven calls are up.
    case tooManyCalls
    /// A call is already being dialled.
    case dialing
    /// The provider refused, or did not answer in time.
    case provider(ProviderFailure)
}

package enum ProviderFailure: Hashable, Sendable {
    case refused, timedOut, gone
}
