/// How a request becomes steps for providers.
extension CallTable {
    /// - Returns: the steps in order; only dialling changes the table (a call in `setup`).
    /// - Throws: why it cannot be done; nothing has changed then.
    mutating func plan(
        _ request: CallRequest, _ actions: inout [Action]
    ) throws(CallRequestFailure) -> [ProviderAction] {
        switch request {
        case .answer(let id): return try planAnswer(id)
        case .reject(let id):
            guard let call = call(id), call.state.isRinging else { throw .noSuchCall }
            return [.reject(id)]
        case .hangUp(let id):
            guard let call = call(id) else { throw .noSuchCall }
            return [call.state.isRinging ? .reject(id) : .hangUp(id)]
        case .dial(let number, let provider): return try planDial(number, provider, &actions)
        case .setHeld(let id, true):
            guard let call = call(id), call.state == .active || call.state == .held else { throw .noSuchCall }
            guard call.capabilities.contains(.hold) else { throw .notSupported }
            return [.setHeld(id, true)]
        case .setHeld(let id, false): return try planResume(id)
        case .threeWay(let action): return try planThreeWay(action)
        case .sendDTMF(let tone):
            guard let call = calls.first(where: { $0.state == .active }) else { throw .noSuchCall }
            guard call.capabilities.contains(.dtmf) else { throw .notSupported }
            return [.sendDTMF(call.id, tone)]
        case .responseAndHold: throw .notSupported
        }
    }

    private var active: [Call] { calls.filter { $0.state == .active } }
    private var held: [Call] { calls.filter { $0.state == .held } }
    private var ringing: Call? { calls.first { $0.state.isRinging } }

    /// Holding every call of `list`; nil when one of them cannot be held.
    private func holding(_ list: [Call]) -> [ProviderAction]? {
        guard list.allSatisfy({ $0.capabilities.contains(.hold) }) else { return nil }
        return list.map { .setHeld($0.id, true) }
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
        let able = providers.first { $0.capabilities.contains(.dial) && (name == nil || $0.name == name) }
        guard let provider = able else { throw .noProvider }
        guard let room = holding(active) else { throw .notSupported }
        let details = CallDetails(number: number)
        guard let call = add(details, direction: .outgoing, state: .setup, provider: provider) else {
            throw .tooManyCalls
        }
        actions.append(.added(call))
        return room + [.start(call.id, number: number)]
    }

    private func planThreeWay(_ action: ThreeWayAction) throws(CallRequestFailure) -> [ProviderAction] {
        switch action {
        case .releaseHeldOrRejectWaiting:
            if let ringing { return [.reject(ringing.id)] }
            guard !held.isEmpty else { throw .noSuchCall }
            return held.map { .hangUp($0.id) }
        case .releaseActiveAndAcceptOther:
            guard ringing != nil || !held.isEmpty || !active.isEmpty else { throw .noSuchCall }
            let release = active.map { ProviderAction.hangUp($0.id) }
            let accept = ringing.map { [.answer($0.id)] } ?? held.map { ProviderAction.setHeld($0.id, false) }
            return release + accept
        case .release(let index):
            guard let call = calls.first(where: { $0.index == index }), call.state == .active || call.state == .held
            else { throw .noSuchCall }
            return [.hangUp(call.id)]
        case .holdActiveAndAcceptOther:
            if let ringing { return try planAnswer(ringing.id) }
            if !held.isEmpty { return try planSwap(resume: held) }
            guard !active.isEmpty else { throw .noSuchCall }
            guard let room = holding(active) else { throw .notSupported }
            return room
        case .consult(let index):
            guard let call = calls.first(where: { $0.index == index }), call.state == .active || call.state == .held
            else { throw .noSuchCall }
            guard call.state == .active else { return try planSwap(resume: [call]) }
            guard let room = holding(active.filter { $0.id != call.id }) else { throw .notSupported }
            return room
        case .join: return try planTogether(.conference) { .conference($0) }
        case .transfer: return try planTogether(.transfer) { .transfer($0) }
        }
    }

    /// Holds what is active and resumes `list`; in one step where the provider can.
    private func planSwap(resume list: [Call]) throws(CallRequestFailure) -> [ProviderAction] {
        if active.count == 1, list.count == 1, let old = active.first, let new = list.first,
            old.provider == new.provider, old.capabilities.contains(.swap), new.capabilities.contains(.swap)
        {
            return [.swap(hold: old.id, resume: new.id)]
        }
        guard let room = holding(active) else { throw .notSupported }
        return room + list.map { .setHeld($0.id, false) }
    }

    /// An active and a held call of one provider that can do `capability`.
    private func planTogether(
        _ capability: CallCapabilities, _ make: ([CallID]) -> ProviderAction
    ) throws(CallRequestFailure) -> [ProviderAction] {
        guard !active.isEmpty, !held.isEmpty else { throw .noSuchCall }
        let all = active + held
        guard Set(all.map(\.provider)).count == 1, all.allSatisfy({ $0.capabilities.contains(capability) }) else {
            throw .notSupported
        }
        return [make(all.map(\.id).sorted())]
    }
}
