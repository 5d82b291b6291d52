/// Reports of providers.
extension CallTable {
    /// Registers a provider, or changes its capabilities; its existing calls keep theirs.
    package mutating func register(_ provider: CallProvider) {
        if let position = providers.firstIndex(where: { $0.name == provider.name }) {
            providers[position] = provider
        } else {
            providers.append(provider)
        }
    }

    /// Removes a provider that left the bus or unregistered: its calls end, its open actions fail.
    package mutating func providerGone(_ name: String) -> [Action] {
        var actions: [Action] = []
        providers.removeAll { $0.name == name }
        for call in calls where call.provider == name {
            setState(call.id, .ended(.providerGone), &actions)
        }
        for procedure in procedures where procedure.provider == name {
            finish(procedure.inFlight, .failed(.gone), &actions)
        }
        settle(&actions)
        return actions
    }

    /// Adds a new ringing call.
    ///
    /// - Returns: the id of the new call and the actions to perform.
    /// - Throws: `unknownProvider`, `filtered`, `busy`, `tooManyCalls`; nothing has changed then.
    package mutating func reportIncoming(
        _ details: CallDetails, from name: String
    ) throws(CallReportError) -> (id: CallID, actions: [Action]) {
        guard let provider = provider(name) else { throw .unknownProvider }
        guard !configuration.doNotDisturb else { throw .filtered }
        guard configuration.secondCall == .wait || !calls.contains(where: \.isShown) else { throw .busy }
        let state = calls.allSatisfy { $0.state == .setup || !$0.isShown } ? CallState.incoming : .waiting
        return try report(details, direction: .incoming, state: state, provider: provider)
    }

    /// Adds a call that the provider began without a request.
    ///
    /// - Returns: the id of the new call and the actions to perform.
    /// - Throws: `unknownProvider`, `tooManyCalls`; nothing has changed then.
    package mutating func reportOutgoing(
        _ details: CallDetails, from name: String
    ) throws(CallReportError) -> (id: CallID, actions: [Action]) {
        guard let provider = provider(name) else { throw .unknownProvider }
        return try report(details, direction: .outgoing, state: .dialing, provider: provider)
    }

    private mutating func report(
        _ details: CallDetails, direction: CallDirection, state: CallState, provider: CallProvider
    ) throws(CallReportError) -> (id: CallID, actions: [Action]) {
        guard let call = add(details, direction: direction, state: state, provider: provider) else {
            throw .tooManyCalls
        }
        var actions: [Action] = [.added(call)]
        settle(&actions)
        return (call.id, actions)
    }

    /// Changes a call's state. `incoming` and `waiting` are the same report for a ringing call.
    ///
    /// - Throws: `unknownCall`, `notOwner`, `illegalTransition`; nothing has changed then.
    package mutating func update(
        _ id: CallID, _ state: CallState, from name: String
    ) throws(CallReportError) -> [Action] {
        let call = try ownCall(id, name)
        guard call.state.mayBecome(state) else { throw .illegalTransition(from: call.state, to: state) }
        guard !(call.state.isRinging && state.isRinging) else { return [] }
        var actions: [Action] = []
        setState(id, state, &actions)
        if state == .active, call.state != .active, call.isShown {
            holdOthers(than: id, provider: name, &actions)
        }
        settle(&actions)
        return actions
    }

    /// Changes name, number, video or capabilities; nil parts stay unchanged.
    ///
    /// - Throws: `unknownCall`, `notOwner`.
    package mutating func update(
        _ id: CallID, _ details: CallDetails, from name: String
    ) throws(CallReportError) -> [Action] {
        _ = try ownCall(id, name)
        var actions: [Action] = []
        change(id, &actions) { call in
            call.details.numberType = details.number == nil ? call.details.numberType : details.numberType
            call.details.number = details.number ?? call.details.number
            call.details.name = details.name ?? call.details.name
            call.details.hasVideo = details.hasVideo
            call.details.remoteAddress = details.remoteAddress ?? call.details.remoteAddress
            call.capabilities = details.capabilities ?? call.capabilities
        }
        return actions
    }

    /// Records that the provider joined calls, or split one off.
    ///
    /// - Throws: `unknownCall`, `notOwner`.
    package mutating func update(
        _ id: CallID, isConference: Bool, from name: String
    ) throws(CallReportError) -> [Action] {
        _ = try ownCall(id, name)
        var actions: [Action] = []
        change(id, &actions) { $0.isConference = isConference }
        // The first of two partners has to wait for the second report, so marks are not settled here.
        return actions
    }

    /// Ends a call.
    ///
    /// - Throws: `unknownCall`, `notOwner`.
    package mutating func ended(
        _ id: CallID, _ reason: CallEndReason, from name: String
    ) throws(CallReportError) -> [Action] {
        try update(id, .ended(reason), from: name)
    }

    private func ownCall(_ id: CallID, _ name: String) throws(CallReportError) -> Call {
        guard let call = call(id) else { throw .unknownCall }
        guard call.provider == name else { throw .notOwner }
        return call
    }

    /// Holds the active calls of other providers that can hold, once each.
    private mutating func holdOthers(than id: CallID, provider name: String, _ actions: inout [Action]) {
        for other in calls where other.state == .active && other.id != id && other.provider != name {
            let hold = ProviderAction.setHeld(other.id, true)
            guard other.capabilities.contains(.hold) else { continue }
            guard !procedures.contains(where: { $0.remaining.contains(hold) }) else { continue }
            begin(Plan([hold]), nil, &actions)
        }
    }
}
