import BluetoothTypes
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

/// A message bus of the test's own, at an address that stays the same when it is restarted.
@ControlPlane
final class PrivateBus {
    let address: BusAddress
    private let directory: String
    private var daemon: ChildProcess?

    init() async throws {
        directory = NSTemporaryDirectory() + "btcall-bus-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        address = .address("unix:path=\(directory)/bus")
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>btcall-test</type>
              <listen>unix:path=\(directory)/bus</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
                <deny own="org.btcall.test.Forbidden"/>
              </policy>
              <limit name="max_replies_per_connection">5000</limit>
            </busconfig>
            """
        try configuration.write(toFile: directory + "/bus.conf", atomically: true, encoding: .utf8)
        try await start()
    }

    /// Starts the daemon; it is ready when it prints its address.
    func start() async throws {
        let daemon = try ChildProcess(
            [
                "dbus-daemon", "--config-file=\(directory)/bus.conf", "--print-address", "--nofork", "--nopidfile",
            ], isQuiet: true)
        self.daemon = daemon
        _ = await daemon.lines.take()
    }

    /// Kills the daemon without notice.
    func kill() {
        daemon?.kill()
        daemon = nil
    }

    func stop() {
        kill()
        // Leftovers in a temporary directory do no harm.
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Runs `body` with a bus of its own.
    static func with(_ body: @ControlPlane (PrivateBus) async throws -> Void) async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        try await body(bus)
    }

    /// Runs `body` with two connections to a bus of its own.
    static func withConnections(_ body: @ControlPlane (BusConnection, BusConnection) async throws -> Void) async throws
    {
        try await with { bus in
            let (first, second) = (try BusConnection(bus.address), try BusConnection(bus.address))
            defer {
                first.close()
                second.close()
            }
            try await body(first, second)
        }
    }
}

/// A program that runs beside the test; its standard output arrives in lines.
@ControlPlane
final class ChildProcess {
    let lines = Mailbox<String>()
    private(set) var processID: pid_t = 0
    private var output: Int32 = -1
    private var source: DescriptorSource?
    private var partial: [UInt8] = []
    private var ended = Mailbox<Int32>()

    /// - Parameter isQuiet: discards its standard error.
    init(_ arguments: [String], isQuiet: Bool = false) throws {
        var pipeEnds: [Int32] = [0, 0]
        _ = try SystemError.check("pipe") { pipe(&pipeEnds) }
        output = pipeEnds[0]
        for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], 1)
        if isQuiet { posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) }
        // Ends with the loop's thread, in case the tests crash.
        let command = ["setpriv", "--pdeathsig", "KILL"] + arguments
        var words = command.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = posix_spawnp(&processID, "setpriv", &actions, nil, &words, environ)
        posix_spawn_file_actions_destroy(&actions)
        close(pipeEnds[1])
        if code != 0 { throw SystemError(call: "posix_spawn", code: code) }
        source = try ControlLoop.shared.add(output, .readable) { _ in self.read() }
    }

    func kill() {
        Foundation.kill(processID, SIGKILL)
        finish()
    }

    /// The exit status, once the output has ended.
    func status() async -> Int32 { await ended.take().first ?? -1 }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Foundation.read(output, &buffer, buffer.count)
        if count < 0 && errno == EAGAIN { return }
        guard count > 0 else { return finish() }
        for byte in buffer.prefix(count) {
            guard byte == 10 else {
                partial.append(byte)
                continue
            }
            lines.put(String(decoding: partial, as: UTF8.self))
            partial = []
        }
    }

    private func finish() {
        guard output >= 0 else { return }
        source?.cancel()
        close(output)
        output = -1
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        ended.put(status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F))
    }
}
