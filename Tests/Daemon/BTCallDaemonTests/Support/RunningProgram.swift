import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// The program `btcall`, or another one, while it runs against a box.
@ControlPlane
final class RunningProgram {
    private let process = Process()
    private let input = Pipe()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")

    /// - Parameter bus: where its btcalld is.
    init(_ path: String, _ arguments: [String], _ bus: BusAddress) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", "out=$1; export BTCALL_BUS=$2; shift 2; exec \"$@\" >\"$out/out\" 2>\"$out/errors\"", "sh",
                folder.path(), "\(bus)", path,
            ] + arguments
        process.standardInput = input
        // The control loop of this process has signals blocked, which is inherited, and not every program undoes that.
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

    /// Without a file nothing was printed yet.
    var output: String { (try? String(contentsOf: folder.appending(path: "out"), encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOf: folder.appending(path: "errors"), encoding: .utf8)) ?? "" }
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Its lines as JSON.
    var objects: [[String: Any]] {
        // What is no JSON is missing in what a test compares.
        lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    /// What a script is told by those, without ids of calls: `answer 1`, `state active`, `error 3`.
    var words: [String] {
        objects.map { object in
            let parts = ["id", "number", "tones", "state", "line", "reason"].compactMap { key -> String? in
                (object[key] as? String) ?? (object[key] as? Int).map { "\($0)" }
            }
            return ([object["event"] as? String ?? "?"] + parts).joined(separator: " ")
        }
    }

    /// Gives it a line.
    func write(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Ends its input.
    func endInput() throws { try input.fileHandleForWriting.close() }

    func terminate() { Glibc.kill(process.processIdentifier, SIGTERM) }
    func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }

    /// The code that it ends with; the daemon, which is in this process, goes on meanwhile.
    func status() async throws -> Int32 {
        try await eventually("the program ends") { !self.process.isRunning }
        return process.terminationStatus
    }
}

extension Program {
    func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }
    func start(_ arguments: [String]) throws -> RunningProgram { try RunningProgram(path, arguments, bus) }
}
