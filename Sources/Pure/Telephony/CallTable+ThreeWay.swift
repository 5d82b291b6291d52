/// Conversion of requests to steps for providers.
extension CallTable {
    /// - Returns: the steps in order; only dialling changes the table (a call in `setup`).
    /// - Throws: the reason why it is not possible; nothing has changed then.
    mutating func plan(_ request: CallRequest, _ actions: inout [Action]) throws(CallRequestFailure) -> Plan {
        switch request {
        case .answer(let id): return Plan(try planAnswer(id))
        case .reject(let id):
            guard let call = call(id), call.state.isRinging else { throw .noSuchCall }
            return Plan([.reject(id)])
        case .hangUp(let id):
            guard let call = call(id) else { throw .noSuchCall }
            return Plan(conversation(of: call).map { $0.state.isRinging ? .reject($0.id) : .hangUp($0.id) })
        case .end(let id):
            guard let call = call(id) else { throw .noSuchCall }
            return Plan([call.state.isRinging ? .reject(id) : .hangUp(id)])
        case .giveUp(let id):
            // A call that is already being answered is not rejected.
            guard let call = call(id), call.state.isRinging, !isBeingAnswered(id) else { throw .noSuchCall }
            return Plan([.giveUp(id)])
        case .dial(let number, let provider): return Plan(try planDial(number, provider, &actions))
        case .setHeld(let id, true):
            guard let call = call(id), call.state == .active || call.state == .held else { throw .noSuchCall }
            guard call.capabilities.contains(.hold) else { throw .notSupported }
            return Plan([.setHeld(id, true)])
        case .setHeld(let id, false): return Plan(try planResume(id))
        case .threeWay(let action): return try planThreeWay(action)
        case .sendDTMF(let tones, let id):
            let isMeant = { (call: Call) in id == nil ? call.isShown : call.id == id }
            guard let call = calls.first(where: { $0.state == .active && isMeant($0) }) else { throw .noSuchCall }
            guard call.capabilities.contains(.dtmf) else { throw .notSupported }
            return Plan([.sendDTMF(call.id, tones)])
        case .responseAndHold: throw .notSupported
        }
    }

    private func isBeingAnswered(_ id: CallID) -> Bool {
        procedures.contains { $0.remaining.contains(.answer(id)) }
    }

    private var active: [Call] { calls.filter { $0.state == .active } }
    private var held: [Call] { calls.filter { $0.state == .held } }
    private var ringing: Call? { calls.first { $0.state.isRinging } }
    /// The held call that a request refers to: the one with the lowest index, with all of its multiparty call.
    private var heldParty: [Call] {
        guard let first = held.min(by: { $0.index < $1.index }) else { return [] }
        guard first.isConference else { return [first] }
        return held.filter { $0.isConference && $0.provider == first.provider }
    }
    /// The call, followed by those in conference with it.
    private func conversation(of call: Call) -> [Call] {
        guard call.isConference else { return [call] }
        return [call]
            + calls.filter {
                $0.id != call.id && $0.isConference && $0.provider == call.provider && $0.state == call.state
            }
    }
    /// Dialled and not answered yet.
    private var outgoing: [Call] { calls.filter { $0.state == .dialing || $0.state == .alerting } }

    /// Steps to hold every call of `list`; nil when one of them cannot be held. A call not shown to headsets is ended
    /// instead.
    private func holding(_ list: [Call]) -> [ProviderAction]? {
        guard list.allSatisfy({ $0.capabilities.contains(.hold) || !$0.isShown }) else { return nil }
        return list.map { $0.capabilities.contains(.hold) ? .setHeld($0.id, true) : .hangUp($0.id) }
    }

    private func planAnswer(_ id: CallID) throws(CallRequestFailure) -> [ProviderAction] {
        guard let call = call(id), call.state.isRinging else { throw .noSuchCall }
        guard let room = holding(active) else { throw .notSupported }
        return room + [.answer(id)]
    }

    private func planResume(_ id: CallID) throws(CallRequestFailure) -> [ProviderAction] {
        guard let call = call(id), call.state == .active || call.state == .held else { throw .noSuchCall }
        guard call.state == .held else { return [] }
        return try planSwap(resume: [call])
    }

    private mutating func planDial(
        _ number: String, _ name: String?, _ actions: inout [Action]
    ) throws(CallRequestFailure) -> [ProviderAction] {
        let able = providers.first { provider in
            provider.capabilities.contains(.dial) && (name.map { provider.name == $0 } ?? provider.dialsNumbers)
        }
        guard let provider = able else { throw .noProvider }
        // A user dials one number at a time: a second one is a button pressed twice.
        guard !calls.contains(where: { $0.isShown && $0.state.isOutgoingSetup }) else { throw .dialing }
        guard let room = holding(active) else { throw .notSupported }
        let details = CallDetails(number: number)
        guard let call = add(details, direction: .outgoing, state: .setup, provider: provider) else {
            throw .tooManyCalls
        }
        actions.append(.added(call))
        return room + [.start(call.id, number: number)]
    }

    /// Plans AT+CHLD (3GPP TS 22.030 §6.5.5.1). With both a held and a waiting call, it refers to the waiting one.
    private func planThreeWay(_ action: ThreeWayAction) throws(CallRequestFailure) -> Plan {
        switch action {
        case .releaseHeldOrRejectWaiting:
            if let ringing { return Plan([.reject(ringing.id)]) }
            guard !held.isEmpty else { throw .noSuchCall }
            return Plan(held.map { .hangUp($0.id) })
        case .releaseActiveAndAcceptOther:
            // A call being dialled blocks the other one just like an active call.
            let inTheWay = active + outgoing
            guard ringing != nil || !held.isEmpty || !inTheWay.isEmpty else { throw .noSuchCall }
            let release = inTheWay.map { ProviderAction.hangUp($0.id) }
            let accept = ringing.map { [.answer($0.id)] } ?? heldParty.map { ProviderAction.setHeld($0.id, false) }
            return Plan(release + accept)
        case .release(let index):
            guard let call = calls.first(where: { $0.index == index }), call.state != .setup, !call.state.isRinging
            else { throw .noSuchCall }
            return Plan([.hangUp(call.id)])
        case .holdActiveAndAcceptOther:
            if let ringing { return Plan(try planAnswer(ringing.id)) }
            // A call being dialled cannot be held, and there is room for one call only.
            guard outgoing.isEmpty else { throw .noSuchCall }
            if !held.isEmpty { return Plan(try planSwap(resume: heldParty)) }
            guard !active.isEmpty else { throw .noSuchCall }
            guard let room = holding(active) else { throw .notSupported }
            return Plan(room)
        case .consult(let index):
            guard outgoing.isEmpty, let call = calls.first(where: { $0.index == index }),
                call.state == .active || call.state == .held
            else { throw .noSuchCall }
            guard call.state == .active else { return Plan(try planSwap(resume: [call]), split: call.id) }
            guard let room = holding(active.filter { $0.id != call.id }) else { throw .notSupported }
            return Plan(room, split: call.id)
        case .join: return Plan(try planConference())
        case .transfer: throw .notSupported
        }
    }

    /// Steps to hold the active calls and resume `list`; one step where the provider can swap.
    private func planSwap(resume list: [Call]) throws(CallRequestFailure) -> [ProviderAction] {
        if active.count == 1, list.count == 1, let old = active.first, let new = list.first,
            old.provider == new.provider, old.capabilities.contains(.swap), new.capabilities.contains(.swap)
        {
            return [.swap(hold: old.id, resume: new.id)]
        }
        guard let room = holding(active) else { throw .notSupported }
        return room + list.map { .setHeld($0.id, false) }
    }

    /// Joins an active and a held call of one provider.
    private func planConference() throws(CallRequestFailure) -> [ProviderAction] {
        guard !active.isEmpty, !held.isEmpty else { throw .noSuchCall }
        let all = active + heldParty
        guard Set(all.map(\.provider)).count == 1, all.allSatisfy({ $0.capabilities.contains(.conference) }) else {
            throw .notSupported
        }
        return [.conference(all.map(\.id).sorted())]
    }
}
