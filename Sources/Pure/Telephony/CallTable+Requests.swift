/// Requests of headsets, the command line and D-Bus clients, and answers of providers.
extension CallTable {
    /// Plans the steps and begins them.
    ///
    /// A request for an action already in progress joins it: however many headsets answer a call, its provider is asked
    /// once.
    ///
    /// - Parameter id: not in use by another open request; returned in `.completed`, exactly once.
    package mutating func request(_ request: CallRequest, id: CallRequestID) -> [Action] {
        begin(request, id: id).actions
    }

    /// Begins a request and also returns the new call.
    ///
    /// - Returns: the call of a request to dial, in `setup`; nil for any other request, and for one that fails at once.
    package mutating func begin(
        _ request: CallRequest, id: CallRequestID
    ) -> (call: CallID?, actions: [Action]) {
        var actions: [Action] = []
        do throws(CallRequestFailure) {
            let plan = try plan(request, &actions)
            if let position = procedures.firstIndex(where: { $0.plan == plan && $0.canBeShared }) {
                procedures[position].requests.append(id)
            } else {
                begin(plan, id, &actions)
            }
        } catch {
            actions.append(.completed(id, .failed(error)))
        }
        settle(&actions)
        return (actions.lazy.compactMap(\.added).first, actions)
    }

    /// Requests served by this action, in order: none after its answer, and none for the table's own actions.
    package func requests(for action: ProviderActionID) -> [CallRequestID] {
        procedures.first { $0.inFlight == action }?.requests ?? []
    }

    /// Handles a provider's answer, failure or timeout. An id that is not open changes nothing.
    package mutating func providerAnswered(_ id: ProviderActionID, _ answer: ProviderAnswer) -> [Action] {
        var actions: [Action] = []
        finish(id, answer, &actions)
        settle(&actions)
        return actions
    }

    // MARK: Steps

    /// - Parameter plan: the outcome is `done` at once when no step is needed.
    mutating func begin(_ plan: Plan, _ id: CallRequestID?, _ actions: inout [Action]) {
        let requests = id.map { [$0] } ?? []
        let procedure = Procedure(
            plan: plan, remaining: plan.steps, inFlight: ProviderActionID(0), provider: "", requests: requests)
        advance(procedure, &actions)
    }

    mutating func finish(_ id: ProviderActionID, _ answer: ProviderAnswer, _ actions: inout [Action]) {
        guard let position = procedures.firstIndex(where: { $0.inFlight == id }) else { return }
        var procedure = procedures.remove(at: position)
        guard let step = procedure.remaining.first else { return }
        procedure.remaining.removeFirst()
        switch answer {
        case .fulfilled:
            apply(step, &actions)
            // The call ended meanwhile: nobody is on hold or resumed, whatever the provider reports.
            if procedure.remaining.isEmpty, step.changesHold, step.calls.allSatisfy({ call($0) == nil }) {
                complete(procedure, .cancelled, &actions)
            } else {
                advance(procedure, &actions)
            }
        case .failed(let failure):
            let gone = !step.calls.contains { call($0) != nil }
            if case .start(let call, _) = step {
                setState(call, .ended(.error), &actions)
            }
            if gone, step.endsCall {
                advance(procedure, &actions)
            } else {
                complete(procedure, gone && failure != .gone ? .cancelled : .failed(.provider(failure)), &actions)
            }
        }
    }

    /// Sends the next step that is still needed to its provider, or completes the requests.
    private mutating func advance(_ procedure: Procedure, _ actions: inout [Action]) {
        var procedure = procedure
        while let step = procedure.remaining.first {
            let alive = step.calls.compactMap { call($0) }
            if alive.count == step.calls.count, let owner = alive.first?.provider {
                guard !isAlreadySo(step) else {
                    procedure.remaining.removeFirst()
                    continue
                }
                procedure.inFlight = nextAction()
                procedure.provider = owner
                procedures.append(procedure)
                actions.append(.perform(step, provider: owner, id: procedure.inFlight))
                return
            }
            guard step.endsCall || step.isHold else {
                abandonStart(procedure, &actions)
                complete(procedure, .cancelled, &actions)
                return
            }
            procedure.remaining.removeFirst()
        }
        complete(procedure, .done, &actions)
    }

    private mutating func complete(
        _ procedure: Procedure, _ outcome: CallRequestOutcome, _ actions: inout [Action]
    ) {
        if outcome != .done {
            abandonStart(procedure, &actions)
        } else if let split = procedure.plan.split {
            change(split, &actions) { $0.isConference = false }
        }
        for request in procedure.requests {
            actions.append(.completed(request, outcome))
        }
    }

    /// Removes a call that a later step would have started.
    private mutating func abandonStart(_ procedure: Procedure, _ actions: inout [Action]) {
        for step in procedure.remaining {
            if case .start(let id, _) = step { setState(id, .ended(.cancelled), &actions) }
        }
    }

    /// Applies a fulfilled step to the calls, except parts that reports have already changed.
    private mutating func apply(_ step: ProviderAction, _ actions: inout [Action]) {
        switch step {
        case .start(let id, _):
            if call(id)?.state == .setup { setState(id, .dialing, &actions) }
        case .answer(let id):
            if call(id)?.state.isRinging == true { setState(id, .active, &actions) }
        case .reject(let id):
            setState(id, .ended(.rejected), &actions)
        case .hangUp(let id):
            setState(id, .ended(.localHangUp), &actions)
        case .giveUp(let id):
            setState(id, .ended(.missed), &actions)
        case .setHeld(let id, let held):
            move(id, from: held ? .active : .held, to: held ? .held : .active, &actions)
        case .swap(let hold, let resume):
            move(hold, from: .active, to: .held, &actions)
            move(resume, from: .held, to: .active, &actions)
        case .sendDTMF:
            break
        case .conference(let ids):
            for id in ids {
                change(id, &actions) { call in
                    call.isConference = true
                    if call.state == .held { call.state = .active }
                }
            }
        }
    }

    private mutating func move(
        _ id: CallID, from: CallState, to: CallState, _ actions: inout [Action]
    ) {
        if call(id)?.state == from { setState(id, to, &actions) }
    }

    /// Whether a report has already done this step.
    private func isAlreadySo(_ step: ProviderAction) -> Bool {
        switch step {
        case .answer(let id): call(id)?.state == .active
        case .setHeld(let id, let held): call(id)?.state == (held ? .held : .active)
        case .start, .reject, .hangUp, .giveUp, .swap, .sendDTMF, .conference: false
        }
    }
}

extension CallTable.Procedure {
    /// Two requests for the same state share one action; the same tones twice are sent twice.
    fileprivate var canBeShared: Bool {
        !plan.steps.contains { step in
            if case .sendDTMF = step { true } else { false }
        }
    }
}

extension ProviderAction {
    fileprivate var changesHold: Bool {
        if case .setHeld = self { true } else { false }
    }

    /// Makes room for another call: unnecessary, and no obstacle, when the call is gone.
    fileprivate var isHold: Bool {
        if case .setHeld(_, true) = self { true } else { false }
    }
}
