import BTCall
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Another program disconnects the voice profile of a headset during a call.
    @Suite @ControlPlane struct ForeignProfileTests {
        private struct Request: Equatable {
            let address: BluetoothAddress
            let service: ServiceUUID
        }

        /// A call on the first headset, and the profiles that btcalld asks bluetoothd to connect.
        @ControlPlane
        private final class Scene {
            let box: Box
            private(set) var requests: [Request] = []
            /// Errors for the next requests, in order.
            var refusals: [BusError] = []
            private var headsets: [Ears] = []

            init(_ box: Box) {
                self.box = box
                box.bluez.onProfileRequest = { [weak self] address, service throws(BusError) in
                    guard let self else { return false }
                    requests.append(Request(address: address, service: service))
                    if !refusals.isEmpty { throw refusals.removeFirst() }
                    return false
                }
                box.bluez.onConnected = { [weak self] address, descriptor in
                    let headset = VirtualHeadset(
                        .init(address: address, name: "headset", codecs: [.cvsd], battery: 70))
                    self?.headsets.append(Ears(headset))
                    // A failure shows in the conditions that the test waits for.
                    try? headset.attach(descriptor)
                }
            }

            func connect(_ address: BluetoothAddress) async throws { headsets.append(try await box.connect(address)) }

            func call() async throws -> Call.ID {
                let registration = try await box.register()
                box.registrations.append(registration)
                return try await box.startCall(registration)
            }

            func callOnFirst() async throws {
                try await box.prefer(.bluetooth)
                try await connect(Box.first)
                _ = try await call()
                try await box.route(ForeignProfileTests.first)
            }

            /// Another program disconnects the profile; btcalld connects it.
            func takenAndBack(_ count: Int) async throws {
                await box.bluez.releaseProfile(Box.first)
                try await eventually("it is requested \(count) times") { requests.count == count }
                try await eventually("it is back") { box.daemon.headsets.presence(of: Box.first) == .up }
            }

            /// Another program disconnects the profile until btcalld leaves it disconnected.
            func fight() async throws -> BridgeProblem {
                try await takenAndBack(1)
                try await takenAndBack(2)
                await box.bluez.releaseProfile(Box.first)
                return try await box.problem(ForeignProfileTests.problem)
            }
        }

        private static let first = Choice("bluetooth:\(Box.first)") ?? .none
        private static let second = Choice("bluetooth:\(Box.second)") ?? .none
        private static let problem = "profile.\(Box.first).foreign"
        private static let handsFree = Request(address: Box.first, service: .handsFree)

        private func run(_ body: (Scene) async throws -> Void) async throws {
            try await Box.run(
                configure: {
                    $0.timeouts.radioLinkEnd = .milliseconds(300)
                    // The check of missing profiles would connect it, too.
                    $0.profileCheck = .zero
                },
                body: { box in try await body(Scene(box)) })
        }

        @Test func `A profile that another program disconnects in a call is connected again`() async throws {
            try await run { scene in
                try await scene.callOnFirst()
                try await scene.takenAndBack(1)
                #expect(scene.requests == [Self.handsFree])
                try await scene.box.route(ForeignProfileTests.first)
                let line = "notice: foreign-change: headset 1 (\(Box.first)): HFP disconnected by another program"
                #expect(scene.box.log.containing(line, "connected again").count == 1)
                #expect(try await scene.box.bridge.status().problems.isEmpty)
            }
        }

        @Test func `The third time within ten seconds it stays disconnected, and why says so until Refresh`()
            async throws
        {
            try await run { scene in
                try await scene.callOnFirst()
                let manager = scene.box.bridge.audioDeviceManager
                let problem = try await scene.fight()
                #expect(
                    problem.what == "headset 1: another program keeps disconnecting its HFP during the call")
                #expect(problem.remedy.contains("`btcall headset connect \(Box.first)`"))
                let note = try #require(try await manager.explain().text.last)
                #expect(
                    note
                        == "note: headset 1: another program disconnected its HFP 3 times within 10 s of connection, left"
                        + " disconnected until the headset connects again or Refresh")
                #expect(scene.requests == [Self.handsFree, Self.handsFree])
                try await scene.box.route(.earpiece)
                try await manager.refreshSpeakerphoneSetting()
                try await scene.box.noProblem(Self.problem)
                try await scene.box.route(ForeignProfileTests.first)
                #expect(scene.requests.count == 3)
                #expect(try await manager.explain().text.last != note)
            }
        }

        @Test func `The problem ends when the headset connects again`() async throws {
            try await run { scene in
                try await scene.callOnFirst()
                _ = try await scene.fight()
                scene.box.bluez.disconnect(Box.first)
                try await scene.box.noProblem(Self.problem)
                try await scene.connect(Box.first)
                // It starts over: the profile is connected again at once.
                try await scene.box.route(ForeignProfileTests.first)
                try await scene.takenAndBack(3)
            }
        }

        @Test func `A profile that does not connect again is a problem with bluetoothd's reason`() async throws {
            try await run { scene in
                try await scene.callOnFirst()
                scene.refusals = [BusError(name: "org.bluez.Error.Failed", message: "br-connection-refused")]
                await scene.box.bluez.releaseProfile(Box.first)
                let problem = try await scene.box.problem(Self.problem)
                #expect(problem.what.contains("disconnected its HFP during the call, and it does not connect again"))
                #expect(problem.remedy.contains("the device refused the connection"))
                // The other program gives it back.
                try await scene.connect(Box.first)
                try await scene.box.noProblem(Self.problem)
            }
        }

        @Test(arguments: ["the whole headset", "no call", "not used"])
        func `A person's disconnection stays: of the whole headset, without a call, of one that is not used`(
            how: String
        ) async throws {
            try await run { scene in
                let bluez = scene.box.bluez
                switch how {
                case "the whole headset":
                    try await scene.callOnFirst()
                    await bluez.requestDisconnection(Box.first)
                case "no call":
                    try await scene.box.prefer(.bluetooth)
                    try await scene.connect(Box.first)
                    await bluez.releaseProfile(Box.first)
                    _ = try await scene.call()
                default:
                    try await scene.box.prefer(ForeignProfileTests.second)
                    try await scene.connect(Box.first)
                    try await scene.connect(Box.second)
                    _ = try await scene.call()
                    try await scene.box.route(ForeignProfileTests.second)
                    await bluez.releaseProfile(Box.first)
                }
                // The complete course of another headset is the clock.
                if how != "not used" { try await scene.connect(Box.second) }
                try await scene.box.route(ForeignProfileTests.second)
                await bluez.releaseProfile(Box.second)
                try await eventually("the other one is requested") { !scene.requests.isEmpty }
                #expect(scene.requests == [Request(address: Box.second, service: .handsFree)])
                #expect(try await scene.box.bridge.status().problems.isEmpty)
            }
        }

        @Test func `What btcalld disconnects for a client is not connected again`() async throws {
            try await run { scene in
                try await scene.callOnFirst()
                try await scene.box.bridge.audioDeviceManager.disconnect(Self.first)
                try await scene.box.route(.earpiece)
                try await scene.connect(Box.second)
                try await scene.box.route(ForeignProfileTests.second)
                await scene.box.bluez.releaseProfile(Box.second)
                try await eventually("the other one is requested") { !scene.requests.isEmpty }
                #expect(scene.requests == [Request(address: Box.second, service: .handsFree)])
            }
        }
    }
}
