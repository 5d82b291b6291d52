package import BTCallAPI
package import Telephony

// The texts of refused requests and reports: what was wrong, and what is accepted.
extension CallDirectory {
    package static func refusal(_ error: CallReportError) -> APIError {
        switch error {
        case .unknownProvider: APIError(.noSuchProvider, "register a provider first: Calls1.RegisterProvider")
        case .unknownCall: APIError(.noSuchCall, "there is no such call, or it has ended")
        case .notOwner: APIError(.notProvider, "the call belongs to another provider: only that one may update it")
        case .illegalTransition(let old, let new): illegalTransition(old, new)
        case .tooManyCalls: tooManyCalls
        case .filtered: APIError(.filtered, "do not disturb is on: the call is refused")
        case .busy: APIError(.busy, "a call is up, and a second one is not wanted ([calls] secondCall = reject)")
        }
    }

    package static var tooManyCalls: APIError {
        APIError(.wrongState, "\(CallTable.maximumCalls) calls are up, which is the most there can be: end one first")
    }

    /// The active call cannot be held for another one.
    package static func cannotHold(_ code: APIError.Code, whileAnotherIs what: String) -> APIError {
        APIError(code, "the active call cannot be held while another one is \(what): end it first")
    }

    /// A report that does not follow from the call's present state.
    package static func illegalTransition(_ old: CallState, _ new: CallState) -> APIError {
        let next: [(CallState, String)] = [
            (.alerting, "alerting"), (.active, "active"), (.held, "held"), (.ended(.remoteHangUp), "ended"),
        ]
        let accepted = next.filter { old.mayBecome($0.0) }.map(\.1).joined(separator: ", ")
        return APIError(.wrongState, "a call that is \(old) cannot become \(new); accepted: \(accepted)")
    }

    /// Turns the result of a request into an error for a client on the bus.
    ///
    /// - Parameter dialer: name of the provider that was asked to dial, if one was named.
    package func check(_ result: CallRequestResult, dialer: String? = nil) throws(APIError) {
        switch result.outcome {
        case .done: return
        case .cancelled: throw APIError(.wrongState, "the call ended before it could be done")
        case .failed(.noSuchCall): throw APIError(.noSuchCall, "there is no call in a state that allows this")
        case .failed(.notSupported):
            throw APIError(.notSupported, "the call's provider did not register this capability")
        case .failed(.noProvider): throw noDialer(dialer)
        case .failed(.tooManyCalls): throw Self.tooManyCalls
        case .failed(.dialing):
            throw APIError(.wrongState, "a call is being dialled: wait for its answer, or end it first")
        case .failed(.provider(.refused)): throw APIError(.providerFailed, result.refusal)
        case .failed(.provider(.timedOut)): throw APIError(.timedOut, result.refusal)
        case .failed(.provider(.gone)): throw APIError(.providerFailed, "the call's provider has left the bus")
        }
    }

    /// No registered provider, or not the named one, can dial the number.
    package func noDialer(_ name: String?) -> APIError {
        let whose = name.map { "the provider \($0) cannot dial" } ?? "no registered provider can dial"
        let others = providers.isEmpty ? "" : "; registered: \(listOfSchemes)"
        return APIError(.noSuchProvider, "\(whose): start the telephony application\(others)")
    }
}

extension CallRecord {
    /// A request that the call's state does not allow.
    ///
    /// - Parameter right: the calls that accept it: `only an active call can be held`.
    package func refusal(_ right: String) -> APIError {
        APIError(.wrongState, "the call is \(description.state.rawValue), which does not allow this: \(right)")
    }

    /// A request that the call's application cannot carry out.
    package func lacks(_ capability: ProviderOptions.Capability) -> APIError {
        let others = description.capabilities.joined(separator: ", ")
        return APIError(
            .notSupported,
            "the call's provider did not register this capability for it: \(capability.rawValue); "
                + "it has \(others.isEmpty ? "none" : others)")
    }
}
