import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// A running program, `btcall` or another one, that uses a box.
@ControlPlane
final class RunningProgram {
    private let process = Process()
    private let input = Pipe()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")

    /// - Parameter bus: the bus of its btcalld.
    init(_ path: String, _ arguments: [String], _ bus: BusAddress) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", "out=$1; export BTCALL_BUS=$2; shift 2; exec \"$@\" >\"$out/out\" 2>\"$out/errors\"", "sh",
                folder.path(), "\(bus)", path,
            ] + arguments
        process.standardInput = input
        // The control loop blocks signals in this process; children inherit that, and not every program undoes it.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    isolated deinit {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)  // A folder in the temporary directory may stay.
    }

    /// The number of the process.
    var identifier: pid_t { process.processIdentifier }

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
    func write(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Ends its input.
    func endInput() throws { try input.fileHandleForWriting.close() }

    func terminate() { Glibc.kill(process.processIdentifier, SIGTERM) }
    func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }

    /// Its exit code; the daemon, which is in this process, continues meanwhile.
    func status() async throws -> Int32 {
        try await eventually("the program ends") { !self.process.isRunning }
        return process.terminationStatus
    }
}

extension Program {
    func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }
    func start(_ arguments: [String]) throws -> RunningProgram { try RunningProgram(path, arguments, bus) }
}
