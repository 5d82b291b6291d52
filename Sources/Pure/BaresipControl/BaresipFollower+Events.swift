package import BluetoothTypes
import JSONText
import Telephony

// Messages from baresip.
extension BaresipFollower {
    package mutating func received(_ bytes: [UInt8], at now: Instant) -> [Action] {
        guard isConnected else { return [] }
        var actions: [Action] = []
        reader.append(bytes)
        while isConnected {
            do throws(NetstringReader.Problem) {
                guard let contents = try reader.next() else { break }
                handle(contents, at: now, &actions)
            } catch {
                abandon("it sends something other than netstrings", at: now, &actions)
            }
        }
        return actions
    }

    var isConnected: Bool {
        switch connection {
        case .stopped, .pausing, .connecting: false
        case .greeting, .following: true
        }
    }

    private mutating func handle(_ contents: [UInt8], at now: Instant, _ actions: inout [Action]) {
        let value: JSON
        do throws(JSONError) {
            value = try JSON(reading: contents, rules: .lenient)
        } catch {
            if case .greeting = connection {
                abandon("it sends invalid JSON: \(error)", at: now, &actions)
            } else {
                actions.append(.note(.odd("a message is not valid JSON: \(error)")))
            }
            return
        }
        switch BaresipMessage(value) {
        case nil: actions.append(.note(.odd("a message is neither an answer nor an event")))
        case .event(let event): handle(event, at: now, &actions)
        case .response(let token, let isDone, let text):
            guard let token, var job = jobs.first, job.token == token else { return }
            job.token = nil
            jobs[0] = job
            proceed(job, isDone, text, at: now, &actions)
        }
    }

    private mutating func handle(_ event: BaresipEvent, at now: Instant, _ actions: inout [Action]) {
        note(event.account)
        switch event.kind {
        case nil, .toneBegan: return
        case .exit: hasSaidGoodbye = true
        case .incoming:
            guard let id = event.id, position(id: id) == nil else { return }
            add(.incoming, event, .incoming, &actions)
        case .localDescription:
            guard event.isOutgoing, event.id == nil else { return }
            beganToDial(event, &actions)
        case .ringing, .progress:
            guard event.isOutgoing, let index = bind(event, &actions) else { return }
            if calls[index].state == .setup || calls[index].state == .dialing { change(index, .alerting, &actions) }
        case .established:
            guard let index = bind(event, &actions) else { return }
            established(index, &actions)
            // Answering holds the previous call.
            if calls.count > 1 { refresh(event.account, at: now, &actions) }
        case .remoteDescription:
            guard event.parameter == "answer", let id = event.id, let index = position(id: id) else { return }
            let isUp = calls[index].state == .active || calls[index].state == .held
            if isUp { refresh(calls[index].account, at: now, &actions) }
        case .closed:
            guard let index = knownPosition(event) else { return }
            closed(index, event, &actions)
        }
    }

    /// Records an account that was added later.
    mutating func note(_ account: String) {
        guard !account.isEmpty, !accounts.contains(account), accounts.count < Self.mostAccounts else { return }
        accounts.append(account)
    }

    func position(id: String) -> Int? { calls.firstIndex { $0.id == id } }
    func position(_ key: CallKey) -> Int? { calls.firstIndex { $0.key == key } }

    /// Finds the call with the event's id; an outgoing one without an id is identified by its peer.
    private func knownPosition(_ event: BaresipEvent) -> Int? {
        guard let id = event.id else { return nil }
        if let index = position(id: id) { return index }
        guard event.isOutgoing else { return nil }
        return calls.firstIndex { $0.id == nil && $0.peer == event.peer }
            ?? calls.firstIndex { $0.id == nil && $0.peer.isEmpty }
    }

    /// Finds the event's call and assigns its id; a new call is added with its initial state.
    mutating func bind(_ event: BaresipEvent, _ actions: inout [Action]) -> Int? {
        guard let id = event.id else { return nil }
        if let index = knownPosition(event) {
            calls[index].id = id
            calls[index].account = event.account
            calls[index].peer = event.peer
            return index
        }
        add(event.isOutgoing ? .outgoing : .incoming, event, event.isOutgoing ? .dialing : .incoming, &actions)
        return position(id: id)
    }

    mutating func newKey() -> CallKey {
        defer { nextCall &+= 1 }
        return CallKey(value: nextCall)
    }

    mutating func add(
        _ direction: CallDirection, _ event: BaresipEvent, _ state: CallState, _ actions: inout [Action]
    ) {
        // Limits a peer that begins calls without end to the number that can be shown.
        guard calls.count < 2 * CallTable.maximumCalls else { return }
        let key = newKey()
        calls.append(
            Call(key: key, direction: direction, id: event.id, account: event.account, peer: event.peer, state: state))
        actions.append(.added(key, direction, BaresipPeer(uri: event.peer, name: event.name), state))
    }

    /// Handles the call that baresip was asked to dial, or one of its own.
    private mutating func beganToDial(_ event: BaresipEvent, _ actions: inout [Action]) {
        if case .request(.dial(let key, _), _) = jobs.first?.work, let index = position(key), calls[index].peer.isEmpty
        {
            calls[index].peer = event.peer
            calls[index].account = event.account
            return
        }
        add(.outgoing, event, .dialing, &actions)
    }

    mutating func change(_ index: Int, _ state: CallState, _ actions: inout [Action]) {
        guard calls[index].state != state else { return }
        calls[index].state = state
        actions.append(.changed(calls[index].key, state))
    }

    mutating func established(_ index: Int, _ actions: inout [Action]) {
        let key = calls[index].key
        if calls[index].state != .held { change(index, .active, &actions) }
        for answer in answers where answer.call == key { actions.append(.completed(answer.request, nil)) }
        answers.removeAll { $0.call == key }
    }

    private mutating func closed(_ index: Int, _ event: BaresipEvent, _ actions: inout [Action]) {
        let call = calls.remove(at: index)
        let wasAnswered = call.state == .active || call.state == .held
        let reason = call.endReason ?? event.endReason(wasAnswered: wasAnswered)
        actions.append(.changed(call.key, .ended(reason)))
        for answer in answers where answer.call == call.key { actions.append(.completed(answer.request, .noSuchCall)) }
        answers.removeAll { $0.call == call.key }
    }
}
