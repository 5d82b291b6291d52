import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// A running program, `btcall` or another one, that uses a box.
@ControlPlane
final class RunningProgram {
    /// The number of the process.
    let identifier: pid_t
    private let input: Int32
    private var isInputOpen = true
    /// What `waitpid` said of its end; nil while it runs.
    private var ending: Int32?
    private let folder: URL

    /// Foundation's `Process` crashed in `run` beside other threads, so the program is spawned by hand.
    ///
    /// - Parameter bus: the bus of its btcalld.
    init(_ path: String, _ arguments: [String], _ bus: BusAddress) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let shell = "out=$1; export BTCALL_BUS=$2; shift 2; exec \"$@\" >\"$out/out\" 2>\"$out/errors\""
        (identifier, input) = try Self.spawn(
            ["/bin/sh", "-c", shell, "sh", folder.path(), "\(bus)", path] + arguments)
    }

    /// Starts a program with a pipe as its standard input.
    private static func spawn(_ words: [String]) throws -> (process: pid_t, input: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { Glibc.close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        // The control loop blocks signals in this process; children inherit that, and not every program undoes it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var texts = words.map { strdup($0) } + [nil]
        defer {
            for text in texts { free(text) }
        }
        var process: pid_t = 0
        let code = posix_spawn(&process, words[0], &actions, &attributes, &texts, environ)
        guard code == 0 else {
            Glibc.close(ends[1])
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
        return (process, ends[1])
    }

    isolated deinit {
        if isRunning {
            kill()
            waitpid(identifier, nil, 0)
        }
        if isInputOpen { Glibc.close(input) }
        try? FileManager.default.removeItem(at: folder)  // A folder in the temporary directory may stay.
    }

    private var isRunning: Bool {
        if ending == nil {
            var status: Int32 = 0
            if waitpid(identifier, &status, WNOHANG) == identifier { ending = status }
        }
        return ending == nil
    }

    /// Its resident memory that no file has, in bytes.
    func anonymousMemory() throws -> Int {
        let lines = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("RssAnon:") })
        return try #require(Int(line.filter(\.isNumber))) * 1024
    }

    /// Without the file nothing was printed yet.
    var output: String { (try? String(contentsOf: folder.appending(path: "out"), encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOf: folder.appending(path: "errors"), encoding: .utf8)) ?? "" }
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Its output lines as JSON.
    var objects: [[String: Any]] {
        // A line that is not JSON is missing from the comparison.
        lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    /// The lines that a script gets, without call ids: `answer 1`, `state active`, `error 3`.
    var words: [String] {
        objects.map { object in
            let parts = ["id", "number", "tones", "state", "line", "reason"].compactMap { key -> String? in
                (object[key] as? String) ?? (object[key] as? Int).map { "\($0)" }
            }
            return ([object["event"] as? String ?? "?"] + parts).joined(separator: " ")
        }
    }

    /// Writes a line to its input.
    func write(_ line: String) throws {
        let handle = FileHandle(fileDescriptor: input, closeOnDealloc: false)
        try handle.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Ends its input.
    func endInput() {
        guard isInputOpen else { return }
        isInputOpen = false
        Glibc.close(input)
    }

    func terminate() { send(SIGTERM) }
    func kill() { send(SIGKILL) }

    private func send(_ signal: Int32) {
        // The number of a process that was waited for may belong to another one.
        if isRunning { Glibc.kill(identifier, signal) }
    }

    /// Its exit code, or the number of the signal that ended it; the daemon, which is in this process, continues meanwhile.
    func status() async throws -> Int32 {
        try await eventually("the program ends") { !self.isRunning }
        let ending = try #require(ending)
        return ending & 0x7f == 0 ? (ending >> 8) & 0xff : ending & 0x7f
    }
}

extension Program {
    func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }
    func start(_ arguments: [String]) throws -> RunningProgram { try RunningProgram(path, arguments, bus) }
}
