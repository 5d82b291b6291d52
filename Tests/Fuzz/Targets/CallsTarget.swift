import BluetoothTypes
import HandsFree
import Telephony

/// The call table between providers and two headsets: reports, requests, answers and departures in any order.
///
/// An input consists of two bytes for the configuration, and then steps (`CallsWorld.step`); bytes below 0x80 are sent by a
/// headset.
enum CallsTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        var steps = StepReader(input)
        var world = try CallsWorld(
            CallTable.Configuration(
                secondCall: steps.flag() ? .reject : .wait, doNotDisturb: steps.byte() == 1))
        var text: [UInt8] = []
        while !steps.isAtEnd {
            let byte = steps.byte()
            if byte < 0x80 {
                text.append(byte)
            } else {
                try world.say(text, to: Int(byte & 1))
                text = []
                try world.step(byte, &steps)
            }
        }
        try world.say(text, to: 0)
        try world.drain()
    }
}

/// The shell around a call table: two gateways, providers that answer when the input says so, and a client.
private struct CallsWorld {
    private struct Headset {
        var gateway: AudioGateway
        var view: HeadsetView
        /// Whether calls changed while it had disabled their indicators.
        var isBehind = false
    }

    private var table: CallTable
    private var headsets: [Headset] = []
    private var now = Instant.zero
    /// The calls as reported by the actions.
    private var told: [CallID: Call] = [:]
    private var used: Set<CallID> = []
    private var asked: [ProviderActionID] = []
    /// Open requests by their origin; nil for the client's.
    private var open: [CallRequestID: (headset: Int, id: GatewayRequestID)?] = [:]
    private var lastRequest: UInt64 = 0
    private let names = ["a", "b"]

    init(_ configuration: CallTable.Configuration) throws(BrokenRule) {
        table = CallTable(configuration: configuration)
        var gateway = AudioGatewayConfiguration()
        gateway.threeWay = ThreeWayOption.allCases
        gateway.lastDialed = "5551"
        gateway.quota.burst = 10_000
        gateway.requestTimeout = .seconds(86_400)
        let lines = [
            "AT+BRSF=127", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+CLIP=1", "AT+CCWA=1",
        ]
        for index in 0..<2 {
            headsets.append(Headset(gateway: AudioGateway(configuration: gateway), view: HeadsetView(gateway)))
            try perform(headsets[index].gateway.start(at: now), of: index)
            for line in lines { try say(Array(line.utf8) + [0x0D], to: index) }
            try require(headsets[index].gateway.isEstablished, "the headset is connected")
        }
        for (name, capabilities) in zip(names, [UInt16.max, CallCapabilities.dial.rawValue]) {
            table.register(CallProvider(name: name, capabilities: CallCapabilities(rawValue: capabilities)))
        }
    }

    // MARK: Steps

    mutating func say(_ bytes: [UInt8], to index: Int) throws(BrokenRule) {
        guard !bytes.isEmpty, headsets[index].gateway.isOpen else { return }
        headsets[index].view.say(bytes)
        try perform(headsets[index].gateway.bytesReceived(bytes, at: now), of: index)
    }

    mutating func step(_ kind: UInt8, _ steps: inout StepReader) throws(BrokenRule) {
        let name = names[Int(kind & 1)]
        switch kind & 0xFE {
        case 0x82:
            now = now.advanced(by: .milliseconds(Int(steps.byte()) * 20))
            for index in headsets.indices { try perform(headsets[index].gateway.deadlineReached(at: now), of: index) }
        case 0x84:
            table.register(
                CallProvider(name: name, capabilities: CallCapabilities(rawValue: UInt16(steps.byte()) ^ 0xFF)))
        case 0x86:
            try apply(table.providerGone(name))
            try require(!table.calls.contains { $0.provider == name }, "calls of \(name) are over")
        case 0x88:
            try report { table throws(CallReportError) in try table.reportIncoming(Self.party, from: name).actions }
        case 0x8A:
            try report { table throws(CallReportError) in try table.reportOutgoing(Self.party, from: name).actions }
        case 0x8C: try update(&steps)
        case 0x8E: try answer(&steps)
        case 0x90: try ask(request(&steps), for: nil)
        default: break
        }
    }

    private static let party = CallDetails(number: "+4930555", name: "A \"B\"")

    private func anyCall(_ steps: inout StepReader) -> CallID {
        let number = Int(steps.byte())
        return number < table.calls.count ? table.calls[number].id : CallID(UInt32(number))
    }

    private mutating func update(_ steps: inout StepReader) throws(BrokenRule) {
        let id = anyCall(&steps)
        let owner = table.call(id)?.provider ?? names[0]
        let states: [CallState] = [.dialing, .alerting, .incoming, .waiting, .active, .held, .setup]
        let what = steps.below(10)
        try report { table throws(CallReportError) in
            switch what {
            case 0..<7: try table.update(id, states[what], from: owner)
            case 7: try table.ended(id, .remoteHangUp, from: owner)
            case 8: try table.update(id, isConference: table.call(id)?.isConference == false, from: owner)
            default: try table.update(id, CallDetails(number: "1", capabilities: []), from: owner)
            }
        }
    }

    private mutating func answer(_ steps: inout StepReader) throws(BrokenRule) {
        guard !asked.isEmpty else { return }
        let id = asked.remove(at: steps.below(asked.count))
        let answers: [ProviderAnswer] = [.fulfilled, .failed(.refused), .failed(.timedOut)]
        try apply(table.providerAnswered(id, answers[steps.below(3)]))
    }

    private func request(_ steps: inout StepReader) -> CallRequest {
        let id = anyCall(&steps)
        let index = steps.below(8)
        switch steps.below(10) {
        case 0: return .answer(id)
        case 1: return .reject(id)
        case 2: return index < 4 ? .hangUp(id) : .end(id)
        case 3: return .dial(number: "5552", provider: index < 2 ? names[index] : nil)
        case 4: return .setHeld(id, index & 1 == 0)
        case 5: return .threeWay(.consult(index: index))
        case 6: return .threeWay(.release(index: index))
        case 7: return .sendDTMF("5")
        case 8: return .giveUp(id)
        default:
            let actions: [ThreeWayAction] = [
                .releaseHeldOrRejectWaiting, .releaseActiveAndAcceptOther, .holdActiveAndAcceptOther, .join, .transfer,
            ]
            return .threeWay(actions[index % actions.count])
        }
    }

    /// Every provider answers in the end.
    mutating func drain() throws(BrokenRule) {
        while !asked.isEmpty { try apply(table.providerAnswered(asked.removeFirst(), .fulfilled)) }
        try require(open.isEmpty, "\(open.count) requests have no end")
        try require(!table.calls.contains { $0.state == .setup }, "what is not dialled is not there")
        for headset in headsets where headset.gateway.isOpen {
            try require(headset.view.unanswered.isEmpty, "every line has its answer")
        }
    }

    // MARK: The table

    private mutating func report(
        _ body: (inout CallTable) throws(CallReportError) -> [CallTable.Action]
    ) throws(BrokenRule) {
        let before = table.snapshot
        let actions: [CallTable.Action]
        do throws(CallReportError) {
            actions = try body(&table)
        } catch {
            return try require(table.snapshot == before, "a report that is refused changes nothing: \(error)")
        }
        try apply(actions)
    }

    private mutating func ask(
        _ request: CallRequest, for asker: (headset: Int, id: GatewayRequestID)?
    ) throws(BrokenRule) {
        lastRequest += 1
        let id = CallRequestID(lastRequest)
        open[id] = .some(asker)
        try apply(table.request(request, id: id))
    }

    /// Performs actions like the shell: calls first, then answers to requests.
    private mutating func apply(_ actions: [CallTable.Action]) throws(BrokenRule) {
        var completed: [(asker: (headset: Int, id: GatewayRequestID)?, outcome: CallRequestOutcome)] = []
        for action in actions {
            switch action {
            case .added(let call):
                try require(used.insert(call.id).inserted, "\(call.id) is used once")
                told[call.id] = call
            case .changed(let call):
                try require(told[call.id]?.index == call.index, "\(call.id) is there and keeps its index")
                told[call.id] = call
            case .ended(let call):
                try require(told.removeValue(forKey: call.id) != nil && call.state.isEnded, "\(call.id) ends once")
            case .perform(let step, let provider, let id):
                try require(table.providers.contains { $0.name == provider }, "\(step) for nobody")
                asked.append(id)
            case .completed(let id, let outcome):
                guard let asker = open.removeValue(forKey: id) else { throw BrokenRule("\(id) is completed twice") }
                completed.append((asker, outcome))
            }
        }
        try checkTable()
        let snapshot = table.snapshot
        for index in headsets.indices {
            try perform(headsets[index].gateway.callsChanged(snapshot, at: now), of: index)
        }
        for (asker, outcome) in completed {
            guard let asker else { continue }
            let actions = headsets[asker.headset].gateway.requestCompleted(
                asker.id, AudioGateway.RequestOutcome(outcome), at: now)
            try perform(actions, of: asker.headset)
        }
    }

    private func checkTable() throws(BrokenRule) {
        let calls = table.calls
        try require(
            told.count == calls.count && calls.allSatisfy { told[$0.id] == $0 }, "actions tell all of the table")
        try require(
            Set(calls.map(\.index)).count == calls.count
                && calls.allSatisfy { (1...7).contains($0.index) && !$0.state.isEnded }, "seven places: \(calls)")
        let ringing = calls.count { $0.state == .incoming }
        let isUp = calls.contains { !$0.state.isRinging && $0.state != .setup }
        let mayRing = !isUp && calls.contains { $0.state.isRinging }
        try require(ringing == (mayRing ? 1 : 0), "one call rings when nothing is up, else none: \(calls)")
    }

    // MARK: The headsets

    private mutating func perform(_ actions: [AudioGateway.Action], of index: Int) throws(BrokenRule) {
        var requests: [(CallRequest, GatewayRequestID)] = []
        for action in actions {
            switch action {
            case .send(let code): try headsets[index].view.hear(code)
            case .request(let request, let id):
                headsets[index].view.isWaiting = true
                requests.append((request, id))
            case .event(.established): try headsets[index].view.establish()
            case .fault(let reason): throw BrokenRule("fault: \(reason)")
            case .setDeadline, .event, .closeConnection, .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio:
                break
            }
        }
        if headsets[index].gateway.isOpen { try check(index) }
        for (request, id) in requests { try ask(request, for: (index, id)) }
    }

    private mutating func check(_ index: Int) throws(BrokenRule) {
        let view = headsets[index].view
        try view.rest()
        guard !view.isWaiting, view.isEstablished else { return }
        let indicators = table.snapshot.indicators
        let expected = [indicators.call, indicators.callSetup, indicators.callHeld]
        let known = [Indicator.call, .callSetup, .callHeld].map { view.known[$0] ?? 0 }
        if known == expected {
            headsets[index].isBehind = false
        } else if !view.isReported(.call) {
            headsets[index].isBehind = true
        } else {
            try require(headsets[index].isBehind, "the headset knows \(known), and the calls are \(expected)")
        }
    }
}
