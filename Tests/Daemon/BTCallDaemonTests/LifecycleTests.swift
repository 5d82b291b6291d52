import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// Activating and deactivating through the library.
    @Suite @ControlPlane struct LifecycleTests {
        private typealias State = CallBridge.State

        /// The legal next states.
        private static let next: [State: Set<State>] = [
            .inactive: [.activating], .activating: [.active, .deactivating], .active: [.deactivating],
            .deactivating: [.inactive],
        ]

        private static func areLegal(_ states: [State]) -> Bool {
            zip(states, states.dropFirst()).allSatisfy { next[$0]?.contains($1) == true }
        }

        /// Holds back bluetoothd's answers.
        @ControlPlane
        private final class Gate {
            private(set) var isReached = false
            /// Whether a caller that should wait did not.
            var isBehind = false
            private var isOpen = false
            private var waiting: [CheckedContinuation<Void, Never>] = []

            func pass() async {
                isReached = true
                if !isOpen { await withCheckedContinuation { waiting.append($0) } }
            }

            func open() {
                isOpen = true
                for continuation in waiting { continuation.resume() }
                waiting = []
            }
        }

        /// Every state that the daemon signals on the bus.
        @ControlPlane
        private final class StateLog {
            private(set) var states: [State] = []
            private let bus: BusConnection
            private var subscription: Subscription?

            init(_ box: Box) async throws {
                bus = try BusConnection(box.address)
                subscription = bus.subscribe(
                    sender: BTCallName.bus, path: BTCallPath.manager, member: "PropertiesChanged"
                ) { [weak self] signal in
                    let value = signal.arguments[1].vardictValue?[BTCallName.Manager.state]
                    if let state = value?.stringValue.flatMap({ State(rawValue: $0) }) { self?.states.append(state) }
                }
                // Every signal that the daemon sends after this reply is recorded.
                _ = try await bus.owner(of: BTCallName.bus)
            }

            func close() {
                subscription?.cancel()
                bus.close()
            }
        }

        @Test func `S4.1 library: one object starts everything, from the profiles to a call on a device`() async throws
        {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    let bridge = try await CallBridge(bus: .address("\(box.address)"))
                    try await bridge.activate()
                    try await bridge.audioDeviceManager.start()
                    try await bridge.audioDeviceManager.setAudioDevice(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await bridge.register(box.telephone, as: .init(name: "one object"))
                    let call = try await registration.reportOutgoing(number: "+4930123456")
                    try await registration.update(call, .active)
                    try await box.route(#require(Choice.bluetooth(address: "\(Box.first)")))
                    #expect(try await bridge.calls.list().map(\.id) == [call])
                    #expect(try await bridge.status().state == .active)
                    #expect(try await bridge.session.isManual() == false)
                    await bridge.close()
                })
        }

        @Test func `S4.11 library: activating and deactivating return when the state is reached, as does the program`()
            async throws
        {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    #expect(try await box.bridge.state == .inactive)
                    try await box.bridge.activate()
                    #expect(try await box.bridge.state == .active)
                    #expect(box.bluez.profiles.map(\.uuid) == [.handsFreeAudioGateway])
                    try await box.bridge.activate()
                    let program = try Program(box.address)
                    #expect(try await program("deactivate").text == "inactive\n")
                    #expect(try await box.bridge.state == .inactive)
                    #expect(box.bluez.profiles.isEmpty)
                    #expect(try await program("deactivate").status == 0)
                    #expect(try await program("activate", "--json").text.contains("\"active\""))
                    #expect(try await box.bridge.state == .active && !box.bluez.profiles.isEmpty)
                })
        }

        @Test func `S4.11 library: an activation waits for bluetoothd, and a failed one returns to inactive`()
            async throws
        {
            try await Box.run(
                configure: { configuration in
                    configuration.autostart = false
                    configuration.timeouts.activation = .seconds(60)
                },
                body: { box in
                    let gate = Gate()
                    box.bluez.onRegistration = { await gate.pass() }
                    let (bridge, log) = (box.bridge, try await StateLog(box))
                    let activation = Task { @ControlPlane in
                        defer { gate.isBehind = true }
                        return await refusal { () throws(BridgeError) in try await bridge.activate() }
                    }
                    try await eventually("bluetoothd is asked") { gate.isReached }
                    #expect(try await bridge.state == .activating)
                    #expect(!gate.isBehind && box.bluez.profiles.isEmpty)
                    let other = try await CallBridge(bus: .address("\(box.address)"))
                    try await other.deactivate()
                    let error = try #require(await activation.value)
                    #expect(error.code == .wrongState && error.message.contains("deactivated"), "\(error)")
                    #expect(try await bridge.state == .inactive)
                    box.bluez.onRegistration = nil
                    gate.open()
                    try await bridge.activate()
                    #expect(try await bridge.state == .active)
                    try await eventually("the states are signalled") { log.states.count >= 5 }
                    #expect(log.states == [.activating, .deactivating, .inactive, .activating, .active])
                    log.close()
                    await other.close()
                })
        }

        @Test(.timeLimit(.minutes(2)))
        func `S4.12 library: states follow in legal order, whatever several programs request at once`() async throws {
            try await Box.run { box in
                let log = try await StateLog(box)
                let reader = StreamLog(await box.bridge.states())
                try await eventually("the present state is delivered") { !reader.elements.isEmpty }
                var bridges: [CallBridge] = []
                for _ in 0..<4 { bridges.append(try await CallBridge(bus: .address("\(box.address)"))) }
                let storms = bridges.enumerated().map { index, bridge in
                    Task { await Self.storm(bridge, seed: UInt64(412 + index)) }
                }
                var refused: [BridgeError.Code] = []
                for storm in storms { refused += await storm.value }
                try await box.bridge.deactivate()
                try await box.bridge.activate()
                try await eventually("the last state is delivered") {
                    log.states.last == .active && reader.elements.last == .some(.active)
                }
                let seen = reader.elements.compactMap { $0 }
                #expect(Self.areLegal(log.states), "\(log.states)")
                #expect(Self.areLegal(seen), "\(seen)")
                #expect(seen.first == .active && Array(seen.dropFirst()) == Array(log.states.suffix(seen.count - 1)))
                #expect(Set(log.states) == Set(State.allCases))
                // The only refusal is that another program wanted the opposite.
                #expect(Set(refused).isSubset(of: [.wrongState]))
                print("storm: \(log.states.count) states, \(refused.count) of 240 requests refused")
                try await eventually("bluetoothd has the profile") { box.bluez.profiles.count == 1 }
                for bridge in bridges { await bridge.close() }
                log.close()
                await box.bridge.close()
                await reader.end()
            }
        }

        /// Sixty requests, each after the answer to the previous one.
        ///
        /// - Returns: the errors.
        private nonisolated static func storm(_ bridge: CallBridge, seed: UInt64) async -> [BridgeError.Code] {
            var random = SeededGenerator(seed: seed)
            var refused: [BridgeError.Code] = []
            for _ in 0..<60 {
                do throws(BridgeError) {
                    if random.below(2) == 0 { try await bridge.activate() } else { try await bridge.deactivate() }
                } catch {
                    refused.append(error.code)
                }
            }
            return refused
        }

        @Test(.timeLimit(.minutes(4)))
        func `S4.2 library: a hundred cycles leave descriptors, memory and match rules unchanged`() async throws {
            let daemon = try await DaemonProcess(autostart: false, hasBluetooth: true)
            try await daemon.start()
            let matches = try await MatchLog(daemon.bus.address)
            let bridge = try await CallBridge(bus: .address("\(daemon.bus.address)"))
            for _ in 0..<20 { try await cycle(bridge, daemon) }
            let before = try await measure(daemon, matches)
            for _ in 0..<100 { try await cycle(bridge, daemon) }
            let after = try await measure(daemon, matches)
            print("100 cycles: \(before) -> \(after)")
            #expect(after.descriptors == before.descriptors && after.ours == before.ours)
            #expect(after.rules == before.rules)
            // Less than a small object in each cycle. Memory that the allocator keeps after one busy moment does not grow
            // again.
            var growth = after.memory - before.memory
            if growth >= 100 {
                for _ in 0..<100 { try await cycle(bridge, daemon) }
                let later = try await measure(daemon, matches)
                print("100 more: \(later)")
                growth = later.memory - after.memory
            }
            #expect(growth < 100, "KiB")
            await bridge.close()
            try await matches.close()
            try await daemon.stop()
        }

        private struct Measure: CustomStringConvertible {
            let descriptors: Int
            let ours: Int
            let memory: Int
            let rules: [String: Int]

            func isSteady(beside other: Measure) -> Bool {
                descriptors == other.descriptors && ours == other.ours && rules == other.rules
            }

            var description: String { "\(descriptors) and \(ours) descriptors, \(memory) KiB, rules \(rules)" }
        }

        private func measure(_ daemon: DaemonProcess, _ matches: MatchLog) async throws -> Measure {
            // Threads of both sides complete the end of streams a little later.
            var measured: [Measure] = []
            try await eventually("descriptors and rules stay as they are") {
                await ControlLoop.shared.sleep(for: .milliseconds(50))
                measured.append(
                    Measure(
                        descriptors: try daemon.descriptors(),
                        ours: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
                        memory: try daemon.memory(), rules: try await matches.rulesPerClient()))
                let latest = measured.suffix(4)
                return latest.count == 4 && latest.allSatisfy { $0.isSteady(beside: latest[latest.startIndex]) }
            }
            return measured[measured.count - 1]
        }

        /// A whole working day: a user logs in, puts on a headset, has a call, and logs out.
        private func cycle(_ bridge: CallBridge, _ daemon: DaemonProcess) async throws {
            let bluez = try #require(daemon.bluez)
            try await bridge.activate()
            try #require(!bluez.profiles.isEmpty)
            let ears = Ears(VirtualHeadset(.init(address: Box.first, name: "headset 1", codecs: [.cvsd])))
            try ears.headset.attach(try await bluez.connect(Box.first))
            var events = await bridge.events().makeAsyncIterator()
            #expect(await events.next() == .daemonAppeared)
            var states = await bridge.states().makeAsyncIterator()
            #expect(await states.next() == State.active)
            let telephone = QuietTelephone()
            let registration = try await bridge.register(telephone, as: .init(name: "cycle"))
            let call = try await registration.reportIncoming(number: "+4930123456")
            try await bridge.calls.answer(call)
            try await bridge.deactivate()
            try #require(bluez.profiles.isEmpty)
            #expect(try await bridge.calls.list().isEmpty)
            try await ears.hear(.closed)
            telephone.exchange.stop()
            bluez.disconnect(Box.first)
        }
    }
}
