import Telephony
import Testing

@Suite struct CallTableFuzzTests {
    @Test(arguments: randomCourses(30))
    func `any order of reports and requests leaves the table consistent`(_ seed: Int) {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<1500 { walk.step() }
        walk.drain()
    }

    @Test func `the same events give the same actions`() {
        var first = Walk(seed: 7)
        var second = Walk(seed: 7)
        for _ in 0..<500 {
            first.step()
            second.step()
        }
        #expect(first.history == second.history)
    }
}

/// Random events on a table, with invariants checked after each of them.
private struct Walk {
    var table = CallTable()
    var history: [CallTable.Action] = []
    private var state: UInt64
    private var shown: [CallID: Call] = [:]
    private var seen: Set<CallID> = []
    private var open: Set<CallRequestID> = []
    private var asked: [ProviderActionID] = []
    private var lastRequest: UInt64 = 0
    private let names = ["a", "b", "c"]

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    }

    private mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }

    private mutating func anyCall() -> CallID {
        table.calls.isEmpty || below(10) == 0 ? CallID(UInt32(below(50))) : table.calls[below(table.calls.count)].id
    }

    mutating func step() {
        let name = names[below(names.count)]
        switch below(14) {
        case 12:
            let id = anyCall()
            let owner = table.call(id)?.provider ?? name
            let isConference = below(3) > 0
            report { table throws(CallReportError) in try table.update(id, isConference: isConference, from: owner) }
        case 13:
            let id = anyCall()
            let owner = table.call(id)?.provider ?? name
            let details = CallDetails(
                number: "\(below(3))", capabilities: CallCapabilities(rawValue: UInt16(below(256))))
            report { table throws(CallReportError) in try table.update(id, details, from: owner) }
        case 0:
            table.register(CallProvider(name: name, capabilities: CallCapabilities(rawValue: UInt16(below(256)))))
        case 1 where below(5) == 0:
            check(table.providerGone(name))
            #expect(!table.calls.contains { $0.provider == name })
        case 1, 2:
            report { table throws(CallReportError) in try table.reportIncoming(CallDetails(), from: name).actions }
        case 3: report { table throws(CallReportError) in try table.reportOutgoing(CallDetails(), from: name).actions }
        case 4, 5, 6:
            let id = anyCall()
            let owner = table.call(id)?.provider ?? name
            let next = [CallState.dialing, .alerting, .incoming, .waiting, .active, .held, .ended(.remoteHangUp)][
                below(7)]
            report { table throws(CallReportError) in try table.update(id, next, from: owner) }
        case 7, 8, 9: ask()
        default: answer()
        }
    }

    mutating func drain() {
        while !asked.isEmpty { answer() }
        #expect(open.isEmpty, "every request is completed")
        #expect(!table.calls.contains { $0.state == .setup }, "undialled calls are removed")
    }

    private mutating func report(_ body: (inout CallTable) throws(CallReportError) -> [CallTable.Action]) {
        let before = table.snapshot
        do {
            check(try body(&table))
        } catch {
            #expect(table.snapshot == before, "a refused report changes nothing")
        }
    }

    private mutating func ask() {
        let id = anyCall()
        let requests: [CallRequest] = [
            .answer(id), .reject(id), .hangUp(id), .giveUp(id), .dial(number: "1"), .setHeld(id, below(2) == 0),
            .sendDTMF("5"), .threeWay(.releaseHeldOrRejectWaiting), .threeWay(.releaseActiveAndAcceptOther),
            .threeWay(.holdActiveAndAcceptOther), .threeWay(.join), .threeWay(.transfer),
            .threeWay(.consult(index: below(7) + 1)), .threeWay(.release(index: below(7) + 1)), .responseAndHold(.hold),
        ]
        lastRequest += 1
        open.insert(CallRequestID(lastRequest))
        check(table.request(requests[below(requests.count)], id: CallRequestID(lastRequest)))
    }

    private mutating func answer() {
        guard !asked.isEmpty else { return }
        let id = asked.remove(at: below(asked.count))
        let answers: [ProviderAnswer] = [.fulfilled, .fulfilled, .failed(.refused), .failed(.timedOut)]
        check(table.providerAnswered(id, answers[below(answers.count)]))
    }

    private mutating func check(_ actions: [CallTable.Action]) {
        history += actions
        for action in actions {
            switch action {
            case .added(let call):
                #expect(seen.insert(call.id).inserted, "an id is used once")
                shown[call.id] = call
            case .changed(let call):
                #expect(shown[call.id] != nil, "added before changed")
                #expect(shown[call.id]?.index == call.index)
                shown[call.id] = call
            case .ended(let call):
                #expect(shown.removeValue(forKey: call.id) != nil, "added before ended")
                #expect(call.state.isEnded)
            case .perform(_, let provider, let id):
                #expect(table.providers.contains { $0.name == provider })
                asked.append(id)
            case .completed(let id, _):
                #expect(open.remove(id) != nil, "completed once")
            }
        }
        let calls = table.calls
        #expect(shown == Dictionary(uniqueKeysWithValues: calls.map { ($0.id, $0) }), "actions tell all of the table")
        #expect(Set(calls.map(\.index)).count == calls.count)
        #expect(calls.allSatisfy { (1...7).contains($0.index) && !$0.state.isEnded })
        let ringing = calls.count { $0.state == .incoming }
        let isUp = calls.contains { !$0.state.isRinging && $0.state != .setup }
        #expect(ringing <= 1)
        if isUp { #expect(ringing == 0) } else { #expect((ringing == 1) == calls.contains { $0.state.isRinging }) }
        let indicators = table.snapshot.indicators
        #expect((indicators.callHeld == 0) == !calls.contains { $0.state == .held })
        #expect(indicators.callHeld == 0 || indicators.call == 1)
    }
}
