/// What headsets, the command line and D-Bus clients want, and what providers answer.
extension CallTable {
    /// Works out the steps and begins them.
    ///
    /// A request that another one already has on its way joins it: however many headsets answer a call, its provider is
    /// asked once.
    ///
    /// - Parameter id: not in use by another open request; comes back in `.completed`, exactly once.
    package mutating func request(_ request: CallRequest, id: CallRequestID) -> [Action] {
        begin(request, id: id).actions
    }

    /// The same, for who wants to know which call comes of it.
    ///
    /// - Returns: the call that a request to dial makes, in `setup`; nil for any other request, and for one that fails at
    ///   once.
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

    /// The requests that a provider was asked for by this action, in order: none after its answer, and for what the table
    /// wants by itself.
    package func requests(for action: ProviderActionID) -> [CallRequestID] {
        procedures.first { $0.inFlight == action }?.requests ?? []
    }

    /// A provider answered, failed, or its time ran out. An id that is not open changes nothing.
    package mutating func providerAnswered(_ id: ProviderActionID, _ answer: ProviderAnswer) -> [Action] {
        var actions: [Action] = []
        finish(id, answer, &actions)
        settle(&actions)
        return actions
    }

    // MARK: Steps

    /// - Parameter plan: the outcome is `done` at once when no step has a point.
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
            // Nobody is on hold, or back, whatever the provider says of a call that ended meanwhile.
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

    /// Sends the next step that still has a point to its provider, or completes the requests.
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

    /// A call that was to be started by a later step does not come to be.
    private mutating func abandonStart(_ procedure: Procedure, _ actions: inout [Action]) {
        for step in procedure.remaining {
            if case .start(let id, _) = step { setState(id, .ended(.cancelled), &actions) }
        }
    }

    /// What a fulfilled step means for the calls; parts that reports have overtaken are left out.
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
        case .transfer(let ids):
            for id in ids { setState(id, .ended(.transferred), &actions) }
        }
    }

    private mutating func move(
        _ id: CallID, from: CallState, to: CallState, _ actions: inout [Action]
    ) {
        if call(id)?.state == from { setState(id, to, &actions) }
    }

    /// A report has overtaken the step.
    private func isAlreadySo(_ step: ProviderAction) -> Bool {
        switch step {
        case .answer(let id): call(id)?.state == .active
        case .setHeld(let id, let held): call(id)?.state == (held ? .held : .active)
        case .start, .reject, .hangUp, .giveUp, .swap, .sendDTMF, .conference, .transfer: false
        }
    }
}

extension CallTable.Procedure {
    /// Two requests for the same state want one action; the same tones twice are twice the tones.
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

    /// Making room for another call: pointless, and no obstacle, when the call is gone.
    fileprivate var isHold: Bool {
        if case .setHeld(_, true) = self { true } else { false }
    }
}
