import BluetoothTypes
import Telephony

// Lists from baresip: the calls that exist when it is found, and which of them are held.
extension BaresipFollower {
    mutating func greeted(_ text: String, _ isDone: Bool, at now: Instant, _ actions: inout [Action]) {
        connection = .following(since: now)
        isAwaySaid = false
        let found = BaresipListing.accounts(text)
        accounts = found.all
        release = found.release
        actions += [.note(.following(found.release)), .appeared]
        if !isDone {
            let remedy = "load its module menu (module_app menu.so) for calls to be controlled"
            actions.append(.note(.odd("it has no command reginfo: " + remedy)))
        }
        // One list of 1.1 has the calls of all accounts.
        let surveyed = found.release == .v1dot1 ? [""] : found.all
        jobs[0].work = .survey(Survey(accounts: surveyed, current: found.current))
        surveyAccount(&actions)
    }

    /// Continues with the next account, and finally restores the current one.
    mutating func surveyAccount(_ actions: inout [Action]) {
        guard case .survey(var survey) = jobs.first?.work else { return }
        guard !survey.accounts.isEmpty else {
            if accounts.count > 1, let current = survey.current {
                return send(.restoreAccount, "uafind", current, &actions)
            }
            return finish(nil, &actions)
        }
        survey.account = survey.accounts.removeFirst()
        jobs[0].work = .survey(survey)
        choose(survey.account, &actions)
    }

    mutating func listed(_ job: Job, _ text: String, _ actions: inout [Action]) {
        let lines = BaresipListing.lines(text)
        switch job.work {
        case .survey(var survey):
            survey.lines = lines
            survey.marked = lines.first(where: \.isCurrent)
            jobs[0].work = .survey(survey)
            surveyLine(&actions)
        case .refresh(let account):
            compare(lines, account, &actions)
            finish(nil, &actions)
        case .greet, .request, .refuse:
            guard let key = job.work.call, let index = position(key),
                let line = lines.first(where: { $0.peer == calls[index].peer && $0.state != .established })
            else { return finish(.noSuchCall, &actions) }
            if let id = line.id, self.position(id: id) == nil { calls[index].id = id }
            select(line, .line, &actions)
        }
    }

    /// Makes the call of a line the current one.
    private mutating func select(_ line: BaresipListing.Line, _ stage: Stage, _ actions: inout [Action]) {
        if let id = line.id {
            send(stage, "callfind", id, &actions)
        } else {
            send(stage, "line", String(line.number), &actions)
        }
    }

    private mutating func surveyLine(_ actions: inout [Action]) {
        guard case .survey(let survey) = jobs.first?.work else { return }
        if let line = survey.lines.first {
            select(line, .line, &actions)
        } else if let marked = survey.marked {
            select(marked, .restoreLine, &actions)
        } else {
            surveyAccount(&actions)
        }
    }

    mutating func surveyed(_ text: String, _ actions: inout [Action]) {
        guard case .survey(var survey) = jobs.first?.work, !survey.lines.isEmpty else { return finish(nil, &actions) }
        let line = survey.lines.removeFirst()
        jobs[0].work = .survey(survey)
        if let status = BaresipListing.status(text), status.peer == line.peer, position(id: status.id) == nil {
            adopt(line, status, survey.account.isEmpty ? status.account : survey.account, &actions)
        }
        surveyLine(&actions)
    }

    private mutating func adopt(
        _ line: BaresipListing.Line, _ status: BaresipListing.Status, _ account: String, _ actions: inout [Action]
    ) {
        let event = BaresipEvent(
            kind: nil, id: status.id, account: account, peer: status.peer, name: status.name,
            isOutgoing: status.isOutgoing, parameter: "")
        guard let index = bind(event, &actions) else { return }
        switch line.state {
        case .outgoing, .incoming: break
        case .ringing, .early: if status.isOutgoing { change(index, .alerting, &actions) }
        case .established:
            change(index, .active, &actions)
            if line.isOnHold { change(index, .held, &actions) }
        }
    }

    private func isLine(_ line: BaresipListing.Line, of call: Call) -> Bool {
        line.id.map { $0 == call.id } ?? (line.peer == call.peer)
    }

    /// Handles the list after baresip refused to hold or resume a call: whether it did so nevertheless.
    mutating func verified(_ job: Job, _ lines: [BaresipListing.Line], _ actions: inout [Action]) {
        guard case .request(.setHeld(let key, let held), _) = job.work, let index = position(key) else {
            return finish(.noSuchCall, &actions)
        }
        let line = lines.first { isLine($0, of: calls[index]) && $0.state == .established }
        guard let line, line.isOnHold == held else { return finish(.refused(job.refusal), &actions) }
        calls[index].state = held ? .held : .active
        finish(nil, &actions)
    }

    /// Determines which calls are held; several with the same party are distinguished by their order.
    private mutating func compare(_ lines: [BaresipListing.Line], _ account: String, _ actions: inout [Action]) {
        var rest = lines
        let hasAllAccounts = lines.contains { $0.id != nil }
        for index in calls.indices where hasAllAccounts || calls[index].account == account {
            guard let position = rest.firstIndex(where: { isLine($0, of: calls[index]) }) else { continue }
            let line = rest.remove(at: position)
            guard line.state == .established, calls[index].state == .active || calls[index].state == .held else {
                continue
            }
            change(index, line.isOnHold ? .held : .active, &actions)
        }
    }
}
