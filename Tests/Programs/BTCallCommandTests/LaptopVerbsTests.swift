import CommandTestSupport
import Foundation
import Testing

@testable import BTCallCommand

/// Verbs of btcall-lab typed as verbs of btcall.
@Suite(.timeLimit(.minutes(1))) struct LaptopVerbsTests {
    @Test(arguments: [
        (["replay", "a.json"], "replay"), (["help", "bench"], "bench"), (["gateway", "--help"], "gateway"),
        (["decode"], "decode"), (["demo"], "demo"), (["latency"], "latency"),
        (["status"], nil), (["help", "status"], nil), (["help"], nil), ([], nil), (["call", "replay"], nil),
    ])
    func `Only the verb counts`(arguments: [String], verb: String?) {
        #expect(LaptopVerbs.verb(of: arguments) == verb)
    }

    @Test func `Laptop verbs are verbs of btcall-lab, and not of btcall`() {
        let verbs = HelpTests.verbs.compactMap(\.words.first)
        #expect(LaptopVerbs.names.isDisjoint(with: verbs))
    }

    @Test func `btcall hands over to the btcall-lab beside it, whose messages begin with the typed name`() throws {
        let program = try #require(CommandLineTests.program).path()
        let run = try ChildProcess(program, ["gateway", "--control", "/nowhere/at/all"], capturing: .errors).finish()
        #expect(run.status == 1)
        #expect(run.text.hasPrefix("btcall: nobody listens at /nowhere/at/all: "))
    }

    @Test func `Without btcall-lab the message names its package`() throws {
        let program = try #require(CommandLineTests.program)
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Leftovers are in the temporary directory.
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appending(path: "btcall")
        try FileManager.default.copyItem(at: program, to: copy)
        let run = try ChildProcess(
            "/usr/bin/env", ["PATH=\(folder.path())", copy.path(), "replay", "a.json"], capturing: .errors
        ).finish()
        #expect(run.status == 127)
        #expect(
            run.text == """
                btcall: replay is a verb of btcall-lab, which is not installed: install the package btcall-lab, then `btcall-lab \
                replay`

                """)
    }
}
