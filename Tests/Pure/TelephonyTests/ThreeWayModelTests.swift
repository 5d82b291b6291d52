import Telephony
import Testing

/// AT+CHLD on random tables, compared with 3GPP TS 22.030 §6.5.5.1.
@Suite struct ThreeWayModelTests {
    @Test(arguments: randomCourses(400))
    func `calls change according to the model`(_ seed: Int) throws {
        var course = ThreeWayCourse(seed: UInt64(seed))
        for _ in 0..<40 { try course.step() }
    }
}

/// Calls in a user's terms.
private struct ModelCall: Equatable, CustomStringConvertible {
    let index: Int
    var state: String
    var isJoined: Bool
    let canHold: Bool
    let canSwap: Bool
    let provider: String

    var description: String { "\(index) \(state)\(isJoined ? "+" : "") \(provider)\(canHold ? "" : " fixed")" }
}

private enum Verdict: Equatable {
    case done([ModelCall])
    case refused
}

private struct ThreeWayCourse {
    private var state: UInt64
    private static let able: CallCapabilities = [.hold, .swap, .conference, .dtmf, .dial]

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    }

    private mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }

    /// One random table, one action, all steps fulfilled.
    mutating func step() throws {
        var table = try randomTable()
        let before = Self.read(table)
        let texts = ["0", "1", "11", "12", "13", "14", "2", "21", "22", "23", "24", "3", "4"]
        let text = texts[below(texts.count)]
        let action = try #require(ThreeWayAction(text: text))
        let expected = Self.verdict(text, before)
        var actions = table.request(.threeWay(action), id: CallRequestID(1))
        var position = 0
        while position < actions.count {
            if case .perform(_, _, let id) = actions[position] { actions += table.providerAnswered(id, .fulfilled) }
            position += 1
        }
        let outcomes = actions.compactMap { action in
            if case .completed(_, let outcome) = action { outcome } else { nil }
        }
        let after = Self.read(table)
        switch expected {
        case .refused:
            #expect(outcomes.count == 1 && outcomes != [.done], "\(text) of \(before)")
            #expect(after == before, "\(text)")
        case .done(let calls):
            #expect(outcomes == [.done], "\(text) of \(before)")
            #expect(after == calls, "\(text) of \(before)")
        }
    }

    private mutating func randomTable() throws -> CallTable {
        var table = CallTable()
        let fixed = Self.able.subtracting(.hold)
        table.register(CallProvider(name: "a", capabilities: Self.able))
        table.register(CallProvider(name: "b", capabilities: Self.able.subtracting(.swap)))
        let isMixed = below(4) == 0
        var joined: [CallID] = []
        let joinedState: CallState = below(2) == 0 ? .active : .held
        for _ in 0..<below(5) {
            let provider = isMixed && below(2) == 0 ? "b" : "a"
            let details = CallDetails(capabilities: below(6) == 0 ? fixed : nil)
            switch below(5) {
            case 0: _ = try table.reportIncoming(details, from: provider)
            case 1:
                let (id, _) = try table.reportOutgoing(details, from: provider)
                if below(2) == 0 { _ = try table.update(id, .alerting, from: provider) }
            case 2:
                let (id, _) = try table.reportOutgoing(details, from: provider)
                _ = try table.update(id, joinedState, from: provider)
                if provider == "a" { joined.append(id) }
            default:
                let (id, _) = try table.reportOutgoing(details, from: provider)
                // Reported held first, because a second active call of another provider would hold the first.
                let isFirst = !table.calls.contains { $0.state == .active }
                _ = try table.update(id, isFirst && below(2) == 0 ? .active : .held, from: provider)
            }
        }
        if joined.count > 1, below(2) == 0 {
            for id in joined { _ = try table.update(id, isConference: true, from: "a") }
        }
        return table
    }

    private static func read(_ table: CallTable) -> [ModelCall] {
        table.snapshot.calls.map { call in
            ModelCall(
                index: call.index, state: "\(call.state)", isJoined: call.isConference,
                canHold: call.capabilities.contains(.hold), canSwap: call.capabilities.contains(.swap),
                provider: call.provider)
        }
    }

    // MARK: The model

    private static func verdict(_ text: String, _ calls: [ModelCall]) -> Verdict {
        let first = text.first
        let index = text.count == 2 ? text.last?.wholeNumberValue : nil
        switch (first, index) {
        case ("0", _): return releaseHeld(calls)
        case ("1", nil): return releaseActive(calls)
        case ("1", let index?): return release(index, calls)
        case ("2", nil): return holdActive(calls)
        case ("2", let index?): return consult(index, calls)
        case ("3", _): return join(calls)
        default: return .refused
        }
    }

    private static func isRinging(_ call: ModelCall) -> Bool { call.state == "incoming" || call.state == "waiting" }
    private static func isOutgoing(_ call: ModelCall) -> Bool { call.state == "dialing" || call.state == "alerting" }

    /// The held call that is meant: the one with the lowest index, with those it is joined with.
    private static func heldParty(_ calls: [ModelCall]) -> [Int] {
        guard let first = calls.first(where: { $0.state == "held" }) else { return [] }
        guard first.isJoined else { return [first.index] }
        return calls.filter { $0.state == "held" && $0.isJoined && $0.provider == first.provider }.map(\.index)
    }

    /// Derived state: rings or waits, alone or joined.
    private static func settled(_ calls: [ModelCall]) -> Verdict {
        var calls = calls
        let isUp = calls.contains { !isRinging($0) }
        var isNext = !isUp
        for position in calls.indices {
            if isRinging(calls[position]) {
                calls[position].state = isNext ? "incoming" : "waiting"
                isNext = false
            }
        }
        for provider in ["a", "b"] {
            let joined = calls.indices.filter { calls[$0].isJoined && calls[$0].provider == provider }
            if joined.count == 1 { calls[joined[0]].isJoined = false }
        }
        return .done(calls)
    }

    private static func set(_ state: String, _ indices: [Int], _ calls: [ModelCall]) -> [ModelCall] {
        calls.map { call in
            var call = call
            if indices.contains(call.index) { call.state = state }
            return call
        }
    }

    /// Holds every active call except `kept`; nil when one cannot be held.
    private static func held(_ calls: [ModelCall], but kept: Int? = nil) -> [ModelCall]? {
        let active = calls.filter { $0.state == "active" && $0.index != kept }
        return active.allSatisfy(\.canHold) ? set("held", active.map(\.index), calls) : nil
    }

    private static func releaseHeld(_ calls: [ModelCall]) -> Verdict {
        // Calls are in the order of their index; the call that rang first is meant, which is the same here.
        if let ringing = calls.first(where: isRinging) { return settled(calls.filter { $0.index != ringing.index }) }
        let rest = calls.filter { $0.state != "held" }
        return rest.count == calls.count ? .refused : settled(rest)
    }

    private static func releaseActive(_ calls: [ModelCall]) -> Verdict {
        guard !calls.isEmpty else { return .refused }
        let rest = calls.filter { $0.state != "active" && !isOutgoing($0) }
        if let ringing = rest.first(where: isRinging) { return settled(set("active", [ringing.index], rest)) }
        return settled(set("active", heldParty(rest), rest))
    }

    private static func release(_ index: Int, _ calls: [ModelCall]) -> Verdict {
        guard let call = calls.first(where: { $0.index == index }), !isRinging(call) else { return .refused }
        return settled(calls.filter { $0.index != index })
    }

    private static func holdActive(_ calls: [ModelCall]) -> Verdict {
        if let ringing = calls.first(where: isRinging) {
            return held(calls).map { settled(set("active", [ringing.index], $0)) } ?? .refused
        }
        guard !calls.contains(where: isOutgoing), !calls.isEmpty else { return .refused }
        let party = heldParty(calls)
        guard let room = roomFor(party, calls) else { return .refused }
        return settled(set("active", party, room))
    }

    /// Two single calls of one provider that can swap are swapped; otherwise all active calls have to be held.
    private static func roomFor(_ party: [Int], _ calls: [ModelCall]) -> [ModelCall]? {
        let active = calls.filter { $0.state == "active" }
        let new = calls.filter { party.contains($0.index) }
        if active.count == 1, new.count == 1, active[0].provider == new[0].provider, active[0].canSwap, new[0].canSwap {
            return set("held", [active[0].index], calls)
        }
        return held(calls)
    }

    private static func consult(_ index: Int, _ calls: [ModelCall]) -> Verdict {
        guard !calls.contains(where: isOutgoing), let call = calls.first(where: { $0.index == index }),
            call.state == "active" || call.state == "held"
        else { return .refused }
        guard let room = call.state == "active" ? held(calls, but: index) : roomFor([index], calls) else {
            return .refused
        }
        return settled(
            room.map { call in
                var call = call
                if call.index == index { (call.state, call.isJoined) = ("active", false) }
                return call
            })
    }

    /// The active calls and the held party, all of one provider.
    private static func together(_ calls: [ModelCall]) -> [Int]? {
        let active = calls.filter { $0.state == "active" }
        let party = calls.filter { heldParty(calls).contains($0.index) }
        guard !active.isEmpty, !party.isEmpty, Set((active + party).map(\.provider)).count == 1 else { return nil }
        return (active + party).map(\.index)
    }

    private static func join(_ calls: [ModelCall]) -> Verdict {
        guard let all = together(calls) else { return .refused }
        return settled(
            calls.map { call in
                var call = call
                if all.contains(call.index) { (call.state, call.isJoined) = ("active", true) }
                return call
            })
    }
}
