import ControlLoop
import DBus
import Foundation
import Testing

/// The program `btcall` that was built with these tests, run against a box.
@ControlPlane
struct Program {
    let path: String
    let bus: BusAddress

    init(_ bus: BusAddress) throws {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let candidates = ["btcall", "BTCallCommand"].map { directory.appending(path: $0).path() }
        path = try #require(candidates.first { FileManager.default.isExecutableFile(atPath: $0) })
        self.bus = bus
    }

    /// Runs a verb; the daemon, which is in this process, goes on meanwhile.
    ///
    /// - Returns: standard output and standard error together, and the exit code.
    func callAsFunction(_ arguments: String...) async throws -> (text: String, status: Int32) {
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
