import ControlLoop
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct CommandRunnerTests {
    /// Outcomes of the commands, in the order in which they ended.
    @ControlPlane
    private final class Ends {
        var all: [String] = []

        nonisolated init() {}

        func note(_ name: String, _ outcome: CommandRunner.Outcome) {
            switch outcome {
            case .ended(let report):
                all.append("\(name) \(report.wasKilled ? "killed" : "\(report.status)") \(report.output)")
            case .notStarted(let error): all.append("\(name) \(error.code)")
            }
        }

        func reach(_ count: Int) async throws {
            try await eventually("command \(count) ends") { all.count >= count }
        }
    }

    private let ends = Ends()

    private func runner(within limit: Duration = .seconds(30), mostWaiting: Int = 100) -> CommandRunner {
        CommandRunner(within: limit, mostWaiting: mostWaiting, keeping: 1000)
    }

    private func run(_ runner: CommandRunner, _ name: String, in queue: String = "q", _ script: String) -> Bool {
        runner.run(["/bin/sh", "-c", script], in: queue, adding: ["NAME": name]) { [ends] in ends.note(name, $0) }
    }

    @Test func `commands of a queue run one at a time and in order, each with its environment`() async throws {
        let runner = runner()
        for number in 0..<10 {
            #expect(run(runner, "\(number)", "printf $NAME; exit \(number)"))
        }
        #expect(runner.waitingCount(in: "q") == 9)
        try await ends.reach(10)
        #expect(ends.all == (0..<10).map { "\($0) \($0) \($0)" })
        #expect(runner.waitingCount(in: "q") == 0)
    }

    @Test func `queues do not wait for each other`() async throws {
        let runner = runner()
        #expect(run(runner, "slow", in: "a", "sleep 1000"))
        #expect(run(runner, "quick", in: "b", "true"))
        try await ends.reach(1)
        #expect(ends.all == ["quick 0 "])
        await runner.stop()
    }

    @Test func `commands beyond the limit are dropped`() async throws {
        let runner = runner(mostWaiting: 2)
        // One runs beside the waiting ones.
        #expect((0..<5).map { run(runner, "\($0)", "true") } == [true, true, true, false, false])
        try await ends.reach(3)
        #expect(run(runner, "5", "true"))
        try await ends.reach(4)
        #expect(ends.all == ["0 0 ", "1 0 ", "2 0 ", "5 0 "])
    }

    @Test func `a command that takes too long is killed with its children, and the next one runs`() async throws {
        // Time for a shell on a busy machine to begin, and for the next one to end.
        let runner = runner(within: .seconds(3))
        #expect(run(runner, "slow", "sleep 1000 & echo $!; wait"))
        #expect(run(runner, "next", "true"))
        try await ends.reach(2)
        let words = try #require(ends.all.first).split { $0 == " " || $0 == "\n" }
        #expect(words.prefix(2) == ["slow", "killed"] && ends.all.last == "next 0 ")
        let child = try #require(words.count == 3 ? pid_t(words[2]) : nil)
        try await eventually("the child ends") { kill(child, 0) != 0 || Self.isZombie(child) }
    }

    private static func isZombie(_ process: pid_t) -> Bool {
        guard let file = fopen("/proc/\(process)/stat", "r") else { return true }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self).contains(") Z ")
    }

    @Test func `a command that cannot be started is reported, and the next one runs`() async throws {
        let runner = runner()
        let isTaken = runner.run(["/nonexistent/hook"], in: "q", adding: [:]) { [ends] in ends.note("missing", $0) }
        #expect(isTaken)
        #expect(run(runner, "next", "true"))
        try await ends.reach(2)
        #expect(ends.all == ["missing \(ENOENT)", "next 0 "])
    }

    @Test func `stopping kills the running command, drops the waiting ones, and reports neither`() async throws {
        let runner = runner(within: .seconds(1000))
        for queue in ["a", "b"] {
            #expect(run(runner, "runs", in: queue, "sleep 1000"))
            #expect(run(runner, "waits", in: queue, "true"))
        }
        await runner.stop()
        #expect(ends.all.isEmpty)
        #expect(!run(runner, "late", "true"))
    }
}
