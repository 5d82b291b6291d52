import BTCall
import BTCallSimulator
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

/// The program `btcalld` that was built with these tests, on its own bus.
@ControlPlane
final class DaemonProcess {
    let bus: FakeBlueZBus
    /// The simulated bluetoothd with one headset, if it was requested.
    let bluez: FakeBlueZ?
    let client: BusConnection
    private let folder = FileManager.default.temporaryDirectory.appending(path: "btcalld-\(UUID().uuidString)")
    private var program: RunningProgram?
    private var identifier: UInt32 = 0

    /// Creates a daemon that plays nothing.
    ///
    /// - Parameters:
    ///   - hasBluetooth: whether a simulated bluetoothd is on the bus.
    ///   - pcmSocket: path of the ALSA PCM's socket; nil: none.
    init(autostart: Bool = true, hasBluetooth: Bool = false, pcmSocket: String? = nil) async throws {
        bus = try FakeBlueZBus()
        client = try BusConnection(bus.address)
        bluez = hasBluetooth ? FakeBlueZ(on: bus.address) : nil
        if let bluez {
            bluez.addAdapter(address: Box.adapter)
            bluez.addHeadset(Box.first, name: "headset 1")
            try await bluez.start()
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let text = """
            [daemon]
            stateDirectory = \(folder.path())/state
            autostart = \(autostart ? "yes" : "no")
            [ring]
            device = none
            [audio]
            pcmSocket = \(pcmSocket ?? "none")

            """
        try text.write(to: configuration, atomically: true, encoding: .utf8)
    }

    private var configuration: URL { folder.appending(path: "btcalld.conf") }

    /// Starts the program and waits for its bus name.
    ///
    /// - Parameters:
    ///   - environment: additional `NAME=VALUE` words.
    ///   - script: shell command that starts it, such as `exec "$@"` with other descriptors; empty: started directly.
    func start(environment: [String] = [], by script: String = "") async throws {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let path = directory.appending(path: "btcalld").path()
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not built")
        program = try RunningProgram(
            "/usr/bin/env",
            environment + (script.isEmpty ? [] : ["/bin/sh", "-c", script, "sh"]) + [
                path, "--foreground", "--bus", "\(bus.address)", "--config", configuration.path(),
            ],
            bus.address)
        try await eventually("btcalld is on the bus") {
            self.identifier = (try? await self.client.processID(of: "org.btcall")) ?? 0
            return self.identifier != 0
        }
    }

    /// A bridge to it.
    func bridge() async throws -> CallBridge { try await CallBridge(bus: .address("\(bus.address)")) }

    /// Its standard error so far.
    var errors: String { program?.errors ?? "" }

    func signal(_ number: Int32) { kill(pid_t(identifier), number) }

    /// The file behind one of its descriptors.
    func file(_ descriptor: Int) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(identifier)/fd/\(descriptor)")
    }

    /// Its processor time in ms.
    func processorTime() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        // After the name, fields 12 and 13 are utime and stime (proc(5)), in ticks of 10 ms.
        let fields = text.split(separator: ") ").last?.split(separator: " ") ?? []
        let ticks = try #require(
            fields.count > 12 ? Int(fields[11]).flatMap { user in Int(fields[12]).map { user + $0 } } : nil)
        return ticks * 10
    }

    /// Limits the number of its descriptors.
    func limitDescriptors(_ count: Int) async throws {
        let status = try await ControlLoop.shared.run(["prlimit", "--pid", "\(identifier)", "--nofile=\(count):"])
        #expect(status == 0)
    }

    func stop() async throws {
        program?.terminate()
        let status = try await program?.status()
        #expect(status == 0)
        program = nil
        bluez?.stop()
        client.close()
        bus.stop()
        try? FileManager.default.removeItem(at: folder)  // A folder in the temporary directory may stay.
    }

    /// Stops it as a debugger does, or continues it.
    func pause(_ isPaused: Bool) { kill(pid_t(identifier), isPaused ? SIGSTOP : SIGCONT) }

    /// Its processor time in seconds.
    func processorSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        // The name in parentheses may have spaces.
        let fields = try #require(text.split(separator: ")").last).split(separator: " ")
        let ticks = try #require(Int(fields[11])) + #require(Int(fields[12]))
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The number of its open descriptors.
    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/fd").count
    }

    /// Its resident anonymous memory in KiB.
    func memory() throws -> Int {
        let lines = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("RssAnon:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}
