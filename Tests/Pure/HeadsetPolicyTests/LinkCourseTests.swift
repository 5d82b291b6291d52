import BluetoothTypes
import HandsFree
import HeadsetPolicy
import TestSupport
import Testing

/// Seeded random events: three headsets, their common queue, and an environment that answers late, wrongly or both.
@Suite struct LinkCourseTests {
    @Test(arguments: randomCourses(200))
    func `random events keep the rules of one controller`(_ seed: Int) {
        var world = LinkWorld(seed: UInt64(seed))
        for _ in 0..<600 where world.broken.isEmpty { world.step() }
        world.settle()
        #expect(world.broken == [])
    }

    @Test func `the same seed has the same course`() {
        var worlds = [LinkWorld(seed: 7), LinkWorld(seed: 7)]
        for index in worlds.indices { for _ in 0..<300 { worlds[index].step() } }
        #expect(worlds[0].log == worlds[1].log)
        #expect(worlds[0].log.count > 200)
    }

    @Test func `random courses reach every state and every report`() {
        var seen: Set<String> = []
        for seed in 0..<200 {
            var world = LinkWorld(seed: UInt64(seed))
            for _ in 0..<600 { world.step() }
            seen.formUnion(world.seen)
        }
        let states = [
            "closed", "silence", "music", "agreeing", "queued", "opening", "blocked", "awaiting", "open", "closing",
            "reclosing", "withdrawn", "rewanted", "orphaned", "grace", "over",
        ]
        let reports = ["opened", "openedByHeadset", "failed", "closed", "freeController", "again"]
        #expect(Set(states + reports).subtracting(seen) == [])
    }
}

/// Rules checked after each event:
///
/// - one set-up at a time, and only with a granted turn;
/// - never two links of one headset, nor a set-up beside a link of it;
/// - the pause between a close and the next set-up, unless the headset opens that link;
/// - each request ends as opened, failed or closed, within its deadline;
/// - the log has a reason for each failure;
/// - no report of a connection that has ended; no fault of our own.
struct LinkWorld {
    private struct Connection {
        let address: BluetoothAddress
        var link = VoiceLink()
        var codecs = CodecNegotiation(codecs: [.cvsd, .mSBC])
        var deadline: Instant?
        var ticket: LinkQueue.Ticket?
        var isGranted = false
        var roomAt: Instant?
        /// The policy waits for its link until then.
        var promise: Instant?
        /// The policy waits for the end of the link, or of its set-up, until then.
        var closePromise: Instant?
        var isUp = false
        /// The reason of a failure was noted since the last report.
        var isExplained = false
        var closedAt: Instant?
    }

    /// Work in progress in the kernel.
    private struct Opening {
        let connection: Int
        let answerAt: Instant
        var isCancelled = false
    }

    /// A link in the engine.
    private struct Carried {
        let connection: Int
        let address: BluetoothAddress
        var endAt: Instant?
    }

    private var random: SeededGenerator
    private var now = Instant(milliseconds: 1000)
    private var queue = LinkQueue(pause: .milliseconds(300))
    private var queueDeadline: Instant?
    /// Each headset's present connection, and earlier ones.
    private var connections: [Connection] = []
    private var present: [BluetoothAddress: Int] = [:]
    private var openings: [Opening] = []
    private var carried: [Carried] = []
    private var ticketCount: UInt64 = 0
    private var pending: [(Int, VoiceLink.Action)] = []
    private var isPerforming = false
    private(set) var broken: [String] = []
    private(set) var log: [String] = []
    private(set) var seen: Set<String> = []
    private let addresses = (1...3).map { BluetoothAddress(value: UInt64($0)) }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for address in addresses { connect(address) }
    }

    private mutating func connect(_ address: BluetoothAddress) {
        var connection = Connection(address: address)
        _ = connection.codecs.support(true, at: now)
        _ = connection.codecs.codecsOffered([.cvsd, .mSBC], at: now)
        present[address] = connections.count
        connections.append(connection)
    }

    // MARK: Running

    /// Advances time to the next deadline, or triggers an earlier event.
    mutating func step() {
        let due = dueTimes.min()
        let pause = Duration.milliseconds(Int64(random.below(4) == 0 ? random.below(3000) : random.below(60)))
        now = max(now, min(due ?? now.advanced(by: pause), now.advanced(by: pause)))
        if let due, due <= now { fireDue() } else { happen() }
        check()
    }

    /// No new events: everything promised happens.
    mutating func settle() {
        for _ in 0..<2000 {
            guard let due = dueTimes.min() else { break }
            now = max(now, due)
            fireDue()
            check()
        }
        for connection in connections
        where (connection.promise ?? connection.closePromise) != nil && !connection.link.isOver {
            fail("a request of \(connection.address) never ended: \(connection.link.state)")
        }
        if queue.state != .idle || !queue.waiting.isEmpty { fail("the queue is left with \(queue.state)") }
    }

    private var dueTimes: [Instant] {
        var times = [queueDeadline].compactMap { $0 }
        for connection in connections {
            times += [connection.deadline, connection.roomAt, connection.codecs.deadline].compactMap { $0 }
        }
        times += openings.map { $0.isCancelled ? min($0.answerAt, now.advanced(by: .milliseconds(5))) : $0.answerAt }
        return times + carried.compactMap(\.endAt)
    }

    private mutating func fireDue() {
        if let time = queueDeadline, time <= now {
            queueDeadline = nil
            perform(queue.deadlineReached(at: now))
        }
        for index in connections.indices {
            if let time = connections[index].deadline, time <= now {
                connections[index].deadline = nil
                feed(index, "deadline") { $0.deadlineReached(at: $1) }
            }
            if let time = connections[index].roomAt, time <= now {
                connections[index].roomAt = nil
                feed(index, "room") { $0.roomMade(at: $1) }
            }
            if let time = connections[index].codecs.deadline, time <= now {
                // Sometimes the headset answers a proposal.
                if case .proposed(let codec, _, _) = connections[index].codecs.state, random.below(4) > 0 {
                    negotiate(index, connections[index].codecs.confirmed(Int(codec.rawValue), at: now).actions)
                } else {
                    negotiate(index, connections[index].codecs.deadlineReached(at: now))
                }
            }
        }
        answerOpenings()
        endLinks()
    }

    private mutating func answerOpenings() {
        for opening in openings where opening.isCancelled || opening.answerAt <= now {
            openings.removeAll { $0.connection == opening.connection }
            let failures: [AudioFailure] = [.refused, .timedOut, .busy, .failed, .unsupportedCodec, .busy, .busy]
            if opening.isCancelled, random.below(2) == 0 {
                feed(opening.connection, "cancelled") { $0.openingFailed(.cancelled, at: $1) }
            } else if random.below(3) == 0 {
                let failure = failures[random.below(failures.count)]
                feed(opening.connection, "\(failure)") { $0.openingFailed(failure, at: $1) }
            } else {
                feed(opening.connection, "came") { $0.linkCame(at: $1) }
            }
        }
    }

    private mutating func endLinks() {
        for link in carried where link.endAt.map({ $0 <= now }) ?? false {
            carried.removeAll { $0.connection == link.connection && $0.endAt != nil }
            queue.closed(link.address, at: now)
            if case .closing = connections[link.connection].link.state { connections[link.connection].closedAt = now }
            // As in the shell: the end of an earlier link does not concern the engine's present one.
            if carried.contains(where: { $0.address == link.address && $0.endAt == nil }) { continue }
            if present[link.address] == link.connection {
                feed(link.connection, "ended") { $0.linkEnded(.requested, at: $1) }
            }
        }
    }

    private mutating func happen() {
        let address = addresses[random.below(addresses.count)]
        guard let index = present[address] else { return }
        switch random.below(16) {
        case 0, 1, 2: request(index)
        case 3: close(index)
        case 4, 5:
            if !connections[index].link.isOver { negotiate(index, connections[index].codecs.incoming()) }
        case 6:
            if !connections[index].link.isOver {
                negotiate(index, connections[index].codecs.start(hint: nil, at: now))
            }
        case 7, 8: feed(index, "heard") { $0.heard(at: $1) }
        case 9, 10, 11, 12: feed(index, "packet") { link, _ in link.firstPacketCame() }
        case 13: lose(index)
        case 14:
            guard connections[index].isUp else { return }
            feed(index, "silent") { link, _ in
                link.fellSilent()
                return []
            }
        default:
            guard random.below(4) == 0 else { return }
            present[address] = nil
            connections[index].promise = nil
            connections[index].closePromise = nil
            feed(index, "session over") { $0.sessionEnded(at: $1) }
            connect(address)
        }
    }

    /// As the policy: no request while another is pending, except for a link that it has forgotten.
    private mutating func request(_ index: Int) {
        let connection = connections[index]
        let isClosing = connection.closePromise != nil
        guard isClosing || connection.promise == nil || random.below(4) == 0 else { return }
        guard isClosing || !connection.isUp || random.below(8) == 0 else { return }
        if isClosing { seen.insert("again") }
        let limit = Duration.milliseconds(Int64(random.below(5000)))
        connections[index].promise = now.advanced(by: limit).advanced(by: VoiceLink.requestMargin)
        let attempt = 1 + random.below(3)
        feed(index, "requested \(attempt)") { $0.requested(hint: nil, attempt: attempt, limit: limit, at: $1) }
    }

    private mutating func close(_ index: Int) {
        connections[index].promise = nil
        connections[index].closePromise = now.advanced(by: .seconds(1))
        feed(index, "close") { $0.closeRequested(at: $1) }
    }

    private mutating func lose(_ index: Int) {
        guard let link = carried.firstIndex(where: { $0.connection == index && $0.endAt == nil }) else { return }
        carried.remove(at: link)
        closed(index)
        let end = random.below(2) == 0 ? VoiceLink.End.byHeadset : .lost
        feed(index, "\(end)") { $0.linkEnded(end, at: $1) }
    }

    // MARK: Actions

    private mutating func feed(
        _ index: Int, _ what: String, _ input: (inout VoiceLink, Instant) -> [VoiceLink.Action]
    ) {
        let actions = input(&connections[index].link, now)
        log.append("\(now.nanoseconds / 1_000_000) \(index) \(what): \(connections[index].link.state) \(actions)")
        seen.insert(connections[index].link.name)
        pending += actions.map { (index, $0) }
        guard !isPerforming else { return }
        isPerforming = true
        while !pending.isEmpty {
            let (index, action) = pending.removeFirst()
            perform(action, of: index)
        }
        isPerforming = false
    }

    private mutating func perform(_ action: VoiceLink.Action, of index: Int) {
        let address = connections[index].address
        switch action {
        case .gateway(let input): tell(index, input)
        case .makeRoom: connections[index].roomAt = now.advanced(by: .milliseconds(Int64(random.below(2) * 400)))
        case .leaveRoom: connections[index].roomAt = nil
        case .queue(let limit, let pauses):
            ticketCount += 1
            let ticket = LinkQueue.Ticket(address, number: ticketCount)
            connections[index].ticket = ticket
            perform(queue.enter(ticket, limit: limit, pauses: pauses, at: now))
        case .queueAgain:
            connections[index].isGranted = false
            if let ticket = connections[index].ticket { perform(queue.again(ticket, at: now)) }
        case .leaveQueue:
            guard let ticket = connections[index].ticket else { return fail("\(address) leaves no queue") }
            connections[index].ticket = nil
            connections[index].isGranted = false
            perform(queue.leave(ticket, at: now))
        case .open: open(index, pauses: true)
        case .accept: open(index, pauses: false)
        case .cancelOpening:
            for number in openings.indices where openings[number].connection == index {
                openings[number].isCancelled = true
            }
        case .carry:
            if carried.contains(where: { $0.address == address && $0.endAt == nil }) { fail("two links of \(address)") }
            carried.append(Carried(connection: index, address: address))
        case .discard: break
        case .close:
            for number in carried.indices where carried[number].connection == index && carried[number].endAt == nil {
                carried[number].endAt = now.advanced(by: .milliseconds(20))
            }
        case .startPause: closed(index)
        case .report(let report): handle(report, index)
        case .freeController: seen.insert("freeController")
        case .setDeadline(let time): connections[index].deadline = time
        case .fault(let reason): fail("fault of \(address): \(reason)")
        case .note(.waitsForData), .setUpEnded, .retried: break
        case .note: connections[index].isExplained = true
        }
    }

    private mutating func closed(_ index: Int) {
        connections[index].closedAt = now
        queue.closed(connections[index].address, at: now)
    }

    private mutating func open(_ index: Int, pauses: Bool) {
        let address = connections[index].address
        if !openings.isEmpty { fail("\(address) is set up beside \(openings.map(\.connection))") }
        if !connections[index].isGranted { fail("\(address) is set up out of turn") }
        if carried.contains(where: { $0.address == address && $0.endAt == nil }) {
            fail("\(address) has a link already")
        }
        if pauses, let closedAt = connections[index].closedAt, closedAt.duration(to: now) < queue.pause {
            fail("\(address) is set up right after its close")
        }
        let answer = Duration.milliseconds(Int64(random.below(8) == 0 ? 3000 : random.below(400)))
        openings.append(Opening(connection: index, answerAt: now.advanced(by: answer)))
    }

    private mutating func perform(_ actions: [LinkQueue.Action]) {
        for action in actions {
            switch action {
            case .grant(let ticket):
                guard let index = connections.firstIndex(where: { $0.ticket == ticket }) else {
                    fail("a turn for nobody")
                    continue
                }
                if connections.contains(where: { $0.isGranted }) { fail("two turns at once") }
                connections[index].isGranted = true
                feed(index, "turn") { $0.turnCame(at: $1) }
            case .refuse(let ticket):
                guard let index = connections.firstIndex(where: { $0.ticket == ticket }) else { continue }
                feed(index, "no turn") { link, _ in link.turnRefused() }
            case .setDeadline(let time): queueDeadline = time
            case .idle: if queue.state != .idle { fail("idle and \(queue.state)") }
            case .fault(let reason): fail("fault of the queue: \(reason)")
            }
        }
    }

    private mutating func tell(_ index: Int, _ input: VoiceLink.GatewayInput) {
        switch input {
        case .connect(let hint): negotiate(index, connections[index].codecs.start(hint: hint, at: now))
        case .disconnect: negotiate(index, connections[index].codecs.stop())
        case .opened(let codec): negotiate(index, connections[index].codecs.opened(codec))
        case .closed: negotiate(index, connections[index].codecs.closed(at: now))
        case .failed(let failure): negotiate(index, connections[index].codecs.failed(failure, at: now))
        }
    }

    private mutating func negotiate(_ index: Int, _ actions: [CodecNegotiation.Action]) {
        for action in actions {
            switch action {
            case .connect(let codec): feed(index, "connect") { link, _ in link.connect(codec) }
            case .accept(let codec): feed(index, "accept") { link, _ in link.accept(codec) }
            case .disconnect: feed(index, "disconnect") { $0.disconnect(at: $1) }
            case .failed(let failure): feed(index, "no codec") { link, _ in link.negotiationFailed(failure) }
            case .propose, .reject, .steppedDown: break
            }
        }
    }

    private mutating func handle(_ report: VoiceLink.Report, _ index: Int) {
        if present[connections[index].address] != index { fail("a report after the end of the connection") }
        switch report {
        case .opened, .openedByHeadset:
            seen.insert(report == .opened(.cvsd) || report == .opened(.mSBC) ? "opened" : "openedByHeadset")
            connections[index].isUp = true
            connections[index].promise = nil
        case .failed(let failure):
            seen.insert("failed")
            if !connections[index].isExplained { fail("\(failure) without a reason") }
            connections[index].promise = nil
        case .closed:
            seen.insert("closed")
            connections[index].isUp = false
            connections[index].closePromise = nil
        }
        connections[index].isExplained = false
    }

    // MARK: Rules

    private mutating func fail(_ what: String) {
        broken.append("\(now.nanoseconds / 1_000_000) ms: \(what)\n" + log.suffix(12).joined(separator: "\n"))
    }

    private mutating func check() {
        for connection in connections {
            let promises = [connection.promise, connection.closePromise].compactMap { $0 }
            if let promise = promises.min(), promise < now, !connection.link.isOver {
                fail("a request of \(connection.address) is not ended: \(connection.link.state)")
            }
        }
        let opening = connections.filter { connection in
            switch connection.link.state {
            case .opening, .blocked, .awaitingFirstPacket, .abandoned: true
            case .closed, .waiting, .agreeing, .queued, .open, .closing, .gracePeriod, .over: false
            }
        }
        if opening.count > 1 { fail("\(opening.count) set-ups at a time") }
        for address in addresses where carried.count(where: { $0.address == address && $0.endAt == nil }) > 1 {
            fail("two links of \(address)")
        }
    }
}
