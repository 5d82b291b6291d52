import BluetoothTypes
import Telephony

// Lists from baresip: the calls that exist when it is found, and which of them are held.
extension BaresipFollower {
    mutating func greeted(_ text: String, _ isDone: Bool, at now: Instant, _ actions: inout [Action]) {
        connection = .following(since: now)
        isAwaySaid = false
        actions += [.note(.following), .appeared]
        if !isDone {
            let remedy = "load its module menu (module_app menu.so) for calls to be controlled"
            actions.append(.note(.odd("it has no command reginfo: " + remedy)))
        }
        let found = BaresipListing.accounts(text)
        accounts = found.all
        jobs[0].work = .survey(Survey(accounts: found.all, current: found.current))
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
            survey.marked = lines.first(where: \.isCurrent)?.number
            jobs[0].work = .survey(survey)
            surveyLine(&actions)
        case .refresh(let account):
            compare(lines, account, &actions)
            finish(nil, &actions)
        case .greet, .request, .refuse:
            guard let key = job.work.call, let index = position(key),
                let line = lines.first(where: { $0.peer == calls[index].peer && $0.state != .established })
            else { return finish(.noSuchCall, &actions) }
            send(.line, "line", String(line.number), &actions)
        }
    }

    private mutating func surveyLine(_ actions: inout [Action]) {
        guard case .survey(let survey) = jobs.first?.work else { return }
        if let line = survey.lines.first {
            send(.line, "line", String(line.number), &actions)
        } else if let marked = survey.marked {
            send(.restoreLine, "line", String(marked), &actions)
        } else {
            surveyAccount(&actions)
        }
    }

    mutating func surveyed(_ text: String, _ actions: inout [Action]) {
        guard case .survey(var survey) = jobs.first?.work, !survey.lines.isEmpty else { return finish(nil, &actions) }
        let line = survey.lines.removeFirst()
        jobs[0].work = .survey(survey)
        if let status = BaresipListing.status(text), status.peer == line.peer, position(id: status.id) == nil {
            adopt(line, status, survey.account, &actions)
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

    /// Determines which calls are held; several with the same party are distinguished by their order.
    private mutating func compare(_ lines: [BaresipListing.Line], _ account: String, _ actions: inout [Action]) {
        var rest = lines
        for index in calls.indices where calls[index].account == account {
            guard let position = rest.firstIndex(where: { $0.peer == calls[index].peer }) else { continue }
            let line = rest.remove(at: position)
            guard line.state == .established, calls[index].state == .active || calls[index].state == .held else {
                continue
            }
            change(index, line.isOnHold ? .held : .active, &actions)
        }
    }
}
