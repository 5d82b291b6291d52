package import ControlLoop
package import DBus
import Foundation
import Glibc

/// A private message bus for a fake: a `dbus-daemon` without services and restrictions, which ends with this process at the
/// latest.
@ControlPlane
package final class FakeBlueZBus {
    /// The address for clients.
    package let address: BusAddress
    private var keeper: pid_t = 0
    private var lifeline: Int32 = -1
    private let configuration: String

    private static func configuration(
        _ path: String, _ rules: String, _ policies: String, _ services: String?
    ) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(path)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
            \(rules)
          </policy>
          \(policies)
          \(services.map { "<servicedir>\($0)</servicedir>" } ?? "")
        </busconfig>
        """
    }

    /// The shell ends the daemon when its standard input is closed: when the bus is stopped, and when this process dies.
    private static let script = """
        exec 3<&0
        dbus-daemon --config-file="$1" --nofork --nopidfile --print-address=1 </dev/null 2>/dev/null 3<&- &
        read -r line <&3
        kill $!
        wait
        """

    /// Starts a bus; blocks for the few milliseconds until it listens.
    ///
    /// - Parameters:
    ///   - rules: further rules of its policy, such as `<deny own="org.btcall"/>`.
    ///   - policies: further `<policy>` elements, such as those of a service's own file.
    ///   - services: a directory of service files, whose programs it starts on demand; nil for none.
    package init(rules: String = "", policies: String = "", services: String? = nil) throws(SystemError) {
        let path = "/tmp/btcall-bus-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        configuration = Self.configuration(path, rules, policies, services)
        guard let address = BusAddress("unix:path=\(path)") else {
            throw SystemError(call: "name a bus \(path)", code: EINVAL)
        }
        self.address = address
        try launch(path + ".conf")
    }

    /// Starts the bus again at the same address, after `stop()`.
    package func start() throws(SystemError) {
        guard lifeline < 0 else { return }
        try launch("/tmp/btcall-bus-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).conf")
    }

    private func launch(_ file: String) throws(SystemError) {
        guard FileManager.default.createFile(atPath: file, contents: Data(configuration.utf8)) else {
            throw SystemError(call: "open \(file)", code: EIO)
        }
        defer { _ = unlink(file) }
        let input = try Self.pipe()
        let output = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, 0)
        posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        // The control loop's thread blocks signals; the bus must receive SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var process = pid_t()
        let texts: [String] = ["sh", "-c", Self.script, "sh", file]
        let words = texts.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, environ)
        _ = close(input.reading)
        _ = close(output.writing)
        guard code == 0 else { throw SystemError(call: "posix_spawn /bin/sh", code: code) }
        keeper = process
        lifeline = input.writing
        let line = Self.readLine(output.reading)
        _ = close(output.reading)
        guard BusAddress(line) != nil else {
            stop()
            throw SystemError(call: "start dbus-daemon (is it installed?)", code: ENOENT)
        }
    }

    isolated deinit { stop() }

    /// Ends the bus and disconnects every client. A second call does nothing.
    package func stop() {
        guard lifeline >= 0 else { return }
        _ = close(lifeline)
        lifeline = -1
        while waitpid(keeper, nil, 0) < 0 && errno == EINTR {}
    }

    private static func pipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemError(call: "pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func readLine(_ descriptor: Int32) -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 4096 {
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}
