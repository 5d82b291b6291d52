import Telephony
import Testing

private let phone = CallProvider(name: "phone", capabilities: [.hold, .swap, .conference, .dtmf, .dial])
private let door = CallProvider(name: "door", capabilities: [.dtmf])

/// A table with two providers, and shorthands for reading it.
private struct Box {
    var table = CallTable()
    private var lastRequest: UInt64 = 0

    init(configuration: CallTable.Configuration = CallTable.Configuration()) {
        table = CallTable(configuration: configuration)
        table.register(phone)
        table.register(door)
    }

    /// Makes a request and returns the actions.
    mutating func ask(_ request: CallRequest) -> [CallTable.Action] {
        lastRequest += 1
        return table.request(request, id: CallRequestID(lastRequest))
    }

    /// Fulfils every step until none is left; returns all actions.
    mutating func fulfil(_ actions: [CallTable.Action]) -> [CallTable.Action] {
        var all = actions
        var position = 0
        while position < all.count {
            if case .perform(_, _, let id) = all[position] { all += table.providerAnswered(id, .fulfilled) }
            position += 1
        }
        return all
    }

    var states: [CallState] { table.snapshot.calls.map(\.state) }
    var indicators: [Int] {
        let all = table.snapshot.indicators
        return [all.call, all.callSetup, all.callHeld]
    }
}

private func steps(_ actions: [CallTable.Action]) -> [ProviderAction] {
    actions.compactMap { action in
        if case .perform(let step, _, _) = action { step } else { nil }
    }
}

private func outcomes(_ actions: [CallTable.Action]) -> [CallRequestOutcome] {
    actions.compactMap { action in
        if case .completed(_, let outcome) = action { outcome } else { nil }
    }
}

@Suite struct CallTableReportTests {
    @Test func `a first call rings, a second one waits, and rings when the first ends`() throws {
        var box = Box()
        let (first, added) = try box.table.reportIncoming(CallDetails(number: "1"), from: "phone")
        #expect(added.count == 1)
        #expect(box.indicators == [0, 1, 0])
        #expect(try box.table.update(first, .active, from: "phone").count == 1)
        let (second, _) = try box.table.reportIncoming(CallDetails(number: "2"), from: "door")
        #expect(box.states == [.active, .waiting])
        #expect(box.indicators == [1, 1, 0])
        let actions = try box.table.ended(first, .remoteHangUp, from: "phone")
        #expect(box.states == [.incoming])
        #expect(actions.count == 2)
        #expect(box.table.call(second)?.index == 2)
    }

    @Test func `indices are the lowest free ones and stay`() throws {
        var box = Box()
        let ids = try (0..<7).map { _ in try box.table.reportIncoming(CallDetails(), from: "door").id }
        #expect(box.table.snapshot.calls.map(\.index) == [1, 2, 3, 4, 5, 6, 7])
        #expect(throws: CallReportError.tooManyCalls) { try box.table.reportIncoming(CallDetails(), from: "door") }
        _ = try box.table.ended(ids[2], .missed, from: "door")
        let (next, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        #expect(box.table.call(next)?.index == 3)
        #expect(next != ids[2])
    }

    @Test func `impossible reports are refused and change nothing`() throws {
        var box = Box()
        let (id, _) = try box.table.reportOutgoing(CallDetails(), from: "phone")
        let before = box.table.snapshot
        #expect(throws: CallReportError.unknownProvider) { try box.table.reportIncoming(CallDetails(), from: "x") }
        #expect(throws: CallReportError.notOwner) { try box.table.update(id, .active, from: "door") }
        #expect(throws: CallReportError.unknownCall) { try box.table.update(CallID(99), .active, from: "door") }
        #expect(throws: CallReportError.illegalTransition(from: .dialing, to: .incoming)) {
            try box.table.update(id, .incoming, from: "phone")
        }
        #expect(box.table.snapshot == before)
        #expect(try box.table.update(id, .dialing, from: "phone").isEmpty)
    }

    @Test func `do not disturb and the rule for second calls refuse reports`() throws {
        var box = Box(configuration: CallTable.Configuration(secondCall: .reject))
        _ = try box.table.reportIncoming(CallDetails(), from: "phone")
        #expect(throws: CallReportError.busy) { try box.table.reportIncoming(CallDetails(), from: "door") }
        box.table.configuration.doNotDisturb = true
        #expect(throws: CallReportError.filtered) { try box.table.reportIncoming(CallDetails(), from: "door") }
    }

    @Test func `the calls of a provider that leaves end, and its open requests fail`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        let asked = box.ask(.answer(id))
        #expect(steps(asked) == [.answer(id)])
        let actions = box.table.providerGone("phone")
        #expect(outcomes(actions) == [.failed(.provider(.gone))])
        #expect(box.table.calls.isEmpty)
        guard case .ended(let call) = actions.first else {
            Issue.record("not ended first")
            return
        }
        #expect(call.state == .ended(.providerGone))
    }

    @Test func `a call that one provider reports active holds those of the others`() throws {
        var box = Box()
        let (first, _) = try box.table.reportOutgoing(CallDetails(), from: "phone")
        _ = try box.table.update(first, .active, from: "phone")
        let (second, _) = try box.table.reportIncoming(CallDetails(), from: "door")
        let actions = try box.table.update(second, .active, from: "door")
        #expect(steps(actions) == [.setHeld(first, true)])
        _ = box.fulfil(actions)
        #expect(box.indicators == [1, 0, 1])
    }
}

@Suite struct CallTableRequestTests {
    @Test func `the provider is asked once, however many headsets answer`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        let first = box.ask(.answer(id))
        #expect(steps(first) == [.answer(id)])
        #expect(box.ask(.answer(id)).isEmpty)
        #expect(outcomes(box.fulfil(first)) == [.done, .done])
        #expect(box.states == [.active])
    }

    @Test func `a refusal leaves the call ringing`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        _ = box.ask(.answer(id))
        let actions = box.table.providerAnswered(ProviderActionID(1), .failed(.refused))
        #expect(outcomes(actions) == [.failed(.provider(.refused))])
        #expect(box.states == [.incoming])
        #expect(box.table.providerAnswered(ProviderActionID(1), .fulfilled).isEmpty)
    }

    @Test func `a call that ends meanwhile cancels an answer and fulfils a hang-up`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        _ = box.ask(.answer(id))
        _ = box.ask(.hangUp(id))
        _ = try box.table.ended(id, .remoteHangUp, from: "phone")
        #expect(outcomes(box.table.providerAnswered(ProviderActionID(1), .failed(.refused))) == [.cancelled])
        #expect(outcomes(box.table.providerAnswered(ProviderActionID(2), .failed(.refused))) == [.done])
    }

    @Test func `a report before the provider's answer has the same result`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        _ = box.ask(.answer(id))
        _ = try box.table.update(id, .active, from: "phone")
        let actions = box.table.providerAnswered(ProviderActionID(1), .fulfilled)
        #expect(actions == [.completed(CallRequestID(1), .done)])
    }

    @Test func `dialling adds a call in set-up, dialing when accepted, removed when refused`() {
        var box = Box()
        let asked = box.ask(.dial(number: "5"))
        #expect(box.states == [.setup])
        #expect(box.indicators == [0, 0, 0])
        #expect(outcomes(box.fulfil(asked)) == [.done])
        #expect(box.indicators == [0, 2, 0])
        var other = Box()
        guard case .perform(_, _, let id) = other.ask(.dial(number: "6")).last else {
            Issue.record("nothing was asked")
            return
        }
        #expect(outcomes(other.table.providerAnswered(id, .failed(.timedOut))) == [.failed(.provider(.timedOut))])
        #expect(other.states == [])
        #expect(outcomes(other.ask(.dial(number: "7", provider: "door"))) == [.failed(.noProvider)])
    }

    @Test func `a second outgoing call holds the first`() {
        var box = Box()
        _ = box.fulfil(box.ask(.dial(number: "5")))
        _ = try? box.table.update(CallID(1), .active, from: "phone")
        let actions = box.fulfil(box.ask(.dial(number: "6")))
        #expect(steps(actions) == [.setHeld(CallID(1), true), .start(CallID(2), number: "6")])
        #expect(box.indicators == [1, 2, 2])
    }

    @Test func `a call that cannot be held refuses hold, swap and a second answer`() throws {
        var box = Box()
        let (first, _) = try box.table.reportIncoming(CallDetails(), from: "door")
        _ = try box.table.update(first, .active, from: "door")
        let (second, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        let before = box.table.snapshot
        for request in [
            CallRequest.answer(second), .threeWay(.holdActiveAndAcceptOther), .setHeld(first, true), .dial(number: "1"),
        ] {
            #expect(outcomes(box.ask(request)) == [.failed(.notSupported)])
        }
        #expect(box.table.snapshot == before)
    }

    @Test func `an unanswered call is ended at its provider, and missed`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        let asked = box.ask(.giveUp(id))
        #expect(steps(asked) == [.giveUp(id)])
        let ended = box.fulfil(asked).compactMap { action in
            if case .ended(let call) = action { call.state } else { nil }
        }
        #expect(ended == [.ended(.missed)])
    }

    @Test func `a call that is answered, or about to be, is not given up`() throws {
        var box = Box()
        let (id, _) = try box.table.reportIncoming(CallDetails(), from: "phone")
        let answer = box.ask(.answer(id))
        #expect(outcomes(box.ask(.giveUp(id))) == [.failed(.noSuchCall)])
        _ = box.fulfil(answer)
        #expect(outcomes(box.ask(.giveUp(id))) == [.failed(.noSuchCall)])
        #expect(box.states == [.active])
    }

    @Test func `tones go to the active call, all of a request at once`() throws {
        var box = Box()
        #expect(outcomes(box.ask(.sendDTMF("1"))) == [.failed(.noSuchCall)])
        let (id, _) = try box.table.reportOutgoing(CallDetails(), from: "phone")
        _ = try box.table.update(id, .active, from: "phone")
        #expect(steps(box.ask(.sendDTMF("12#"))) == [.sendDTMF(id, "12#")])
        #expect(steps(box.ask(.sendDTMF("12#"))) == [.sendDTMF(id, "12#")])
    }
}

@Suite struct ThreeWayTests {
    /// An active call 1, a held call 2 of the same provider, and perhaps a waiting one.
    private func box(waiting: Bool = false) throws -> Box {
        var box = Box()
        for state in [CallState.active, .held] {
            let (id, _) = try box.table.reportOutgoing(CallDetails(), from: "phone")
            _ = try box.table.update(id, state, from: "phone")
        }
        if waiting { _ = try box.table.reportIncoming(CallDetails(), from: "phone") }
        return box
    }

    /// Three calls in conference, and a held one beside them.
    private func conference() throws -> Box {
        var box = Box()
        for state in [CallState.active, .active, .active, .held] {
            let (id, _) = try box.table.reportOutgoing(CallDetails(), from: "phone")
            _ = try box.table.update(id, state, from: "phone")
        }
        for id in [CallID(1), CallID(2), CallID(3)] {
            _ = try box.table.update(id, isConference: true, from: "phone")
        }
        return box
    }

    @Test func `a hang-up in a conference ends all of it, and no other call`() throws {
        var box = try conference()
        let actions = box.fulfil(box.ask(.hangUp(CallID(2))))
        #expect(steps(actions) == [.hangUp(CallID(2)), .hangUp(CallID(1)), .hangUp(CallID(3))])
        #expect(outcomes(actions) == [.done])
        #expect(box.states == [.held])
    }

    @Test func `one call can be ended out of a conference`() throws {
        var box = try conference()
        #expect(steps(box.fulfil(box.ask(.end(CallID(2))))) == [.hangUp(CallID(2))])
        #expect(box.states == [.active, .active, .held])
    }

    @Test func `while a call is being dialled, another one is not`() throws {
        var box = Box()
        let first = box.ask(.dial(number: "1"))
        #expect(outcomes(box.ask(.dial(number: "2"))) == [.failed(.dialing)])
        #expect(box.states == [.setup])
        _ = box.fulfil(first)
        #expect(outcomes(box.ask(.dial(number: "2"))) == [.failed(.dialing)])
        _ = try box.table.update(CallID(1), .active, from: "phone")
        #expect(steps(box.ask(.dial(number: "2"))) == [.setHeld(CallID(1), true)])
    }

    @Test func `0 rejects the waiting call, otherwise releases the held one`() throws {
        var waiting = try box(waiting: true)
        #expect(steps(waiting.fulfil(waiting.ask(.threeWay(.releaseHeldOrRejectWaiting)))) == [.reject(CallID(3))])
        #expect(waiting.states == [.active, .held])
        var held = try box()
        _ = held.fulfil(held.ask(.threeWay(.releaseHeldOrRejectWaiting)))
        #expect(held.states == [.active])
    }

    @Test func `1 releases the active call and accepts the other`() throws {
        var box = try box()
        let actions = box.fulfil(box.ask(.threeWay(.releaseActiveAndAcceptOther)))
        #expect(steps(actions) == [.hangUp(CallID(1)), .setHeld(CallID(2), false)])
        #expect(box.states == [.active])
        #expect(outcomes(actions) == [.done])
    }

    @Test func `2 swaps in one step where the provider can`() throws {
        var box = try box()
        let before = box.table.snapshot
        let actions = box.fulfil(box.ask(.threeWay(.holdActiveAndAcceptOther)))
        #expect(steps(actions) == [.swap(hold: CallID(1), resume: CallID(2))])
        #expect(box.states == [.held, .active])
        #expect(box.table.snapshot.swapped(since: before))
        #expect(!box.table.snapshot.swapped(since: box.table.snapshot))
    }

    @Test func `2 holds, or resumes, a single call`() throws {
        var box = try box()
        _ = box.fulfil(box.ask(.threeWay(.release(index: 2))))
        _ = box.fulfil(box.ask(.threeWay(.holdActiveAndAcceptOther)))
        #expect(box.indicators == [1, 0, 2])
        _ = box.fulfil(box.ask(.threeWay(.holdActiveAndAcceptOther)))
        #expect(box.indicators == [1, 0, 0])
    }

    @Test func `tones go to the named call, also beside another active one`() throws {
        var box = try box()
        let (first, second) = (CallID(1), CallID(2))
        #expect(outcomes(box.ask(.sendDTMF("1", to: second))) == [.failed(.noSuchCall)])
        _ = box.fulfil(box.ask(.threeWay(.join)))
        #expect(steps(box.ask(.sendDTMF("1", to: second))) == [.sendDTMF(second, "1")])
        #expect(steps(box.ask(.sendDTMF("2", to: first))) == [.sendDTMF(first, "2")])
        #expect(outcomes(box.ask(.sendDTMF("3", to: CallID(9)))) == [.failed(.noSuchCall)])
    }

    @Test func `3 joins, then one call can be consulted alone`() throws {
        var box = try box()
        #expect(steps(box.fulfil(box.ask(.threeWay(.join)))) == [.conference([CallID(1), CallID(2)])])
        #expect(box.table.calls.map(\.isConference) == [true, true])
        #expect(box.indicators == [1, 0, 0])
        _ = box.fulfil(box.ask(.threeWay(.consult(index: 2))))
        #expect(box.states == [.held, .active])
        _ = box.fulfil(box.ask(.threeWay(.release(index: 1))))
        #expect(box.table.calls.map(\.isConference) == [false])
    }

    @Test func `4, which would connect the two parties, is refused and changes nothing`() throws {
        var box = try box()
        let before = box.table.snapshot
        let actions = box.ask(.threeWay(.transfer))
        #expect(steps(actions).isEmpty && outcomes(actions) == [.failed(.notSupported)])
        #expect(box.table.snapshot == before)
    }

    @Test(arguments: ["", "5", "10", "18", "31", "111", "x", "2x"])
    func `reads its text and nothing else`(_ text: String) {
        #expect(ThreeWayAction(text: text) == nil)
        for valid in ["0", "1", "11", "17", "2", "21", "27", "3", "4"] {
            #expect(ThreeWayAction(text: valid)?.text == valid)
        }
    }
}
