import BaresipControl
import BluetoothSockets
import CBTCall
import ControlLoop
import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// A real baresip of Debian with one account, on its own loopback ports and without a sound card: it sends 440 Hz and plays
/// nothing.
@ControlPlane
final class Softphone {
    let uri: String
    private let port: Int
    let controlPort: Int
    /// Its events since the test connected; a program that connects later takes the connection over.
    private(set) var events: [BaresipEvent] = []
    private let directory: URL
    private let process = Process()
    private var channel: RFCOMMChannel?
    private var reader = NetstringReader()
    private var commands = 0

    /// Starts it and waits until it accepts commands.
    ///
    /// - Parameters:
    ///   - name: name shown at the other end.
    ///   - user: user part of its address.
    ///   - other: an ended softphone whose ports it reuses.
    ///   - proxy: the softphone that gets all its calls, whatever is dialled.
    init(_ name: String, user: String, like other: Softphone? = nil, proxy: Softphone? = nil) async throws {
        let port = try other?.port ?? Self.freePort()
        self.port = port
        uri = "sip:\(user)@127.0.0.1:\(port)"
        // A port is used only once baresip has started on it.
        var control = try other?.controlPort ?? Self.freePort()
        while control == port { control = try Self.freePort() }
        controlPort = control
        directory = FileManager.default.temporaryDirectory.appending(path: "btcall-baresip-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let configuration = """
            poll_method epoll
            sip_listen 127.0.0.1:\(port)
            net_interface 127.0.0.1
            audio_source ausine,440
            ausrc_srate 48000
            ausrc_channels 2
            call_max_calls 4
            ring_aufile none
            ringback_disabled yes
            module_path /usr/lib/baresip/modules
            module g711.so
            module ausine.so
            module_app account.so
            module_app contact.so
            module_app menu.so
            module_app ctrl_tcp.so
            ctrl_tcp_listen 127.0.0.1:\(controlPort)
            """
        let outbound = proxy.map { ";outbound=\"sip:\($0.uri.drop { $0 != "@" }.dropFirst());lr\"" } ?? ""
        for (file, text) in [
            ("config", configuration), ("accounts", "\"\(name)\" <\(uri)>;regint=0\(outbound)"), ("contacts", ""),
        ] {
            try (text + "\n").write(to: directory.appending(path: file), atomically: false, encoding: .utf8)
        }
        process.executableURL = URL(filePath: "/usr/bin/baresip")
        process.arguments = ["-f", directory.path()]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try #require(
            FileManager.default.isExecutableFile(atPath: "/usr/bin/baresip"), "install Debian's package baresip-core")
        try process.run()
        do {
            try await eventually("baresip listens") { self.connect() }
        } catch {
            kill()
            throw error
        }
    }

    /// A loopback port that is free for UDP and TCP, with a free next port, which SIP over TLS uses. It is below those that
    /// the kernel gives to connections: none of them takes it before baresip does.
    private static func freePort() throws -> Int {
        for _ in 0..<50 {
            let port = Int.random(in: 5_500..<16_000) * 2
            let isUsable = [SOCK_STREAM, SOCK_DGRAM].allSatisfy { type in
                [port, port + 1].allSatisfy { isFree($0, Int32(type.rawValue)) }
            }
            if isUsable { return port }
        }
        throw WaitedInVain(description: "there is no free port")
    }

    private static func isFree(_ port: Int, _ type: Int32) -> Bool {
        let descriptor = socket(AF_INET, type, 0)
        defer { Glibc.close(descriptor) }
        return withAddress(port) { Glibc.bind(descriptor, $0, $1) } == 0
    }

    private static func withAddress<Result>(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func connect() -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard Self.withAddress(controlPort, { Glibc.connect(descriptor, $0, $1) }) == 0,
            let channel = try? RFCOMMChannel(descriptor: descriptor)
        else {
            Glibc.close(descriptor)
            return false
        }
        channel.onBytes = { [weak self] bytes in self?.received(bytes) }
        self.channel = channel
        return true
    }

    private func received(_ bytes: [UInt8]) {
        reader.append(bytes)
        do {
            while let contents = try reader.next() {
                let message = BaresipMessage(try JSON(reading: contents, rules: .lenient))
                if case .event(let event) = message { events.append(event) }
            }
        } catch {
            Issue.record("\(error)")
        }
    }

    /// Executes a command as from its console.
    func command(_ command: String, _ parameters: String? = nil) {
        commands += 1
        let part = parameters.map { ",\"params\":\"\($0)\"" } ?? ""
        let text = "{\"command\":\"\(command)\"\(part),\"token\":\"\(commands)\"}"
        channel?.write(NetstringReader.frame(text))
    }

    func hear(
        _ kind: BaresipEvent.Kind, _ parameter: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("the other baresip says \(kind) \(parameter ?? "")", sourceLocation: sourceLocation) {
            self.events.contains { $0.kind == kind && (parameter == nil || $0.parameter == parameter) }
        }
    }

    func forget() { events = [] }

    /// Kills it without notice.
    func kill() {
        channel?.close()
        channel = nil
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        // A directory in the temporary one may stay.
        try? FileManager.default.removeItem(at: directory)
    }
}
