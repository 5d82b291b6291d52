import ControlLoop
import DBus
import Foundation
import Testing

/// A program that was built with these tests, `btcall` by default, run against a box.
@ControlPlane
struct Program {
    let path: String
    let bus: BusAddress

    /// - Parameter names: possible names of the file; the first that exists is used.
    init(_ bus: BusAddress, _ names: [String] = ["btcall", "BTCallCommand"]) throws {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let candidates = names.map { directory.appending(path: $0).path() }
        path = try #require(candidates.first { FileManager.default.isExecutableFile(atPath: $0) })
        self.bus = bus
    }

    /// Runs a verb while the daemon, which is in this process, continues.
    ///
    /// - Returns: standard output and standard error together, and the exit code.
    func callAsFunction(_ arguments: String...) async throws -> (text: String, status: Int32) {
        try await self(arguments)
    }

    func callAsFunction(_ arguments: [String]) async throws -> (text: String, status: Int32) {
        let file = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: file) }  // A file in the temporary directory may stay.
        let status = try await ControlLoop.shared.run(
            [
                "/bin/sh", "-c", "out=$1; shift; export BTCALL_BUS=$1; shift; exec \"$@\" >\"$out\" 2>&1", "sh", file,
                "\(bus)", path,
            ] + arguments)
        return (try String(contentsOfFile: file, encoding: .utf8), status)
    }
}
