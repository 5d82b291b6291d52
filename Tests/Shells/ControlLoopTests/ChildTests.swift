import BluetoothTypes
import ControlLoop
import Glibc
import Testing

@Suite @ControlPlane struct ChildTests {
    private let loop = ControlLoop.shared

    private nonisolated static let commands: [([String], Int32)] = [
        (["true"], 0), (["false"], 1), (["sh", "-c", "exit 42"], 42), (["sh", "-c", "kill -9 $$"], 137),
    ]

    @Test(arguments: commands)
    func `a child's status is the one that a shell reports`(words: [String], status: Int32) async throws {
        #expect(try await loop.run(words) == status)
    }

    @Test func `a missing program cannot be started`() async throws {
        let error = await #expect(throws: SystemError.self) { try await loop.run(["/nonexistent/program"]) }
        #expect(error == SystemError(call: "/nonexistent/program", code: ENOENT))
        await #expect(throws: SystemError.self) { try await loop.run([]) }
    }

    @Test func `the loop goes on while a child runs, and passes a signal on to it`() async throws {
        let script = "trap 'exit 3' USR1; trap '' URG; while :; do sleep 0.01; done"
        let child = Task { @ControlPlane in
            try await loop.run(["sh", "-c", script], forwarding: [SIGUSR1], ignoring: [SIGURG])
        }
        // Until the end of the test: the last one may come when nobody forwards it any more.
        let signal = try loop.onSignal(SIGUSR1) {}
        defer { signal.cancel() }
        var isOver = false
        let end = Task { @ControlPlane in
            defer { isOver = true }
            return try await child.value
        }
        // The shell may not have set its trap yet: then the signal ends it directly.
        while !isOver {
            await loop.sleep(for: .milliseconds(20))
            pthread_kill(pthread_self(), SIGURG)
            if !isOver { pthread_kill(pthread_self(), SIGUSR1) }
        }
        #expect([3, 128 + SIGUSR1].contains(try await end.value))
    }

    @Test func `a child's output is collected up to the limit, with its status`() async throws {
        let script = "echo first; echo second >&2; cat; exit 5"
        let report = try await loop.run(["sh", "-c", script], within: .seconds(30), keeping: 1000)
        #expect(report.status == 5 && report.output == "first\nsecond\n" && !report.wasKilled)
        // More than any buffer between the processes holds.
        let long = ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 6"]
        let cut = try await loop.run(long, within: .seconds(30), keeping: 10)
        #expect(cut.status == 6 && cut.output == "xxxxxxxxxx" && !cut.wasKilled)
    }

    @Test func `a child that takes too long is killed, and its output is kept`() async throws {
        let script = "echo begun; exec sleep 1000"
        let report = try await loop.run(["sh", "-c", script], within: .milliseconds(300), keeping: 1000)
        #expect(report.status == 137 && report.wasKilled)
        #expect(["begun\n", ""].contains(report.output))
    }

    @Test func `a child that never stops writing does not block the loop`() async throws {
        var report = try await loop.run(["yes"], within: .seconds(2), keeping: 9)
        // A machine that stood still may have killed it before it began.
        if report.output.isEmpty { report = try await loop.run(["yes"], within: .seconds(6), keeping: 9) }
        #expect(report.status == 137 && report.wasKilled && report.output == "y\ny\ny\ny\ny")
    }

    @Test func `a grandchild that keeps the output open does not delay the report`() async throws {
        let script = "sleep 1000 & echo $!; exit 0"
        let report = try await loop.run(["sh", "-c", script], within: .seconds(30), keeping: 1000)
        #expect(report.status == 0 && !report.wasKilled)
        let grandchild = try #require(pid_t(report.output.split(separator: "\n").first ?? ""))
        #expect(kill(grandchild, SIGKILL) == 0)
    }

    @Test func `an overlong variable is cut between two characters`() async throws {
        let most = ControlLoop.longestVariable
        let script = "printf %s \"$NAME\" | wc -c; printf %s \"$SHORT\""
        let report = try await loop.run(
            ["sh", "-c", script], adding: ["NAME": "x" + String(repeating: "é", count: 150_000), "SHORT": "é"],
            within: .seconds(30), keeping: 100)
        // Only the first byte of the last character would have fitted.
        #expect(report.status == 0 && report.output == "\(most - 1)\né")
    }

    @Test func `a failed start leaves no descriptor open`() async throws {
        let before = try openDescriptors()
        let error = await #expect(throws: SystemError.self) {
            try await loop.run(["/nonexistent/program"], within: .seconds(1), keeping: 10)
        }
        #expect(error == SystemError(call: "/nonexistent/program", code: ENOENT))
        #expect(try openDescriptors() == before)
    }

    private func openDescriptors() throws -> Int {
        let directory = try #require(opendir("/proc/self/fd"))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}
