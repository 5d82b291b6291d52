import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothSockets
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import HeadsetPolicy
import TestSupport
import Testing

extension DaemonTests {
    /// Reconnecting of headsets.
    @Suite @ControlPlane struct ReconnectTests {
        /// Headsets that connect when they are paged.
        @ControlPlane
        final class Scene {
            let box: Box
            private(set) var headsets: [Ears] = []

            init(_ box: Box) {
                self.box = box
                box.bluez.pageTimeout = .milliseconds(100)
                box.bluez.onConnected = { [weak self] address, descriptor in
                    let headset = VirtualHeadset(
                        .init(
                            address: address, name: address == Box.first ? "headset 1" : "headset 2", codecs: [.cvsd],
                            battery: 70))
                    self?.headsets.append(Ears(headset))
                    // A failure shows in the conditions that the test waits for.
                    try? headset.attach(descriptor)
                }
            }

            func isUp(_ address: BluetoothAddress = Box.first) -> Bool {
                box.daemon.headsets.presence(of: address) == .up
            }

            func pages(_ address: BluetoothAddress = Box.first) -> Int {
                box.bluez.pages.filter { $0 == address }.count
            }

            func eventuallyUp(
                _ address: BluetoothAddress = Box.first, sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                try await eventually("\(address) is up", sourceLocation: sourceLocation) { isUp(address) }
            }

            func standing(
                _ standing: String, _ address: BluetoothAddress = Box.first,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                try await eventually("\(address) is \(standing)", sourceLocation: sourceLocation) {
                    // Nil when the headset has no standing.
                    try await box.device("bluetooth:\(address)").map {
                        ($0["reconnect"] ?? "") == .string(standing)
                    } ?? false
                }
            }

            /// The disconnect reason as sent by bluetoothd 5.82, after the link has ended.
            func say(_ reason: String, _ address: BluetoothAddress = Box.first) {
                box.bluez.emit(
                    path: "/org/bluez/hci0/dev_\(address.pathComponent)", interface: "org.bluez.Device1",
                    member: "Disconnected", [.string("org.bluez.Reason.\(reason)"), .string("in words")])
            }

            /// Out of range: the link ends, and pages fail until the headset is back.
            func lose(_ address: BluetoothAddress = Box.first) async throws {
                box.bluez.setReachable(false, address)
                box.bluez.disconnect(address)
                // Its profiles go down before its link: a connection at that moment would not count as a new one.
                try await eventually("\(address) is away") {
                    box.daemon.reconnector.standing(of: address) != .none
                }
            }

            /// Waits until the second headset was lost and paged, so that the first would have been paged as well.
            func timePasses(sourceLocation: SourceLocation = #_sourceLocation) async throws {
                let count = pages(Box.second)
                // The previous daemon left its end of the connection open.
                if !isUp(Box.second), box.bluez.isLinked(Box.second) { box.bluez.disconnect(Box.second) }
                if !isUp(Box.second) { _ = try await box.connect(Box.second) }
                try await lose(Box.second)
                try await eventually("the other one is paged three times", sourceLocation: sourceLocation) {
                    pages(Box.second) >= count + 3
                }
                // The second headset is reachable at the start.
                box.bluez.setReachable(true, Box.second)
                try await eventuallyUp(Box.second)
            }
        }

        /// Uses waits of 50 ms in place of seconds.
        func run(
            configure: (inout Configuration) -> Void = { _ in },
            environment: @escaping (inout Daemon.Environment) -> Void = { _ in },
            prepare: @ControlPlane (Box) throws -> Void = { _ in },
            _ body: (Scene) async throws -> Void
        ) async throws {
            try await Box.run(
                configure: {
                    $0.reconnect.isOn = true
                    $0.reconnect.seconds = 1
                    $0.reconnect.maxSeconds = 4
                    $0.reconnect.losses = 100
                    $0.timeouts.reconnectSecond = .milliseconds(50)
                    configure(&$0)
                },
                prepare: { box in
                    box.bluez.setReachable(false, Box.first)
                    box.bluez.setReachable(false, Box.second)
                    try prepare(box)
                },
                environment: environment, body: { box in try await body(Scene(box)) })
        }

        static func keeping(in directory: String) -> (inout Configuration) -> Void {
            { $0.stateDirectory = directory }
        }

        static func hearing(_ ends: SaidEnds) -> (inout Daemon.Environment) -> Void {
            { $0.radioLinkEnds = ends }
        }

        func inStateDirectory(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
            try await body(folder.path())
        }

        // MARK: A controller that holds a dead headset

        @Test func `A silent headset whose controller stays busy is disconnected once, and paged as a lost one`()
            async throws
        {
            try await run { scene in
                let box = scene.box
                box.bluez.setReachable(true, Box.first)
                try await scene.eventuallyUp()
                box.simulation.stuck = [Box.first]
                let pages = scene.pages()
                box.daemon.headsets.openLink(Box.first, codecHint: nil, attempt: 3, timeout: .seconds(5))
                try await eventually("it is disconnected") {
                    // Its remaining lines after the set-up make it a headset that was heard.
                    box.daemon.headsets.linkSilent(Box.first)
                    return !box.log.containing("disconnected to free the controller").isEmpty
                }
                try await eventually("it is paged after it was disconnected") { scene.pages() > pages }
                try await scene.eventuallyUp()
                try await scene.standing("")
                #expect(box.log.containing("disconnected to free the controller").count == 1)
                #expect(box.log.containing("disconnected on purpose").isEmpty)
            }
        }

        @Test func `A headset that answers keeps its connection while its controller is busy`() async throws {
            try await run { scene in
                let box = scene.box
                box.bluez.setReachable(true, Box.first)
                try await scene.eventuallyUp()
                box.simulation.stuck = [Box.first]
                box.daemon.headsets.openLink(Box.first, codecHint: nil, attempt: 3, timeout: .seconds(5))
                try await eventually("the set-up has failed") { !box.log.containing("\(Box.first): \(busy)").isEmpty }
                #expect(scene.isUp() && box.bluez.isLinked(Box.first))
                #expect(box.log.containing("disconnected to free the controller").isEmpty)
            }
        }

        private var busy: AudioLinkError { .busy }

        // MARK: Coming back

        @Test func `A headset present after the start is connected without a person's help`() async throws {
            try await run { scene in
                try await scene.standing("waiting")
                scene.box.bluez.setReachable(true, Box.first)
                try await scene.eventuallyUp()
                try await scene.standing("")
                let log = scene.box.log
                #expect(!log.containing("notice: headset 1 (\(Box.first)): paged, attempt 1").isEmpty)
                try await eventually("it is reported") {
                    !log.containing("headset 1", "back after it was paged").isEmpty
                }
            }
        }

        @Test func `A lost headset is paged until it is back, one headset at a time`() async throws {
            try await run { scene in
                _ = try await scene.box.connect(Box.first)
                try await scene.lose()
                try await eventually("it was paged again") { scene.pages() >= 3 && scene.pages(Box.second) >= 1 }
                var most = 0
                for _ in 0..<40 {
                    most = max(most, scene.box.bluez.paging.count)
                    await ControlLoop.shared.sleep(for: .milliseconds(5))
                }
                #expect(most <= 1)
                scene.box.bluez.setReachable(true, Box.first)
                try await scene.eventuallyUp()
                #expect(!scene.isUp(Box.second))
            }
        }

        @Test func `The order is that of the list, then of use, also after a restart of the daemon`() async throws {
            try await inStateDirectory { directory in
                try await run(configure: Self.keeping(in: directory)) { scene in
                    _ = try await scene.box.connect(Box.first)
                    _ = try await scene.box.connect(Box.second)
                    try await eventually("both are up") { scene.isUp() && scene.isUp(Box.second) }
                    scene.box.bluez.setReachable(false, Box.first)
                    scene.box.bluez.setReachable(false, Box.second)
                    try await scene.box.restartDaemon()
                    scene.box.bluez.setPowered(false)
                    _ = try await scene.box.problem("adapter")
                    let before = scene.box.bluez.pages.count
                    scene.box.bluez.setPowered(true)
                    try await eventually("both were paged") { scene.box.bluez.pages.count >= before + 2 }
                    #expect(Array(scene.box.bluez.pages[before...].prefix(2)) == [Box.second, Box.first])
                    try await scene.box.bridge.setSetting("routing.headsetOrder", to: "\(Box.first)")
                    scene.box.bluez.setPowered(false)
                    _ = try await scene.box.problem("adapter")
                    let again = scene.box.bluez.pages.count
                    scene.box.bluez.setPowered(true)
                    try await eventually("both were paged") { scene.box.bluez.pages.count >= again + 2 }
                    #expect(Array(scene.box.bluez.pages[again...].prefix(2)) == [Box.first, Box.second])
                }
            }
        }

        @Test func `A restart of bluetoothd leaves connected headsets alone, and brings lost ones back`() async throws {
            try await run { scene in
                _ = try await scene.box.connect(Box.second)
                scene.box.bluez.stop()
                _ = try await scene.box.problem("bluetoothd")
                let before = scene.pages(Box.second)
                scene.box.bluez.setReachable(true, Box.first)
                try await scene.box.bluez.start()
                try await scene.eventuallyUp()
                #expect(scene.isUp(Box.second) && scene.pages(Box.second) == before)
            }
        }

        @Test func `An untrusted or blocked headset is not paged`() async throws {
            let distrust: @ControlPlane (Box) -> Void = { box in
                box.bluez.set("Trusted", false, at: "/org/bluez/hci0/dev_\(Box.first.pathComponent)")
            }
            try await run(prepare: distrust) { scene in
                try await scene.timePasses()
                #expect(scene.pages() == 0)
                let path = "/org/bluez/hci0/dev_\(Box.first.pathComponent)"
                scene.box.bluez.set("Blocked", true, at: path)
                scene.box.bluez.set("Trusted", true, at: path)
                try await scene.timePasses()
                #expect(scene.pages() == 0)
                scene.box.bluez.set("Blocked", false, at: path)
                try await eventually("it is paged") { scene.pages() > 0 }
            }
        }

        @Test func `A headset with HSP alone is connected with HSP`() async throws {
            let serving: (inout Configuration) -> Void = {
                $0.headsetProfile = true
                $0.a2dp = false
            }
            let prepare: @ControlPlane (Box) -> Void = { box in
                box.bluez.set(
                    "UUIDs", .strings([ServiceUUID.headset.text]),
                    at: "/org/bluez/hci0/dev_\(Box.first.pathComponent)")
            }
            try await run(configure: serving, prepare: prepare) { scene in
                try await eventually("it is requested") { scene.box.bluez.connectRequests.contains(.headset) }
                #expect(scene.pages() == 0)
            }
        }

        // MARK: Calls

        @Test func `Nothing is paged while a call rings or is up, and a running page is cancelled`() async throws {
            try await run { scene in
                let box = scene.box
                box.bluez.pageTimeout = .seconds(60)
                let registration = try await box.register()
                try await eventually("it is paged") { box.bluez.paging.count == 1 }
                let call = try await registration.reportIncoming(number: "1", name: "")
                try await eventually("the page is given up") { box.bluez.paging.isEmpty }
                #expect(!box.log.containing("its page is given up").isEmpty)
                let before = box.bluez.pages.count
                _ = try await box.connect(Box.second)
                try await scene.lose(Box.second)
                try await registration.update(call, .active)
                // Ten times the first wait.
                await ControlLoop.shared.sleep(for: .milliseconds(500))
                #expect(box.bluez.pages.count == before)
                try await scene.standing("waiting")
                try await registration.update(call, .ended)
                try await eventually("it is paged again") { box.bluez.paging.count == 1 }
                box.bluez.setReachable(true, Box.first)
                box.bluez.setReachable(true, Box.second)
                try await scene.eventuallyUp()
                try await scene.eventuallyUp(Box.second)
            }
        }

        // MARK: Stored data and settings

        @Test func `A state directory that cannot be written is a problem, and headsets still reconnect`() async throws
        {
            try await run(configure: Self.keeping(in: "/proc/btcall")) { scene in
                scene.box.bluez.setReachable(true, Box.first)
                try await scene.eventuallyUp()
                let problem = try await scene.box.problem("reconnectMemory")
                #expect(problem.what.contains("/proc/btcall/reconnect.conf"))
            }
        }

        @Test func `A damaged file is reported and rewritten`() async throws {
            try await inStateDirectory { directory in
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let path = directory + "/reconnect.conf"
                try Data("nonsense\n".utf8).write(to: URL(filePath: path))
                try await run(configure: Self.keeping(in: directory)) { scene in
                    #expect(scene.box.log.containing("error", "is not restored", "reconnect.conf").count == 1)
                    _ = try await scene.box.connect(Box.first)
                    try await eventually("it is kept") {
                        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
                        return text.contains("[\(Box.first)]\nused = 1\n")
                    }
                }
            }
        }

        @Test func `An unpaired headset is forgotten`() async throws {
            try await inStateDirectory { directory in
                try await run(configure: Self.keeping(in: directory)) { scene in
                    _ = try await scene.box.connect(Box.first)
                    scene.box.bluez.remove(Box.first)
                    try await eventually("it is forgotten") {
                        try ReconnectStore(directory: directory).load().isEmpty
                    }
                }
            }
        }

        @Test func `Paging can be switched on at run time`() async throws {
            let off: (inout Configuration) -> Void = { $0.reconnect.isOn = false }
            try await run(configure: off) { scene in
                try await scene.standing("")
                let error = await refusal { () throws(BridgeError) in
                    try await scene.box.bridge.setSetting("bluetooth.reconnectSeconds", to: "0")
                }
                #expect(error?.message.contains("a whole number from 1 to 3600") == true)
                #expect(scene.box.bluez.pages.isEmpty)
                try await scene.box.bridge.setSetting("bluetooth.reconnect", to: "yes")
                try await eventually("it is paged") { scene.pages() > 0 }
            }
        }
    }
}

/// Ends of radio links that a test reports.
@ControlPlane
final class SaidEnds: RadioLinkEnds {
    var onEnd: (@ControlPlane (BluetoothAddress, UInt8) -> Void)?
    var failure: SystemError?
    private(set) var controllers: [String] = []

    func follow(_ controllers: [String]) -> [String: SystemError] {
        self.controllers = controllers
        return failure.map { failure in Dictionary(uniqueKeysWithValues: controllers.map { ($0, failure) }) } ?? [:]
    }

    func stop() {}
}
