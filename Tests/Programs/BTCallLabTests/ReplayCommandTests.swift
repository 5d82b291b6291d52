import BTCallBench
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallLab

/// `btcall-lab replay` as its user sees it: a process with a status.
@Suite(.timeLimit(.minutes(1))) struct ReplayCommandTests {
    private static let holds = """
        {"id": "A1", "title": "one", "tags": ["quick"], "steps": [{"t": 0, "do": "call.outgoing", "call": "c"},
          {"t": 100, "expect": {"route": "earpiece", "reason": "callStarted"}}]}
        """
    private static let fails = """
        {"id": "A2", "title": "two", "tags": ["slow", "red"], "given": {"headsets": {"H1": {}}, "connected": ["H1"]},
          "steps": [{"t": 0, "do": "call.outgoing", "call": "c"}, {"t": 400, "expect": {"route": "earpiece"}}]}
        """
    private static let wrong = #"{"id": "A3", "steps": [{"t": 0, "do": "mark"}, {"t": 1, "do": "call.outgoin"}]}"#

    private func file(_ scenarios: String...) -> String {
        #"{"format": "btcall-scenario/1", "scenarios": ["# + scenarios.joined(separator: ",\n") + "]}\n"
    }

    /// Runs `btcall-lab replay` with files of these contents; the last argument names standard input.
    private func replay(
        _ arguments: [String], _ contents: String..., capturing captured: ChildProcess.Captured = .output
    ) throws -> (text: String, status: Int32) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (index, content) in contents.enumerated() {
            try Data(content.utf8).write(to: folder.appending(path: "\(index).json"))
        }
        let program = try #require(LabCommandTests.program).path()
        let words = (["replay"] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let input = contents.isEmpty ? "/dev/null" : "0.json"
        let process = try ChildProcess(
            "/bin/sh", ["-c", "cd '\(folder.path())' && exec '\(program)' \(words) <\(input)"], capturing: captured)
        return process.finish()
    }

    @Test func `One line per scenario, then the totals of all files; 1 when an expectation fails`() throws {
        let failed = try replay(["0.json", "1.json"], file(Self.holds, Self.fails), file(Self.holds))
        #expect(
            failed.text == """
                ok A1
                not ok A2 step 2: route expected earpiece, got bluetooth:H1
                ok A1
                2 passed, 1 failed

                """)
        #expect(failed.status == 1)
        let held = try replay(["1.json"], file(Self.fails), file(Self.holds))
        #expect(held.text == "ok A1\n1 passed, 0 failed\n")
        #expect(held.status == 0)
    }

    @Test func `A dash reads standard input`() throws {
        let run = try replay(["-"], file(Self.holds))
        #expect(run.text == "ok A1\n1 passed, 0 failed\n")
        #expect(run.status == 0)
        let refused = try replay(["-"], file(Self.wrong), capturing: .errors)
        #expect(
            refused.text.hasPrefix(
                "btcall-lab: standard input: A3 step 2: unknown event 'call.outgoin'; accepted: api."))
    }

    @Test func `An invalid scenario is refused with file, id, step and words, and nothing is run`() throws {
        let refused = try replay(["0.json", "1.json"], file(Self.holds), file(Self.wrong), capturing: .errors)
        #expect(
            refused.text.hasPrefix(
                "btcall-lab: 1.json: A3 step 2: unknown event 'call.outgoin'; accepted: api.start, api.")
        )
        #expect(refused.text.hasSuffix("interruption.end, mark\n"))
        #expect(refused.status == 2)
        #expect(try replay(["0.json", "1.json"], file(Self.holds), file(Self.wrong)).text == "")
        let absent = try replay(["none.json"], capturing: .errors)
        #expect(absent.text.hasPrefix("btcall-lab: none.json: cannot be read: "))
        #expect(absent.status == 2)
        #expect(try replay([]).status == 64)
    }

    @Test func `A tag selects scenarios, several tags select those with any of them`() throws {
        let both = file(Self.holds, Self.fails)
        #expect(try replay(["--tag", "quick", "0.json"], both).text == "ok A1\n1 passed, 0 failed\n")
        #expect(try replay(["--tag", "quick", "--tag", "red", "0.json"], both).text.hasSuffix("1 passed, 1 failed\n"))
        let none = try replay(["--tag", "blue", "0.json"], both, capturing: .errors)
        #expect(none.text == "btcall-lab: no scenario has the tag 'blue'; tags are: quick, red, slow\n")
        #expect(none.status == 2)
    }

    @Test func `With --json every line is an object: the observables after each step, the outcomes, the totals`() throws
    {
        let run = try replay(["--json", "0.json"], file(Self.holds, Self.fails))
        #expect(run.status == 1)
        let objects = try run.text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(objects.count == 7)
        #expect(objects.map { $0["id"] as? String } == ["A1", "A1", "A1", "A2", "A2", "A2", nil])
        let observed = try #require(objects[4]["observed"] as? [String: Any])
        #expect(objects[4]["step"] as? Int == 2 && objects[4]["t"] as? Int == 400)
        #expect(observed["route"] as? String == "bluetooth:H1")
        #expect(observed["override"] is NSNull && observed["muted"] as? Bool == false)
        #expect(observed["opens"] as? [String: Int] == ["H1": 1])
        #expect(
            Set(observed.keys) == [
                "route", "pending", "mode", "out", "in", "available", "selected", "override", "preferred", "default",
                "started", "muted", "error", "reason", "opens", "switches", "silenceMaxMs", "ring", "restored",
                "everRoute",
            ])
        #expect(objects[2]["ok"] as? Bool == true && objects[5]["ok"] as? Bool == false)
        let failures = try #require(objects[5]["failures"] as? [[String: Any]])
        #expect(failures.first?["text"] as? String == "route expected earpiece, got bluetooth:H1")
        #expect(objects[6]["passed"] as? Int == 1 && objects[6]["failed"] as? Int == 1)
    }

    @Test func `With --trace events, decisions with their reason and effects precede the outcome`() throws {
        let run = try replay(["--trace", "0.json"], file(Self.fails))
        #expect(
            run.text == """
                  0 event call.outgoing call=c video=false
                  0 decision bluetooth:H1 (hfp) because callStarted
                  0 effect link.open H1 hfp attempt=1
                  0 effect timer 1500
                  300 event link.opened addr=H1
                  300 effect path.open bluetooth:H1 (hfp)
                  300 route bluetooth:H1 (hfp): callStarted
                  300 effect timer none
                not ok A2 step 2: route expected earpiece, got bluetooth:H1
                0 passed, 1 failed

                """)
        let json = try replay(["--trace", "--json", "0.json"], file(Self.fails))
        #expect(
            json.text.contains(
                #"{"id":"A2","kind":"decision","t":0,"text":"bluetooth:H1 (hfp) because callStarted"}"# + "\n"))
    }
}
