/// What a configured button asks of the calls, whichever key of whichever headset it is.
///
/// The call key of a Hands-Free headset without a configured action is not decided here: it arrives as AT commands, which
/// `AudioGateway` answers by the profile's own rules.
package enum CallButton: Hashable, Sendable {
    case answer, hangUp
    /// Answers the call that rings, else ends the one that is up.
    case toggle
    /// Holds the active call, else resumes the held one.
    case hold
    case redial

    /// Why a button does nothing.
    package enum Idle: Error, Hashable, Sendable {
        case nothingRings, noCall, nothingDialled
    }

    /// - Parameters:
    ///   - calls: as headsets are shown them.
    ///   - lastDialed: the number that was dialled last; nil: none yet.
    /// - Throws: why there is nothing to ask for. Expected.
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

    /// The outgoing call that is not answered yet, else the active one, else the one that rings, else the held one.
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
