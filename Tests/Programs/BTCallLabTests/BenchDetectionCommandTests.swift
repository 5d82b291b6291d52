import BTCallTrials
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallLab

/// `btcall-lab bench detection` as its user sees it.
@Suite(.timeLimit(.minutes(1))) struct BenchDetectionCommandTests {
    private struct Report: Decodable {
        struct Course: Decodable {
            let name: String
            let longestMs: Double?
        }

        let courses: [Course]
    }

    private func run(
        _ arguments: [String], recording: String? = nil, capturing captured: ChildProcess.Captured = .output
    ) throws -> (text: String, status: Int32) {
        let file = FileManager.default.temporaryDirectory.appending(path: "btcall-arrivals-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        var words = ["bench", "detection"] + arguments
        if let recording {
            try Data(recording.utf8).write(to: file)
            words += ["--arrivals", file.path()]
        }
        let program = try #require(LabCommandTests.program).path()
        return try ChildProcess(program, words, capturing: captured).finish()
    }

    /// A line for each packet of 7.5 ms.
    private static func lines(_ range: Range<Int>) -> String {
        range.map { "\(Double($0) * 0.0075)\n" }.joined()
    }

    @Test func `each course has two rows, and a table or JSON says what was measured`() throws {
        let (text, status) = try run(["--minutes", "1", "--json"])
        #expect(status == 0, "\(text)")
        let courses = try JSONDecoder().decode(Report.self, from: Data(text.utf8)).courses
        #expect(courses.count == 2 * ArrivalCourse.all.count)
        #expect(courses.first?.name == "steady 1")
        #expect(courses.first?.longestMs == 60)
        let table = try run(["--minutes", "1"])
        #expect(table.status == 0)
        #expect(table.text.hasPrefix("Course") && table.text.contains("\nsteady 1"))
    }

    @Test func `a recording with a pause that nothing announces exits with 1, and one without it with 0`() throws {
        let steady = try run([], recording: Self.lines(0..<4_000))
        #expect(steady.status == 0, "\(steady.text)")
        let paused = try run([], recording: Self.lines(0..<2_000) + Self.lines(2_020..<4_000), capturing: .errors)
        #expect(paused.status == 1)
        #expect(paused.text.contains("link 1: 1 false alarms"), "\(paused.text)")
    }

    @Test func `a recording without packets, and one that does not exist, exit with 2 and the reason`() throws {
        let empty = try run([], recording: "# nothing\n", capturing: .errors)
        #expect(empty.status == 2)
        #expect(empty.text.contains("no voice packet"), "\(empty.text)")
        let missing = try run(["--arrivals", "/nowhere/at/all"], capturing: .errors)
        #expect(missing.status == 2)
        #expect(missing.text.contains("/nowhere/at/all: cannot be read"), "\(missing.text)")
    }
}
