package import BluetoothTypes
package import Telephony

/// Follows a running baresip (Debian's 1.0.0) through its module `ctrl_tcp`: its events become calls, what headsets and
/// clients want becomes commands.
///
/// - baresip's commands are for its *current* call of its current account, so that a command is preceded by those that make
///   it current, and nothing else is asked between. A command that is answered has been carried out; an answer to a call has
///   when baresip says that the call is established.
/// - 1.0.0 tells nothing of holds: neither its own, which are therefore read from `listcalls` after whatever may have
///   changed them, nor the far end's, which stay unknown.
/// - An outgoing call has no id until the far end rings; until then it is found by its peer.
/// - The connection is one of a kind: each program that connects takes it from the one before.
package struct BaresipFollower: Sendable {
    /// Names a call for its whole life, never twice.
    package struct CallKey: Hashable, Comparable, Sendable {
        package let value: UInt32

        package static func < (left: CallKey, right: CallKey) -> Bool { left.value < right.value }
    }

    package struct RequestID: Hashable, Sendable {
        package let value: UInt64

        package init(_ value: UInt64) {
            self.value = value
        }
    }

    package enum Request: Equatable, Sendable {
        case dial(CallKey, String)
        case answer(CallKey)
        case end(CallKey, CallEndReason)
        case setHeld(CallKey, Bool)
        case setMuted(CallKey, Bool)
        /// 0…9, A…D, * and #.
        case sendTones(CallKey, String)

        fileprivate var call: CallKey {
            switch self {
            case .dial(let key, _), .answer(let key), .end(let key, _), .setHeld(let key, _), .setMuted(let key, _),
                .sendTones(let key, _):
                key
            }
        }
    }

    /// Why a request was not carried out.
    package enum Failure: Error, Equatable, Sendable {
        /// baresip is not there, or left meanwhile.
        case away
        case noSuchCall
        case timedOut(String)
        /// What baresip said.
        case refused(String)
        /// It cannot be said to baresip.
        case invalid(String)
    }

    package enum Notice: Equatable, Sendable {
        /// The other end answers as baresip does.
        case following
        /// Nothing listens there, or it ended; said once until it is back.
        case away(String)
        case stranger(String)
        case odd(String)
    }

    package enum Action: Equatable, Sendable {
        case connect
        case disconnect
        case send(command: String, parameters: String?, token: String)
        /// baresip is there: its calls follow.
        case appeared
        /// baresip is gone, and all calls with it.
        case vanished
        /// A call that it was not asked for.
        case added(CallKey, CallDirection, BaresipPeer, CallState)
        case changed(CallKey, CallState)
        case completed(RequestID, Failure?)
        case note(Notice)
    }

    private enum Connection {
        case stopped
        case pausing(until: Instant)
        case connecting(until: Instant)
        /// Until it has shown that it is baresip.
        case greeting(until: Instant)
        case following(since: Instant)
    }

    private struct Call {
        let key: CallKey
        let direction: CallDirection
        /// The SIP Call-ID.
        var id: String?
        var account: String
        var peer: String
        var state: CallState
        /// Why it ends, when somebody here has asked for it.
        var endReason: CallEndReason?
    }

    private enum Work {
        case greet
        /// Takes up the calls that there are.
        case survey(Survey)
        /// Which calls are held.
        case refresh(account: String)
        case request(Request, RequestID)
        /// Ends a call that nobody wants to be told of.
        case refuse(CallKey)

        /// The call that it is about.
        var call: CallKey? {
            switch self {
            case .greet, .survey, .refresh: nil
            case .refuse(let key): key
            case .request(let request, _): request.call
            }
        }
    }

    private struct Survey {
        /// Those not looked at yet.
        var accounts: [String]
        var account = ""
        var lines: [BaresipListing.Line] = []
        var marked: Int?
        /// Made the current one again at the end.
        let current: String?
    }

    private enum Stage {
        case account, call, command, again, status, list, line, restoreLine, restoreAccount
    }

    private struct Job {
        var work: Work
        let deadline: Instant
        var stage = Stage.command
        var token: String?
    }

    package static let pauses: [Duration] = [
        .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
    ]
    /// For baresip to do what it is asked, and to show that it is baresip.
    package static let patience = Duration.seconds(5)
    /// A connection that lasted so long was not taken away by a program that does the same.
    private static let steady = Duration.seconds(30)
    private static let mostWaiting = 64
    private static let mostAccounts = 64

    /// The account that dials; nil leaves it to baresip.
    private let account: String?
    private var connection = Connection.stopped
    private var attempts = 0
    private var isAwaySaid = false
    private var hasSaidGoodbye = false
    private var reader = NetstringReader()
    private var accounts: [String] = []
    private var calls: [Call] = []
    private var nextCall: UInt32 = 1
    private var nextToken: UInt64 = 1
    /// The first one is with baresip.
    private var jobs: [Job] = []
    /// Answers that baresip has taken, until the call is established.
    private var answers: [(call: CallKey, request: RequestID, deadline: Instant)] = []

    /// - Parameter account: the address of record of the account that dials (`sip:alice@example.org`).
    package init(account: String? = nil) {
        self.account = account
    }

    /// When `deadlineReached` is due; nil when nothing is waited for.
    package var deadline: Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant) { earliest = earliest.map { min($0, instant) } ?? instant }
        switch connection {
        case .stopped, .following: break
        case .pausing(let until), .connecting(let until), .greeting(let until): consider(until)
        }
        for job in jobs { consider(job.deadline) }
        for answer in answers { consider(answer.deadline) }
        return earliest
    }

    // MARK: The connection

    package mutating func start(at now: Instant) -> [Action] {
        guard case .stopped = connection else { return [] }
        attempts = 0
        isAwaySaid = false
        connection = .connecting(until: now.advanced(by: Self.patience))
        return [.connect]
    }

    /// Nothing follows; calls and requests are over.
    package mutating func stop() -> [Action] {
        var actions: [Action] = []
        let isConnected: Bool
        switch connection {
        case .stopped, .pausing: isConnected = false
        case .connecting, .greeting, .following: isConnected = true
        }
        leave(&actions)
        if isConnected { actions.append(.disconnect) }
        connection = .stopped
        return actions
    }

    package mutating func connected(at now: Instant) -> [Action] {
        guard case .connecting = connection else { return [] }
        connection = .greeting(until: now.advanced(by: Self.patience))
        reader = NetstringReader()
        hasSaidGoodbye = false
        var actions: [Action] = []
        add(.greet, at: now, &actions)
        return actions
    }

    /// The connection could not be made, or is over.
    package mutating func disconnected(_ reason: String, at now: Instant) -> [Action] {
        var actions: [Action] = []
        switch connection {
        case .stopped, .pausing: return []
        case .connecting, .greeting: break
        case .following(let since):
            if hasSaidGoodbye || since.duration(to: now) >= Self.steady { attempts = 0 }
        }
        leave(&actions)
        if !isAwaySaid {
            isAwaySaid = true
            actions.append(.note(.away(reason)))
        }
        pause(at: now)
        return actions
    }

    private mutating func pause(at now: Instant) {
        let pause = Self.pauses[min(attempts, Self.pauses.count - 1)]
        attempts += 1
        connection = .pausing(until: now.advanced(by: pause))
    }

    /// Not baresip, or no longer: it is left alone for the longest pause.
    private mutating func abandon(_ reason: String, at now: Instant, _ actions: inout [Action]) {
        leave(&actions)
        if !isAwaySaid {
            isAwaySaid = true
            actions.append(.note(.stranger(reason)))
        }
        attempts = Self.pauses.count
        pause(at: now)
        actions.append(.disconnect)
    }

    private mutating func leave(_ actions: inout [Action]) {
        var wasFollowing = false
        if case .following = connection { wasFollowing = true }
        for answer in answers { actions.append(.completed(answer.request, .away)) }
        for job in jobs {
            if case .request(_, let id) = job.work { actions.append(.completed(id, .away)) }
        }
        answers = []
        jobs = []
        calls = []
        accounts = []
        if wasFollowing { actions.append(.vanished) }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        var actions: [Action] = []
        switch connection {
        case .stopped, .following: break
        case .pausing(let until):
            if until <= now {
                connection = .connecting(until: now.advanced(by: Self.patience))
                actions.append(.connect)
            }
        case .connecting(let until):
            if until <= now {
                actions += disconnected("the connection is not made within \(Self.patience)", at: now)
                actions.append(.disconnect)
            }
        case .greeting(let until):
            if until <= now { abandon("it does not answer within \(Self.patience)", at: now, &actions) }
        }
        expire(at: now, &actions)
        return actions
    }

    private mutating func expire(at now: Instant, _ actions: inout [Action]) {
        for answer in answers where answer.deadline <= now {
            actions.append(
                .completed(
                    answer.request,
                    .timedOut("baresip took the answer and does not establish the call; its log says why")))
        }
        answers.removeAll { $0.deadline <= now }
        let isFirstLate = jobs.first.map { $0.deadline <= now } ?? false
        let late = jobs.filter { $0.deadline <= now }
        jobs.removeAll { $0.deadline <= now }
        for job in late { fail(job, .timedOut("baresip did not answer within \(Self.patience)"), &actions) }
        if isFirstLate { begin(&actions) }
    }

    // MARK: What baresip says

    package mutating func received(_ bytes: [UInt8], at now: Instant) -> [Action] {
        guard isConnected else { return [] }
        var actions: [Action] = []
        reader.append(bytes)
        while isConnected {
            do throws(NetstringReader.Problem) {
                guard let contents = try reader.next() else { break }
                take(contents, at: now, &actions)
            } catch {
                abandon("what it sends is no netstring", at: now, &actions)
            }
        }
        return actions
    }

    private var isConnected: Bool {
        switch connection {
        case .stopped, .pausing, .connecting: false
        case .greeting, .following: true
        }
    }

    private mutating func take(_ contents: [UInt8], at now: Instant, _ actions: inout [Action]) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: contents)
        } catch {
            if case .greeting = connection {
                abandon("what it sends is no JSON: \(error)", at: now, &actions)
            } else {
                actions.append(.note(.odd("a message is no JSON: \(error)")))
            }
            return
        }
        switch BaresipMessage(value) {
        case nil: actions.append(.note(.odd("a message is neither an answer nor an event")))
        case .event(let event): take(event, at: now, &actions)
        case .response(let token, let isDone, let text):
            guard let token, var job = jobs.first, job.token == token else { return }
            job.token = nil
            jobs[0] = job
            proceed(job, isDone, text, at: now, &actions)
        }
    }

    private mutating func take(_ event: BaresipEvent, at now: Instant, _ actions: inout [Action]) {
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
            // Answering holds the call that was up.
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

    /// An account that came later.
    private mutating func note(_ account: String) {
        guard !account.isEmpty, !accounts.contains(account), accounts.count < Self.mostAccounts else { return }
        accounts.append(account)
    }

    private func position(id: String) -> Int? { calls.firstIndex { $0.id == id } }
    private func position(_ key: CallKey) -> Int? { calls.firstIndex { $0.key == key } }

    /// The call of an event that has its id; an outgoing one without an id is known by its peer.
    private func knownPosition(_ event: BaresipEvent) -> Int? {
        guard let id = event.id else { return nil }
        if let index = position(id: id) { return index }
        guard event.isOutgoing else { return nil }
        return calls.firstIndex { $0.id == nil && $0.peer == event.peer }
            ?? calls.firstIndex { $0.id == nil && $0.peer.isEmpty }
    }

    /// The same; one that is new is added as what it began as.
    private mutating func bind(_ event: BaresipEvent, _ actions: inout [Action]) -> Int? {
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

    private mutating func newKey() -> CallKey {
        defer { nextCall &+= 1 }
        return CallKey(value: nextCall)
    }

    private mutating func add(
        _ direction: CallDirection, _ event: BaresipEvent, _ state: CallState, _ actions: inout [Action]
    ) {
        // A peer that begins calls without end gets no more than can be shown.
        guard calls.count < 2 * CallTable.maximumCalls else { return }
        let key = newKey()
        calls.append(
            Call(key: key, direction: direction, id: event.id, account: event.account, peer: event.peer, state: state))
        actions.append(.added(key, direction, BaresipPeer(uri: event.peer, name: event.name), state))
    }

    /// The call that it was asked to dial, or one of its own.
    private mutating func beganToDial(_ event: BaresipEvent, _ actions: inout [Action]) {
        if case .request(.dial(let key, _), _) = jobs.first?.work, let index = position(key), calls[index].peer.isEmpty
        {
            calls[index].peer = event.peer
            calls[index].account = event.account
            return
        }
        add(.outgoing, event, .dialing, &actions)
    }

    private mutating func change(_ index: Int, _ state: CallState, _ actions: inout [Action]) {
        guard calls[index].state != state else { return }
        calls[index].state = state
        actions.append(.changed(calls[index].key, state))
    }

    private mutating func established(_ index: Int, _ actions: inout [Action]) {
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

    // MARK: What is wanted of it

    /// Asks for a call.
    ///
    /// - Parameter id: comes back in `.completed`, exactly once.
    /// - Returns: the name of the call to be.
    package mutating func dial(_ number: String, id: RequestID, at now: Instant) -> (call: CallKey, actions: [Action]) {
        let key = newKey()
        guard isFollowing else { return (key, [.completed(id, .away)]) }
        let isPlain = number.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, !number.isEmpty, number.utf8.count <= 200 else {
            return (key, [.completed(id, .invalid("baresip dials what has 1 to 200 visible ASCII characters"))])
        }
        calls.append(
            Call(key: key, direction: .outgoing, id: nil, account: account ?? "", peer: "", state: .setup))
        var actions: [Action] = []
        add(.request(.dial(key, number), id), at: now, &actions)
        return (key, actions)
    }

    /// - Parameter id: comes back in `.completed`, exactly once.
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

    /// The call is not to ring here.
    package mutating func refuse(_ key: CallKey, at now: Instant) -> [Action] {
        guard isFollowing, position(key) != nil else { return [] }
        var actions: [Action] = []
        add(.refuse(key), at: now, &actions)
        return actions
    }

    private var isFollowing: Bool {
        if case .following = connection { true } else { false }
    }

    private mutating func refresh(_ account: String, at now: Instant, _ actions: inout [Action]) {
        let isWaiting = jobs.dropFirst().contains { job in
            if case .refresh(let other) = job.work { other == account } else { false }
        }
        if !isWaiting { add(.refresh(account: account), at: now, &actions) }
    }

    // MARK: Commands

    private mutating func add(_ work: Work, at now: Instant, _ actions: inout [Action]) {
        let job = Job(work: work, deadline: now.advanced(by: Self.patience))
        guard jobs.count < Self.mostWaiting else {
            return fail(job, .refused("\(jobs.count) commands wait for baresip"), &actions)
        }
        jobs.append(job)
        if jobs.count == 1 { begin(&actions) }
    }

    private mutating func send(_ stage: Stage, _ command: String, _ actions: inout [Action]) {
        send(stage, command, nil, &actions)
    }

    private mutating func send(
        _ stage: Stage, _ command: String, _ parameters: String?, _ actions: inout [Action]
    ) {
        guard !jobs.isEmpty else { return }
        let token = String(nextToken)
        nextToken += 1
        jobs[0].stage = stage
        jobs[0].token = token
        actions.append(.send(command: command, parameters: parameters, token: token))
    }

    /// Begins with the first job that has a point.
    private mutating func begin(_ actions: inout [Action]) {
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

    /// Makes an account the current one, where there are others.
    private mutating func choose(_ account: String, _ actions: inout [Action]) {
        if accounts.count > 1 || !accounts.contains(account) && !account.isEmpty {
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
        case .request(.dial(_, let number), _): send(.command, "dial", number, &actions)
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

    private mutating func finish(_ failure: Failure?, _ actions: inout [Action]) {
        guard !jobs.isEmpty else { return }
        let job = jobs.removeFirst()
        if let failure {
            fail(job, failure, &actions)
        } else if case .request(_, let id) = job.work {
            actions.append(.completed(id, nil))
        }
        begin(&actions)
    }

    private mutating func fail(_ job: Job, _ failure: Failure, _ actions: inout [Action]) {
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
    private mutating func proceed(
        _ job: Job, _ isDone: Bool, _ text: String, at now: Instant, _ actions: inout [Action]
    ) {
        switch job.stage {
        case .account:
            // Its own words for an account that it does not have are "No such file or directory".
            let isUnknownCommand = text.hasPrefix("command not found")
            let failure = Failure.refused(isUnknownCommand ? Self.gist(text) : "baresip has no such account")
            isDone ? accountChosen(&actions) : finish(failure, &actions)
        case .call:
            // It says "ok" to a call that it does not know as well.
            let isFound = isDone && text.hasPrefix("setting current call")
            isFound ? callChosen(&actions) : finish(.noSuchCall, &actions)
        case .list: isDone ? listed(job, text, &actions) : finish(.refused(Self.gist(text)), &actions)
        case .line:
            if case .survey = job.work {
                send(.status, "callstat", &actions)
            } else {
                text.hasPrefix("setting current call") ? callChosen(&actions) : finish(.noSuchCall, &actions)
            }
        case .status: surveyed(text, &actions)
        case .restoreLine: surveyAccount(&actions)
        case .restoreAccount, .again:
            finish(isDone ? nil : .refused(Self.gist(text)), &actions)
        case .command:
            guard isDone else {
                if case .greet = job.work { return greeted(text, false, at: now, &actions) }
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
            // The command changes it, whatever it was.
            let isMuted = !text.split(whereSeparator: \.isWhitespace).contains("un-muted")
            isMuted == muted ? finish(nil, &actions) : send(.again, "mute", &actions)
        }
    }

    /// The first line of what the console would show.
    private static func gist(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first ?? ""
        return line.isEmpty ? "baresip refused" : "baresip says: " + line.prefix(120)
    }

    // MARK: Taking up

    private mutating func greeted(_ text: String, _ isDone: Bool, at now: Instant, _ actions: inout [Action]) {
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

    /// Goes on with the next account, and leaves the current one as it was.
    private mutating func surveyAccount(_ actions: inout [Action]) {
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

    private mutating func listed(_ job: Job, _ text: String, _ actions: inout [Action]) {
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

    private mutating func surveyed(_ text: String, _ actions: inout [Action]) {
        guard case .survey(var survey) = jobs.first?.work, !survey.lines.isEmpty else { return finish(nil, &actions) }
        let line = survey.lines.removeFirst()
        jobs[0].work = .survey(survey)
        if let status = BaresipListing.status(text), status.peer == line.peer, position(id: status.id) == nil {
            takeUp(line, status, survey.account, &actions)
        }
        surveyLine(&actions)
    }

    private mutating func takeUp(
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

    /// Which calls are held; several with the same party are told apart by their order.
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
