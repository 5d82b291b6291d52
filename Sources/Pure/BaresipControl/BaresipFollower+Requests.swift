package import BluetoothTypes
import Telephony

// Requests of headsets and clients, and baresip's commands for them.
extension BaresipFollower {
    /// Dials a number.
    ///
    /// - Parameter id: returned in `.completed`, exactly once.
    /// - Returns: the name of the new call.
    package mutating func dial(_ number: String, id: RequestID, at now: Instant) -> (call: CallKey, actions: [Action]) {
        let key = newKey()
        guard isFollowing else { return (key, [.completed(id, .away)]) }
        let isPlain = number.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, !number.isEmpty, number.utf8.count <= 200 else {
            return (key, [.completed(id, .invalid("a number to dial has 1 to 200 visible ASCII characters"))])
        }
        calls.append(
            Call(key: key, direction: .outgoing, id: nil, account: account ?? "", peer: "", state: .setup))
        var actions: [Action] = []
        add(.request(.dial(key, number), id), at: now, &actions)
        return (key, actions)
    }

    /// - Parameter id: returned in `.completed`, exactly once.
    package mutating func request(_ request: Request, id: RequestID, at now: Instant) -> [Action] {
        guard isFollowing else { return [.completed(id, .away)] }
        if case .sendTones(_, let tones) = request {
            let isPlain = tones.utf8.allSatisfy { "0123456789ABCD*#".utf8.contains($0) }
            guard isPlain, (1...64).contains(tones.utf8.count) else {
                return [.completed(id, .invalid("tones are 0 to 9, A to D, * and #"))]
            }
        }
        var actions: [Action] = []
        add(.request(request, id), at: now, &actions)
        return actions
    }

    /// Refuses a call that must not ring here.
    package mutating func refuse(_ key: CallKey, at now: Instant) -> [Action] {
        guard isFollowing, position(key) != nil else { return [] }
        var actions: [Action] = []
        add(.refuse(key), at: now, &actions)
        return actions
    }

    private var isFollowing: Bool {
        if case .following = connection { true } else { false }
    }

    mutating func refresh(_ account: String, at now: Instant, _ actions: inout [Action]) {
        // One list of 1.1 has the calls of all accounts.
        let account = release == .v1dot1 ? "" : account
        let isWaiting = jobs.dropFirst().contains { job in
            if case .refresh(let other) = job.work { other == account } else { false }
        }
        if !isWaiting { add(.refresh(account: account), at: now, &actions) }
    }

    // MARK: Commands

    mutating func add(_ work: Work, at now: Instant, _ actions: inout [Action]) {
        let job = Job(work: work, deadline: now.advanced(by: Self.answerTimeout))
        guard jobs.count < Self.mostWaiting else {
            return fail(job, .refused("\(jobs.count) commands wait for baresip"), &actions)
        }
        jobs.append(job)
        if jobs.count == 1 { begin(&actions) }
    }

    mutating func send(_ stage: Stage, _ command: String, _ actions: inout [Action]) {
        send(stage, command, nil, &actions)
    }

    mutating func send(
        _ stage: Stage, _ command: String, _ parameters: String?, _ actions: inout [Action]
    ) {
        guard !jobs.isEmpty else { return }
        let token = String(nextToken)
        nextToken += 1
        jobs[0].stage = stage
        jobs[0].token = token
        actions.append(.send(command: command, parameters: parameters, token: token))
    }

    /// Begins with the first job that is still needed.
    mutating func begin(_ actions: inout [Action]) {
        while let job = jobs.first {
            switch job.work {
            case .greet: return send(.command, "reginfo", &actions)
            case .survey: return surveyAccount(&actions)
            case .refresh(let account): return choose(account, &actions)
            case .refuse(let key):
                if let index = position(key) { return choose(calls[index].account, &actions) }
            case .request(.dial(_, let number), _):
                return account == nil ? send(.command, "dial", number, &actions) : choose(account ?? "", &actions)
            case .request(.answer(let key), let id):
                if let index = position(key), calls[index].state == .active {
                    actions.append(.completed(id, nil))
                } else if let index = position(key) {
                    return choose(calls[index].account, &actions)
                } else {
                    actions.append(.completed(id, .noSuchCall))
                }
            case .request(.end(let key, _), let id), .request(.setHeld(let key, _), let id),
                .request(.setMuted(let key, _), let id), .request(.sendTones(let key, _), let id):
                if let index = position(key) { return choose(calls[index].account, &actions) }
                actions.append(.completed(id, .noSuchCall))
            }
            jobs.removeFirst()
        }
    }

    /// Makes an account the current one if baresip has several and a current one.
    mutating func choose(_ account: String, _ actions: inout [Action]) {
        if release == .v1dot1 {
            accountChosen(&actions)
        } else if accounts.count > 1 || !accounts.contains(account) && !account.isEmpty {
            send(.account, "uafind", account, &actions)
        } else {
            accountChosen(&actions)
        }
    }

    private mutating func accountChosen(_ actions: inout [Action]) {
        guard let job = jobs.first else { return }
        switch job.work {
        case .greet: finish(nil, &actions)
        case .survey, .refresh: send(.list, "listcalls", &actions)
        case .request(.dial(_, let number), _): send(.command, "dial", dialled(number), &actions)
        case .refuse(let key), .request(.answer(let key), _), .request(.end(let key, _), _),
            .request(.setHeld(let key, _), _), .request(.setMuted(let key, _), _), .request(.sendTones(let key, _), _):
            guard let index = position(key) else { return finish(.noSuchCall, &actions) }
            if let id = calls[index].id {
                send(.call, "callfind", id, &actions)
            } else {
                // Its line is found by its peer.
                send(.list, "listcalls", &actions)
            }
        }
    }

    /// 1.1 has no current account: it dials with the one that has the domain of the address.
    private func dialled(_ number: String) -> String {
        guard release == .v1dot1, let account, !number.contains("@"), !number.contains(":"),
            let at = account.firstIndex(of: "@"), let colon = account.firstIndex(of: ":")
        else { return number }
        let domain = account[at...].prefix { $0 != ";" && $0 != ">" }
        return account[...colon] + number + domain
    }

    private mutating func callChosen(_ actions: inout [Action]) {
        guard let job = jobs.first else { return }
        switch job.work {
        case .greet, .survey, .refresh, .request(.dial, _): finish(nil, &actions)
        case .refuse: send(.command, "hangup", &actions)
        case .request(.answer, _): send(.command, "accept", &actions)
        case .request(.end(let key, let reason), _):
            if let index = position(key) { calls[index].endReason = reason }
            send(.command, "hangup", &actions)
        case .request(.setHeld(_, let held), _): send(.command, held ? "hold" : "resume", &actions)
        case .request(.setMuted, _): send(.command, "mute", &actions)
        case .request(.sendTones(_, let tones), _): send(.command, "sndcode", tones, &actions)
        }
    }

    mutating func finish(_ failure: Failure?, _ actions: inout [Action]) {
        guard !jobs.isEmpty else { return }
        let job = jobs.removeFirst()
        if let failure {
            fail(job, failure, &actions)
        } else if case .request(_, let id) = job.work {
            actions.append(.completed(id, nil))
        }
        begin(&actions)
    }

    mutating func fail(_ job: Job, _ failure: Failure, _ actions: inout [Action]) {
        switch job.work {
        case .greet, .survey, .refresh, .refuse: return
        case .request(let request, let id):
            actions.append(.completed(id, failure))
            switch request {
            case .dial(let key, _): calls.removeAll { $0.key == key && $0.id == nil }
            case .end(let key, _): if let index = position(key) { calls[index].endReason = nil }
            case .answer, .setHeld, .setMuted, .sendTones: break
            }
        }
    }

    /// - Parameter isDone: as in `BaresipMessage.response`.
    mutating func proceed(
        _ job: Job, _ isDone: Bool, _ text: String, at now: Instant, _ actions: inout [Action]
    ) {
        switch job.stage {
        case .account:
            // For a missing account baresip says "No such file or directory".
            let isUnknownCommand = text.hasPrefix("command not found")
            let failure = Failure.refused(isUnknownCommand ? Self.gist(text) : "baresip has no such account")
            isDone ? accountChosen(&actions) : finish(failure, &actions)
        case .call:
            // baresip also says "ok" for an unknown call.
            let isFound = isDone && text.hasPrefix("setting current call")
            isFound ? callChosen(&actions) : finish(.noSuchCall, &actions)
        case .list: isDone ? listed(job, text, &actions) : finish(.refused(Self.gist(text)), &actions)
        case .line:
            if case .survey = job.work {
                send(.status, "callstat", &actions)
            } else {
                text.hasPrefix("setting current call") ? callChosen(&actions) : finish(.noSuchCall, &actions)
            }
        case .verify:
            isDone ? verified(job, BaresipListing.lines(text), &actions) : finish(.refused(job.refusal), &actions)
        case .status: surveyed(text, &actions)
        case .restoreLine: surveyAccount(&actions)
        case .restoreAccount, .again:
            finish(isDone ? nil : .refused(Self.gist(text)), &actions)
        case .command:
            guard isDone else {
                if case .greet = job.work { return greeted(text, false, at: now, &actions) }
                if case .request(.setHeld, _) = job.work {
                    jobs[0].refusal = Self.gist(text)
                    return send(.verify, "listcalls", &actions)
                }
                return finish(.refused(Self.gist(text)), &actions)
            }
            carriedOut(job, text, at: now, &actions)
        }
    }

    private mutating func carriedOut(_ job: Job, _ text: String, at now: Instant, _ actions: inout [Action]) {
        switch job.work {
        case .greet: greeted(text, true, at: now, &actions)
        case .survey, .refresh, .refuse, .request(.end, _), .request(.sendTones, _): finish(nil, &actions)
        case .request(.dial(let key, _), _):
            if let index = position(key), calls[index].state == .setup { calls[index].state = .dialing }
            if let index = position(key), calls[index].id == nil, let id = BaresipListing.dialled(text),
                position(id: id) == nil
            {
                calls[index].id = id
            }
            finish(nil, &actions)
        case .request(.answer(let key), let id):
            jobs.removeFirst()
            if let index = position(key), calls[index].state != .active {
                answers.append((key, id, job.deadline))
            } else {
                actions.append(.completed(id, position(key) == nil ? .noSuchCall : nil))
            }
            begin(&actions)
        case .request(.setHeld(let key, let held), _):
            if let index = position(key) { calls[index].state = held ? .held : .active }
            finish(nil, &actions)
        case .request(.setMuted(_, let muted), _):
            // The command toggles it, whatever it was.
            let isMuted = !text.split(whereSeparator: \.isWhitespace).contains("un-muted")
            isMuted == muted ? finish(nil, &actions) : send(.again, "mute", &actions)
        }
    }

    /// First line of the console's output.
    private static func gist(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first ?? ""
        return line.isEmpty ? "baresip refused" : "baresip says: " + line.prefix(120)
    }
}
