/// A telephony application that owns calls.
package struct CallProvider: Hashable, Sendable {
    /// Unique among registered providers.
    package let name: String
    package var capabilities: CallCapabilities
    /// False for announcements, and for applications that do not know their calls' state: not shown to headsets.
    package var hasCallState: Bool
    /// Whether it dials requests that name no provider.
    package var dialsNumbers: Bool

    package init(
        name: String, capabilities: CallCapabilities, hasCallState: Bool = true, dialsNumbers: Bool = true
    ) {
        self.dialsNumbers = dialsNumbers
        self.name = name
        self.capabilities = capabilities
        self.hasCallState = hasCallState
    }
}

/// Identifies one action that a provider has not answered yet.
package struct ProviderActionID: Hashable, Comparable, Sendable {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }

    package static func < (left: ProviderActionID, right: ProviderActionID) -> Bool { left.value < right.value }
}

/// An action requested from a provider: a method call of `CallProvider1`. A reply fulfils it; an error, or no reply within
/// the shell's time limit, fails it.
package enum ProviderAction: Hashable, Sendable {
    /// The call exists in state `setup`; fulfilled means dialing.
    case start(CallID, number: String)
    case answer(CallID)
    case reject(CallID)
    case hangUp(CallID)
    /// The call was not answered: it is missed.
    case giveUp(CallID)
    case setHeld(CallID, Bool)
    /// Both in one action, only if the provider can swap.
    case swap(hold: CallID, resume: CallID)
    case sendDTMF(CallID, String)
    case conference([CallID])

    /// The calls concerned.
    package var calls: [CallID] {
        switch self {
        case .start(let id, _), .answer(let id), .reject(let id), .hangUp(let id), .giveUp(let id),
            .setHeld(let id, _), .sendDTMF(let id, _):
            [id]
        case .swap(let first, let second): [first, second]
        case .conference(let ids): ids
        }
    }

    /// Whether the action ends the call, so that an end for another reason also fulfils it.
    var endsCall: Bool {
        switch self {
        case .reject, .hangUp, .giveUp: true
        case .start, .answer, .setHeld, .swap, .sendDTMF, .conference: false
        }
    }
}

/// A provider's answer.
package enum ProviderAnswer: Hashable, Sendable {
    case fulfilled
    case failed(ProviderFailure)
}

/// Reason why a provider's report changed nothing; returned as the error of its D-Bus call.
package enum CallReportError: Error, Hashable, Sendable {
    /// The provider is not registered.
    case unknownProvider
    /// No such call, or it has ended. Expected when reports cross.
    case unknownCall
    /// The call belongs to another provider.
    case notOwner
    /// The call cannot go from its state to the reported one.
    case illegalTransition(from: CallState, to: CallState)
    /// Seven calls are up.
    case tooManyCalls
    /// Do not disturb is on. Expected.
    case filtered
    /// A call is up and the configuration refuses a second one. Expected.
    case busy
}
