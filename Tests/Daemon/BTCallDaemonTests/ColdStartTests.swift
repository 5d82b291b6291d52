import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    /// A call arrives while neither btcall-web nor btcalld runs: a launcher listens, as a service manager does, and the bus
    /// knows how to start btcalld. There is a bluetoothd, and a headset that connects as soon as the box serves it.
    @Suite(.serialized, .enabled(if: geteuid() == 0, "only root and the group btcall may push calls")) @ControlPlane
    struct ColdStartTests {
        @Test func `a posted call rings at the headset within a second with nothing running, three times in a row`()
            async throws
        {
            try await Sleeper.run { sleeper in
                for round in 1...3 {
                    let text = try await sleeper.rings {
                        [
                            "/usr/bin/env", "curl", "-sS", "--max-time", "10", "--unix-socket", $0, "--json",
                            #"{"number":"555010\#(round)","name":"Door"}"#, "http://localhost/v1/calls/incoming",
                        ]
                    }
                    #expect(text.contains("555010\(round)"), "\(text)")
                }
            }
        }

        @Test func `btcall notify-incoming wakes both as well, and prints the call`() async throws {
            try await Sleeper.run { sleeper in
                let program = try Program(sleeper.address).path
                let text = try await sleeper.rings { [program, "notify-incoming", "5550100", "--socket", $0] }
                #expect(text.wholeMatch(of: /call [0-9a-f-]{36}\n/) != nil, "\(text)")
                let again = try await sleeper.rings {
                    [program, "notify-incoming", "5550100", "--name", "Door", "--json", "--socket", $0]
                }
                #expect(again.contains(#""name": "Door""#) || again.contains(#""name":"Door""#), "\(again)")
            }
        }
    }
}

/// A bus with bluetoothd on it, and what it takes to start btcall-web and btcalld.
@ControlPlane
private final class Sleeper {
    let address: BusAddress
    private let folder = FileManager.default.temporaryDirectory.appending(path: "sleeper-\(UUID().uuidString)")
    private let bus: FakeBlueZBus
    private let bluez: FakeBlueZ
    private let client: BusConnection

    static func run(_ body: (Sleeper) async throws -> Void) async throws {
        let sleeper = try await Sleeper()
        let result: Result<Void, any Error>
        do {
            try await body(sleeper)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        sleeper.bluez.stop()
        sleeper.client.close()
        sleeper.bus.stop()
        try? FileManager.default.removeItem(at: sleeper.folder)  // A folder in the temporary directory may stay.
        try result.get()
    }

    private init() async throws {
        let services = folder.appending(path: "services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        bus = try FakeBlueZBus(services: services.path())
        address = bus.address
        client = try BusConnection(bus.address)
        bluez = FakeBlueZ(on: bus.address)
        bluez.addAdapter(address: Box.adapter)
        bluez.addHeadset(Box.first, name: "headset 1")
        try await bluez.start()
        // Debug builds are large: read from the disk before, as the shipped ones are after their first start.
        for name in ["btcall-web", "btcalld", "btcall"] {
            _ = try await RunningProgram(try Program(bus.address, [name]).path, ["--version"], bus.address).status()
        }
        let configuration = folder.appending(path: "btcalld.conf")
        try """
        [daemon]
        stateDirectory = \(folder.path())/state
        [ring]
        device = none
        [audio]
        pcmSocket = none

        """.write(to: configuration, atomically: true, encoding: .utf8)
        let daemon = try Program(bus.address, ["btcalld"]).path
        try """
        [D-BUS Service]
        Name=org.btcall
        Exec=\(daemon) --foreground --bus \(bus.address) --config \(configuration.path())

        """.write(to: services.appending(path: "org.btcall.service"), atomically: true, encoding: .utf8)
        try Data().write(to: folder.appending(path: "web.conf"))
    }

    private func daemon() async -> UInt32 { (try? await client.processID(of: "org.btcall")) ?? 0 }

    /// Sends a call with nothing running, and expects the headset to ring within a second: a machine that stalls does so in
    /// one of three tries.
    ///
    /// - Parameter command: program and arguments that send the call to the socket with this path.
    /// - Returns: what the command printed.
    func rings(_ command: (String) -> [String]) async throws -> String {
        var last = (time: Duration.seconds(60), text: "")
        for _ in 1...3 where last.time >= .seconds(1) { last = try await ring(command) }
        #expect(last.time < .seconds(1), "\(last.time)")
        return last.text
    }

    /// Sends a call with nothing running, waits until the headset rings, and ends what was started.
    private func ring(_ command: (String) -> [String]) async throws -> (time: Duration, text: String) {
        #expect(await daemon() == 0)
        let socket = folder.appending(path: "web-\(UUID().uuidString)").path()
        let launcher = Page.root.appending(path: "Tests/Install/activate.py").path()
        let web = try RunningProgram(
            "/usr/bin/env",
            [
                "python3", launcher, socket, "--", try Program(address, ["btcall-web"]).path, "--config",
                folder.appending(path: "web.conf").path(), "--foreground",
            ], address)
        try await eventually("somebody listens") { FileManager.default.fileExists(atPath: socket) }
        #expect(web.errors.isEmpty)
        let headset = VirtualHeadset(.init(address: Box.first, name: "headset 1"))
        var rang = false
        headset.onEvent = { if $0 == .ring { rang = true } }
        let words = command(socket)
        let start = ControlLoop.now
        let sender = try RunningProgram(words[0], Array(words.dropFirst()), address)
        try await eventually("btcalld serves headsets") {
            self.bluez.profiles.contains { $0.uuid == .handsFreeAudioGateway && !$0.owner.isEmpty }
        }
        try headset.attach(try await bluez.connect(Box.first))
        try await eventually("the headset rings") { rang }
        let time = start.duration(to: ControlLoop.now)
        #expect(try await sender.status() == 0, "\(sender.errors)")
        web.terminate()
        #expect(try await web.status() == 0, "\(web.errors)")
        kill(pid_t(await daemon()), SIGTERM)
        try await eventually("btcalld has ended") { await self.daemon() == 0 }
        bluez.disconnect(Box.first)
        try await eventually("its profile is gone") {
            !self.bluez.profiles.contains { $0.uuid == .handsFreeAudioGateway && !$0.owner.isEmpty }
        }
        return (time, sender.output)
    }
}
