import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import TestSupport
import Testing

/// Signals of calls to a client on the bus, in order, with the call's properties as read right after each signal.
@ControlPlane
private final class CallSignals {
    /// Entries such as `CallAdded`, `StateChanged active`, `CallRemoved remoteHangUp`.
    private(set) var heard: [String] = []
    /// The properties in `CallAdded` and `IncomingCall`.
    private(set) var properties: [[String: Value]] = []
    /// The state of each call by its path, from the last signal.
    private(set) var states: [String: String] = [:]
    private var subscriptions: [Subscription] = []

    init(_ bus: BusConnection) async throws {
        subscriptions = [
            bus.subscribe(sender: BTCallName.bus, pathNamespace: BTCallPath.calls) { [weak self] signal in
                self?.received(signal)
            }
        ]
        // Every signal that the daemon sends after this reply is recorded.
        _ = try await bus.owner(of: BTCallName.bus)
    }

    func close() { for subscription in subscriptions { subscription.cancel() } }

    private func received(_ signal: BusSignal) {
        note(signal)
        switch signal.member {
        case BTCallName.Calls.callAdded, BTCallName.Calls.incomingCall:
            heard.append(signal.member)
            properties.append(signal.arguments[1].vardictValue ?? [:])
        case BTCallName.Calls.callRemoved: heard.append("\(signal.member) \(signal.arguments[1].stringValue ?? "")")
        case BTCallName.Call.stateChanged: heard.append("\(signal.member) \(signal.arguments[0].stringValue ?? "")")
        case BTCallName.Calls.cameraSettingsChanged: heard.append(signal.member)
        default: break
        }
    }

    private func note(_ signal: BusSignal) {
        let call = signal.arguments.first?.stringValue ?? ""
        switch signal.member {
        case BTCallName.Calls.callAdded: states[call] = signal.arguments[1]["State"]?.stringValue
        case BTCallName.Call.stateChanged:
            #expect(states[signal.path] != nil, "no state before CallAdded")
            states[signal.path] = call
        case BTCallName.Calls.callRemoved: #expect(states.removeValue(forKey: call) == "ended")
        default: break
        }
    }
}

extension DaemonTests {
    @Suite @ControlPlane struct CallObjectTests {
        /// The call objects on the bus.
        private func objects(_ box: Box) async throws -> [String: [String: Value]] {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.manager, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            var found: [String: [String: Value]] = [:]
            for object in reply.first?.entries ?? [] {
                for interface in object.value.entries ?? []
                where interface.key.stringValue == BTCallName.Interface.call {
                    found[object.key.stringValue ?? ""] = interface.value.vardictValue ?? [:]
                }
            }
            return found
        }

        @Test func `S2.10 S4.14 A call that ends in the same tick is signalled as added, ended and removed`()
            async throws
        {
            try await Box.run { box in
                let owner = Switchboard()
                box.daemon.calls.register(owner)
                let signals = try await CallSignals(box.client)
                var events = await box.bridge.events().makeAsyncIterator()
                #expect(await events.next() == .daemonAppeared)
                let record = try box.daemon.calls.reportIncoming(
                    from: owner, number: "5550100", options: ReportOptions(name: "Gate"))
                try owner.report("active", of: record, to: box.daemon.calls)
                try owner.report("ended", of: record, to: box.daemon.calls)
                try await eventually("it has ended") { signals.heard.last == "CallRemoved remoteHangUp" }
                #expect(
                    signals.heard == [
                        "CallAdded", "IncomingCall", "StateChanged active", "StateChanged ended",
                        "CallRemoved remoteHangUp",
                    ])
                // The properties in the signal are those of that moment.
                #expect(signals.properties.first?["State"] == .string("ringing"))
                #expect(signals.properties.first?["Direction"] == .string("incoming"))
                var seen: [BridgeEvent] = []
                while let event = await events.next() {
                    switch event {
                    case .callAdded, .callStateChanged, .callRemoved: seen.append(event)
                    default: break
                    }
                    if case .callRemoved = event { break }
                }
                guard case .callAdded(let call) = seen.first else {
                    Issue.record("\(seen)")
                    return
                }
                #expect(call.direction == .incoming && call.state == .ringing && call.number == "5550100")
                #expect(
                    seen.dropFirst() == [
                        .callStateChanged(call.id, .active, reason: nil),
                        .callStateChanged(call.id, .ended, reason: "remoteHangUp"),
                        .callRemoved(call.id, reason: "remoteHangUp"),
                    ])
                signals.close()
            }
        }

        @Test func `S2.10 A client that subscribes during a call gets the call before its changes`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100")
                var events = await box.bridge.events().makeAsyncIterator()
                // Sent at the same time as the request for the current calls.
                try await registration.update(call, .active)
                var seen: [String] = []
                while seen.last != "removed", let event = await events.next() {
                    switch event {
                    case .callAdded(let added) where added.id == call:
                        seen.append("added")
                        try await registration.update(call, .ended)
                    case .callStateChanged(call, let state, _): seen.append(state.rawValue)
                    case .callRemoved(call, _): seen.append("removed")
                    default: break
                    }
                }
                #expect(seen.first == "added" && seen.count { $0 == "added" } == 1)
                #expect(seen.suffix(2) == ["ended", "removed"])
            }
        }

        @Test
        func `S2.11 A call's camera settings are signalled to everybody, and only its application may report them`()
            async throws
        {
            try await Box.run { box in
                let registration = try await box.register([.video])
                var events = await box.bridge.events().makeAsyncIterator()
                let call = try await registration.reportIncoming(
                    number: "5550100", media: CallMedia(video: .sendReceive))
                let settings = CameraSettings(camera: "front", width: 1280, height: 720, framesPerSecond: 30)
                try await registration.reportCamera(settings, of: call)
                var told: CameraSettings?
                while told == nil, let event = await events.next() {
                    if case .cameraSettingsChanged(call, let new) = event { told = new }
                }
                #expect(told == settings)
                let path = try #require(box.daemon.calls.calls.first?.path)
                let fields: [String: Value] = [
                    "camera": "front", "width": .uint32(1), "height": .uint32(1), "framesPerSecond": .uint32(1),
                ]
                let interface = BTCallName.Interface.call
                #expect(
                    await box.error(path, interface, "ReportCamera", [.vardict(fields)])
                        == "org.btcall.Error.NotProvider")
                var bad = settings
                bad.width = 0
                let error = await refusal { () throws(BridgeError) in
                    try await registration.reportCamera(bad, of: call)
                }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains("1 to 16384") == true)
            }
        }

        @Test func `S2.23 A crashed provider leaves no call, object or audio, and headsets see no call`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let crashing = try await CallBridge(bus: .address("\(box.address)"))
                let registration = try await crashing.register(
                    box.telephone, as: .init(name: "crashing", capabilities: [.hold]))
                let signals = try await CallSignals(box.client)
                let first = try await registration.reportOutgoing(number: "1")
                try await registration.update(first, .active)
                _ = try await registration.reportIncoming(number: "2")
                try await box.route(.earpiece)
                #expect(try await objects(box).count == 2)
                headset.forget()
                await crashing.close()
                try await eventually("its calls have ended") {
                    signals.heard.count { $0 == "CallRemoved providerGone" } == 2
                }
                #expect(try await objects(box).isEmpty)
                #expect(try await box.bridge.calls.list().isEmpty)
                #expect(try await headset.said().filter { $0.hasPrefix("+CLCC") }.isEmpty)
                try await box.route(.none)
                #expect(box.daemon.calls.calls.isEmpty)
                // A new call is unaffected: the first index is free again.
                let other = try await box.register()
                let call = try await other.reportIncoming(number: "3")
                let list = try await box.bridge.calls.list()
                #expect(list.map(\.id) == [call] && list.map(\.index) == [1])
                signals.close()
            }
        }

        @Test func `S2.30 A call keeps its UUID, and has its handle, address, video and the index of +CLCC`()
            async throws
        {
            try await Box.run { box in
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let registration = try await box.register([.hold])
                let first = try await registration.reportIncoming(
                    number: "+4930123456", media: CallMedia(video: .sendReceive), remoteAddress: "sip:gate@192.0.2.7")
                let second = try await registration.reportIncoming(number: "sip:bob@example.org")
                var ids: Set<Call.ID> = [first, second]
                let list = try await box.bridge.calls.list()
                #expect(list.map(\.id) == [first, second])
                #expect(UUID(uuidString: first.description) != nil)
                #expect(list.map(\.handle) == ["tel:+4930123456", "sip:bob@example.org"])
                #expect(list.map(\.remoteAddress) == ["sip:gate@192.0.2.7", "sip:bob@example.org"])
                #expect(list.map(\.hasVideo) == [true, false])
                #expect(list.map(\.direction) == [.incoming, .incoming] && list.map(\.provider) == ["test", "test"])
                for state in [Call.State.active, .held, .active] {
                    try await registration.update(first, state)
                    let call = try #require(try await box.bridge.calls.list().first)
                    #expect(call.id == first && call.index == 1 && call.state == state)
                }
                headset.forget()
                #expect(try await indices(headset) == (try await box.bridge.calls.list().map(\.index)))
                // The index is used again for the next call, the UUID never.
                try await registration.update(first, .ended)
                let third = try await registration.reportIncoming(number: "")
                #expect(ids.insert(third).inserted)
                let call = try #require(try await box.bridge.calls.list().last)
                #expect(call.index == 1 && call.handle == nil && call.remoteAddress == nil)
            }
        }

        /// The indices listed by AT+CLCC, in its order.
        private func indices(_ headset: RawHeadset) async throws -> [Int] {
            headset.forget()
            return try await headset.said().compactMap { line in
                guard line.hasPrefix("+CLCC: ") else { return nil }
                return line.dropFirst(7).split(separator: ",").first.flatMap { Int($0) }
            }
        }

        @Test(arguments: [1, 2, 3, 4])
        func `S2.30 After every step of a random walk AT+CLCC and the bus agree on calls and states`(
            _ seed: UInt64
        ) async throws {
            try await Box.run { box in
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let owners = [Switchboard("a"), Switchboard("b", [.dial])]
                for owner in owners { box.daemon.calls.register(owner) }
                let signals = try await CallSignals(box.client)
                var random = SeededGenerator(seed: seed)
                for step in 0..<60 {
                    await box.daemon.calls.walk(owners, &random)
                    // A provider may be about to hold a call: the headset's list counts when the bus had the same state
                    // before and after.
                    var before: [String: [String: Value]] = [:]
                    var after: [String: [String: Value]] = ["": [:]]
                    var listed: [String] = []
                    while before != after {
                        before = try await objects(box)
                        headset.forget()
                        listed = try await headset.said().filter { $0.hasPrefix("+CLCC: ") }.compactMap(Self.entry)
                        after = try await objects(box)
                    }
                    let shown = after.values.compactMap(Self.entry).sorted()
                    #expect(listed.sorted() == shown, "step \(step)")
                    // The state compared here does not change before its signals have arrived.
                    #expect(signals.states == after.compactMapValues { $0["State"]?.stringValue }, "step \(step)")
                }
                signals.close()
            }
        }

        /// The part `1 incoming active` of a line of +CLCC.
        private static func entry(_ line: String) -> String? {
            let parts = line.dropFirst(7).split(separator: ",").compactMap { Int($0) }
            let states = ["active", "held", "dialing", "alerting", "ringing", "waiting"]
            guard parts.count >= 3, states.indices.contains(parts[2]) else { return nil }
            return "\(parts[0]) \(parts[1] == 1 ? "incoming" : "outgoing") \(states[parts[2]])"
        }

        /// The same text for an object.
        private static func entry(_ properties: [String: Value]) -> String? {
            guard let index = properties["Index"]?.integerValue, let direction = properties["Direction"]?.stringValue,
                let state = properties["State"]?.stringValue
            else { return nil }
            return "\(index) \(direction) \(state)"
        }

        @Test func `S2.31 IncomingCall is sent once for each incoming call, with all known properties`() async throws {
            try await Box.run(
                // Signals go to everybody.
                configure: { $0.callers = .everybody },
                body: { box in
                    let registration = try await box.register([.hold])
                    let signals = try await CallSignals(box.client)
                    let call = try await registration.reportIncoming(number: "5550100", name: "Gate")
                    try await registration.update(call, .active)
                    try await registration.update(call, .held)
                    _ = try await registration.reportIncoming(number: "5550101")
                    let out = try await registration.reportOutgoing(number: "5550102")
                    try await registration.update(out, .ended)
                    try await eventually("the last call has ended") {
                        signals.heard.last?.hasPrefix("CallRemoved") == true
                    }
                    #expect(signals.heard.count { $0 == "IncomingCall" } == 2)
                    #expect(signals.heard.prefix(2) == ["CallAdded", "IncomingCall"])
                    #expect(signals.properties[1]["Number"] == .string("5550100"))
                    #expect(signals.properties[1]["Name"] == .string("Gate"))
                    #expect(signals.properties[1]["Handle"] == .string("tel:5550100"))
                    #expect(signals.properties[1]["Id"] == .string(call.description))
                    signals.close()
                })
        }

        @Test func `S4.15 An observer of one call gets its states, quality, mute and end, and nothing of others`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.quality = .milliseconds(20) },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register([.hold])
                    let other = try await registration.reportIncoming(number: "1")
                    let call = try await registration.reportOutgoing(number: "2")
                    let events = await box.bridge.calls.events(of: call)
                    try await registration.update(call, .active)
                    try await box.playing("earpiece")
                    try await box.bridge.calls.setMuted(true)
                    try await eventually("its quality is known") {
                        try await box.bridge.calls.list().first { $0.id == call }?.quality?.score != nil
                    }
                    try await registration.update(other, .ended)
                    try await registration.update(call, .ended)
                    var seen: [BridgeEvent] = []
                    for await event in events { seen.append(event) }
                    // The mute is not of the call: it may come before the answer that tells which calls there are.
                    guard case .callAdded(let added) = seen.first(where: { $0 != .mutedChanged(true) }) else {
                        Issue.record("\(seen)")
                        return
                    }
                    #expect(added.id == call)
                    #expect(seen.last == .callRemoved(call, reason: "remoteHangUp"))
                    #expect(seen.contains(.mutedChanged(true)))
                    #expect(seen.contains { if case .callQualityChanged(call, .some) = $0 { true } else { false } })
                    #expect(seen.contains(.callStateChanged(call, .ended, reason: "remoteHangUp")))
                    #expect(!seen.contains { "\($0)".contains(other.description) })
                    // A call that has ended has no events.
                    for await event in await box.bridge.calls.events(of: call) { Issue.record("\(event)") }
                })
        }

        @Test
        func `S4.21 The scheme of an address selects the provider; an unsupported scheme is refused with the list`()
            async throws
        {
            try await Box.run { box in
                let intercom = Switchboard("gate", [.hold])
                box.daemon.calls.register(intercom)
                let phone = Telephone()
                let door = Telephone()
                let registrations = [
                    try await box.bridge.register(phone, as: .init("phone", schemes: ["sip", "tel"])),
                    try await box.bridge.register(door, as: .init("door", schemes: ["Intercom"])),
                ]
                for address in ["sip:bob@example.org", "intercom:3", "tel:+49301", "5550100"] {
                    #expect(await place(address, box) == nil, "\(address)")
                    for call in try await box.bridge.calls.list() { try await box.bridge.calls.hangup(call.id) }
                    try await eventually("it has ended") { box.daemon.calls.calls.isEmpty }
                }
                #expect(
                    phone.requests.filter { if case .start = $0 { true } else { false } }
                        == [.start("sip:bob@example.org"), .start("+49301"), .start("5550100")])
                #expect(door.requests.first == .start("intercom:3"))
                let error = try #require(await place("skype:bob", box))
                #expect(error.name == "org.btcall.Error.NoSuchProvider")
                #expect(error.message.contains("skype:"))
                #expect(error.message.contains("gate (does not dial), phone (sip, tel), door (intercom)"))
                let wrong = try #require(await place("sip:bob@example.org", box, ["provider": "door"]))
                #expect(wrong.message.contains("door does not take sip:"))
                // A provider without schemes is used only for addresses that no other provider accepts.
                let any = Telephone()
                let last = try await box.bridge.register(any, as: .init(name: "any", capabilities: [.dial]))
                #expect(await place("skype:bob", box) == nil)
                #expect(any.requests.first == .start("skype:bob"))
                let refused = await refusal { () throws(BridgeError) in
                    _ = try await box.bridge.register(Telephone(), as: .init("bad", schemes: ["a b"]))
                }
                #expect(refused?.code == .invalidArgument)
                for registration in registrations + [last] { try await registration.unregister() }
            }
        }

        /// - Returns: the error; nil when the number was dialled.
        private func place(_ address: String, _ box: Box, _ options: [String: Value] = [:]) async -> BusError? {
            do throws(BusError) {
                _ = try await box.client.call(
                    BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.place,
                    [.string(address), .vardict(options)])
                return nil
            } catch {
                return error
            }
        }
    }
}

extension CallProviderDescription {
    /// A telephone that dials addresses of these schemes.
    fileprivate init(_ name: String, schemes: [String]) {
        self.init(name: name, capabilities: [.dial])
        self.schemes = schemes
    }
}
