package import BTCallAPI
package import Telephony

// What is wrong with a request or a report, and what would be right, in words.
extension CallDirectory {
    package static var tooManyCalls: APIError {
        APIError(.wrongState, "\(CallTable.maximumCalls) calls are up, which is the most there can be: end one first")
    }

    /// The active call is in the way of another one.
    package static func cannotHold(_ code: APIError.Code, whileAnotherIs what: String) -> APIError {
        APIError(code, "the active call cannot be held while another one is \(what): end it first")
    }

    /// A report that does not fit what was reported before.
    package static func illegalTransition(_ old: CallState, _ new: CallState) -> APIError {
        let next: [(CallState, String)] = [
            (.alerting, "alerting"), (.active, "active"), (.held, "held"), (.ended(.remoteHangUp), "ended"),
        ]
        let accepted = next.filter { old.mayBecome($0.0) }.map(\.1).joined(separator: ", ")
        return APIError(.wrongState, "a call that is \(old) cannot become \(new); accepted: \(accepted)")
    }

    /// Nobody dials plain numbers, or not the one that was named.
    package func noDialer(_ name: String?) -> APIError {
        let whose = name.map { "the provider \($0) cannot dial" } ?? "no registered provider can dial"
        let others = providers.isEmpty ? "" : "; registered: \(listOfSchemes)"
        return APIError(.noSuchProvider, "\(whose): start the telephony application\(others)")
    }
}

extension CallRecord {
    /// A request that is for other states than the one that the call is in.
    ///
    /// - Parameter right: which calls it is for: `only an active call can be held`.
    package func refusal(_ right: String) -> APIError {
        APIError(.wrongState, "the call is \(description.state.rawValue), which does not allow this: \(right)")
    }

    /// A request that its application cannot fulfil.
    package func lacks(_ capability: ProviderOptions.Capability) -> APIError {
        let others = description.capabilities.joined(separator: ", ")
        return APIError(
            .notSupported,
            "the call's provider did not register this capability for it: \(capability.rawValue); "
                + "it has \(others.isEmpty ? "none" : others)")
    }
}
