import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

private let properties = "org.freedesktop.DBus.Properties"
private let manager = "org.freedesktop.DBus.ObjectManager"

extension DaemonTests {
    /// One program sends the real daemon more than it can handle; the service of others and of bluetoothd is measured.
    @Suite @ControlPlane struct FloodTests {
        /// The daemon, a program that floods it, and another program.
        private func with(
            environment: [String] = [],
            _ body: @ControlPlane (DaemonProcess, _ flood: BusConnection, _ other: BusConnection) async throws -> Void
        ) async throws {
            let daemon = try await DaemonProcess(hasBluetooth: true)
            try await daemon.start(environment: environment)
            let (flood, other) = (try BusConnection(daemon.bus.address), try BusConnection(daemon.bus.address))
            try await body(daemon, flood, other)
            flood.close()
            other.close()
            try await daemon.stop()
        }

        private func ask(_ bus: BusConnection) async throws -> [Value] {
            try await bus.call(
                BTCallName.bus, BTCallPath.manager, properties, "Get",
                [.string(BTCallName.Interface.manager), .string(BTCallName.Manager.state)], timeout: .seconds(60))
        }

        @Test func `Method calls that want no reply cost the daemon next to nothing`() async throws {
            try await with { daemon, flood, other in
                _ = try await ask(other)
                let before = try daemon.processorSeconds()
                for round in 1...10 {
                    for _ in 0..<2000 {
                        flood.post(BTCallName.bus, BTCallPath.manager, manager, "GetManagedObjects")
                        flood.post(
                            BTCallName.bus, BTCallPath.manager, BTCallName.Interface.manager,
                            BTCallName.Manager.listSettings)
                    }
                    #expect(try await ask(other) == [.variant("active")], "round \(round)")
                }
                // Each answer would take a millisecond or more.
                let used = try daemon.processorSeconds() - before
                #expect(used < 10, "\(used) s for 40,000 questions")
            }
        }

        /// Expensive requests, as many as a bus lets programs wait for, sent while the daemon is stopped.
        @ControlPlane
        private final class Flood {
            /// The bus's default limit for one program (`max_replies_per_connection`).
            static let perProgram = 120
            let count: Int
            private(set) var answered = 0
            private var programs: [BusConnection] = []

            init(_ daemon: DaemonProcess, programs count: Int) async throws {
                self.count = count * Self.perProgram
                daemon.pause(true)
                for _ in 0..<count {
                    let program = try BusConnection(daemon.bus.address)
                    programs.append(program)
                    for _ in 0..<Self.perProgram {
                        program.send(
                            BTCallName.bus, BTCallPath.manager, BTCallName.Interface.manager,
                            BTCallName.Manager.listSettings, timeout: .seconds(120)
                        ) { [weak self] result in
                            if case .success = result { self?.answered += 1 }
                        }
                    }
                    // The bus has received all of them.
                    _ = try await program.owner(of: BTCallName.bus)
                }
            }

            func close() { for program in programs { program.close() } }
        }

        @Test func `Another program gets its answer before most of a flood`() async throws {
            try await with { daemon, _, other in
                _ = try await ask(other)
                let flood = try await Flood(daemon, programs: 1)
                let answer = Task { @ControlPlane in try await ask(other) }
                _ = try await other.owner(of: BTCallName.bus)
                daemon.pause(false)
                #expect(try await answer.value == [.variant("active")])
                #expect(flood.answered < flood.count / 2, "\(flood.answered) of \(flood.count) were answered before")
                try await eventually("all are answered") { flood.answered == flood.count }
                flood.close()
            }
        }

        @Test func `A headset connects and is served during a flood`() async throws {
            try await with { daemon, _, _ in
                let bluez = try #require(daemon.bluez)
                try await eventually("bluetoothd has the profile") { !bluez.profiles.isEmpty }
                let flood = try await Flood(daemon, programs: 8)
                daemon.pause(false)
                let headset = try RawHeadset(try await bluez.connect(Box.first))
                try await headset.establish()
                #expect(flood.answered < flood.count / 2, "\(flood.answered) of \(flood.count) were answered before")
                flood.close()
            }
        }

        @Test func `With few descriptors left, messages with descriptors do not end the bus connection`() async throws {
            try await with(environment: ["prlimit", "--nofile=96:96"]) { daemon, flood, other in
                _ = try await ask(other)
                let owner = try await other.owner(of: BTCallName.bus)
                let held = try daemon.descriptors()
                try #require(held < 40, "\(held) descriptors are open already")
                let descriptor = Value.unixDescriptor(try PassedDescriptor(duplicating: 1))
                let arguments = Array(repeating: descriptor, count: 16)
                for _ in 0..<10 {
                    // All messages are in the socket when the daemon starts to read.
                    daemon.pause(true)
                    for _ in 0..<20 { flood.post(BTCallName.bus, "/", "a.b", "C", arguments) }
                    _ = try await flood.owner(of: BTCallName.bus)
                    daemon.pause(false)
                    _ = try await ask(other)
                }
                #expect(try await other.owner(of: BTCallName.bus) == owner)
                #expect(!daemon.errors.contains("the connection to the bus was lost"), "\(daemon.errors)")
                try await eventually("all of them are closed") { try daemon.descriptors() <= held }
            }
        }

        @Test func `Programs that hold descriptors leave some for the bus and for headsets`() async throws {
            // A quarter of these few is reserved.
            try await with(environment: ["prlimit", "--nofile=96:96"]) { daemon, _, other in
                _ = try await ask(other)
                var holders: [BusConnection] = []
                var held: [PassedDescriptor] = []
                var refused: BusError?
                while refused == nil, holders.count < 8 {
                    let holder = try BusConnection(daemon.bus.address)
                    holders.append(holder)
                    for _ in 0..<16 where refused == nil {
                        do throws(BusError) {
                            let answer = try await holder.call(
                                BTCallName.bus, BTCallPath.session, BTCallName.Interface.session,
                                BTCallName.Session.activate, [.vardict([:])])
                            if let handle = answer.first?.descriptorValue { held.append(handle) }
                        } catch {
                            refused = error
                        }
                    }
                }
                #expect(refused?.message.contains("LimitNOFILE") == true, "\(String(describing: refused))")
                #expect(try daemon.descriptors() <= 96 - 24)
                let bluez = try #require(daemon.bluez)
                let headset = try RawHeadset(try await bluez.connect(Box.first))
                try await headset.establish()
                for holder in holders { holder.close() }
            }
        }
    }
}
