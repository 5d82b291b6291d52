/// Action on calls by a configured button, independent of key and headset.
///
/// The call key of a Hands-Free headset without a configured action is not handled here: it arrives as AT commands, which
/// `AudioGateway` answers according to the profile.
package enum CallButton: Hashable, Sendable {
    case answer, hangUp
    /// Answers a ringing call, otherwise ends the present one.
    case toggle
    /// Holds the active call, otherwise resumes the held one.
    case hold
    case redial

    /// Reason why a button does nothing.
    package enum Idle: Error, Hashable, Sendable {
        case nothingRings, noCall, nothingDialled
    }

    /// - Parameters:
    ///   - calls: calls as shown to headsets.
    ///   - lastDialed: number dialled last; nil if none.
    /// - Throws: the reason why there is nothing to request. Expected.
    package func request(_ calls: CallSnapshot, lastDialed: String?) throws(Idle) -> CallRequest {
        switch self {
        case .answer: return try Self.answer(calls)
        case .hangUp: return try Self.hangUp(calls)
        case .toggle: return calls.answerable == nil ? try Self.hangUp(calls) : try Self.answer(calls)
        case .hold:
            if let call = calls.first(.active) { return .setHeld(call.id, true) }
            guard let call = calls.first(.held) else { throw .noCall }
            return .setHeld(call.id, false)
        case .redial:
            guard let lastDialed else { throw .nothingDialled }
            return .dial(number: lastDialed)
        }
    }

    private static func answer(_ calls: CallSnapshot) throws(Idle) -> CallRequest {
        guard let call = calls.answerable else { throw .nothingRings }
        return .answer(call.id)
    }

    /// Selects the outgoing call that is not answered yet, otherwise the active one, the ringing one, or the held one.
    private static func hangUp(_ calls: CallSnapshot) throws(Idle) -> CallRequest {
        let outgoing = calls.first(.alerting) ?? calls.first(.dialing) ?? calls.first(.setup)
        if let call = outgoing ?? calls.first(.active) { return .hangUp(call.id) }
        if let call = calls.answerable { return .reject(call.id) }
        guard let call = calls.first(.held) else { throw .noCall }
        return .hangUp(call.id)
    }
}

extension CallButton.Idle: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nothingRings: "no call rings"
        case .noCall: "there is no call"
        case .nothingDialled: "nothing was dialled yet"
        }
    }
}
