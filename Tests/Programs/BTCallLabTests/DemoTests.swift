import CommandTestSupport
import Foundation
import Glibc
import Testing

/// The demo as a newcomer starts it, and its ends.
@Suite(.timeLimit(.minutes(3)), .serialized) struct DemoTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-demo-\(UUID().uuidString)")

    private func start() throws -> ChildProcess {
        let program = try #require(LabCommandTests.program).path()
        return try ChildProcess(program, ["demo", "--fast", "--out", folder.path], capturing: .output)
    }

    private func contents(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    /// What `report.json` says about the call.
    private struct Report: Decodable {
        struct Step: Decodable {
            let number: Int
            let downlinkGapMs: Int
            let uplinkGapMs: Int
            let limitMs: Int
            let verdict: String
        }

        let steps: [Step]
        let strayGapsMs: [Int]
        let verdict: String
    }

    @Test func `S2.1 S0.14 the demo tells a story, loses at most 300 ms at a dead headset, and says what to open`()
        throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        var (text, status) = try start().finish()
        // A repeated loss is real; a single one may be due to a machine that delays the simulated devices.
        if status == 1 { (text, status) = try start().finish() }
        let report = try JSONDecoder().decode(Report.self, from: Data(contents("report.json").utf8))
        #expect(report.steps.map(\.number) == [1, 2, 3, 4] && report.steps.map(\.limitMs) == [0, 0, 300, 0])
        if status == EX_TEMPFAIL {
            // A busy machine is not a failure of the demo, and shows nothing about it.
            #expect(text.contains("too busy to measure") && report.verdict == "tooBusy")
            withKnownIssue("not judged: the machine was too busy") { Issue.record("\(report)") }
        } else {
            try #require(status == 0, "\(text)")
            #expect(text.contains("Nothing was lost"))
            #expect(report.verdict == "passed" && report.strayGapsMs.isEmpty)
            for step in report.steps {
                #expect(step.verdict == "passed", "\(step)")
                #expect(max(step.downlinkGapMs, step.uplinkGapMs) <= step.limitMs, "\(step)")
            }
        }
        let story = [
            "1. a call starts", "the call is on earpiece", "2. headset 1 is switched on", "the call is on headset 1",
            "3. headset 1 dies silently", "4. headset 2 is switched on", "the call is on headset 2",
            "comparing the recordings with the speech: 6 of 6",
        ]
        var rest = text[...]
        for line in story {
            let found = try #require(rest.range(of: line), "\(line) is missing, or out of order: \(text)")
            rest = rest[found.upperBound...]
        }
        // The log is in its file, without warnings.
        #expect(!text.contains("info ") && !text.contains("notice "))
        #expect(try contents("btcalld.log").contains("route: none -> earpiece"))
        #expect(try !contents("btcalld.log").contains("bluetoothd is not on the bus"))
        #expect(text.hasSuffix("btcalld.log is the daemon's log\n"))
        #expect(text.contains("\(folder.path)/timeline.svg, in a browser"))
        #expect(try contents("timeline.svg").contains("</svg>"))
        #expect(try contents("report.json").contains("\"verdict\" : "))
        for name in ["earpiece", "headset-1", "headset-2", "far-end"] {
            #expect(try Data(contentsOf: folder.appending(path: "\(name).wav")).count > 100_000)
        }
    }

    @Test func `when interrupted it says so, and measures nothing`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try start()
        var text = ""
        while !text.contains("2. headset 1 is switched on") {
            let more = process.read()
            try #require(!more.isEmpty, "\(text)")
            text += more
        }
        process.send(SIGINT)
        let (rest, status) = process.finish()
        #expect(status == 128 + SIGINT)
        #expect(rest.contains("Interrupted: nothing was measured."))
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "report.json").path))
    }
}
