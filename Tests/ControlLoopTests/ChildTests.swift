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
    func `a child's status is what a shell would say`(words: [String], status: Int32) async throws {
        #expect(try await loop.run(words) == status)
    }

    @Test func `what is no program cannot be started`() async throws {
        let error = await #expect(throws: SystemError.self) { try await loop.run(["/nonexistent/program"]) }
        #expect(error == SystemError(call: "/nonexistent/program", code: ENOENT))
        await #expect(throws: SystemError.self) { try await loop.run([]) }
    }

    @Test func `the loop goes on while a child runs, and passes a signal on to it`() async throws {
        let script = "trap 'exit 3' USR1; trap '' URG; while :; do sleep 0.01; done"
        let child = Task { @ControlPlane in
            try await loop.run(["sh", "-c", script], forwarding: [SIGUSR1], ignoring: [SIGURG])
        }
        var isOver = false
        let end = Task { @ControlPlane in
            defer { isOver = true }
            return try await child.value
        }
        // The shell may not have set its trap yet: then the signal ends it by itself.
        while !isOver {
            await loop.sleep(for: .milliseconds(20))
            pthread_kill(pthread_self(), SIGURG)
            if !isOver { pthread_kill(pthread_self(), SIGUSR1) }
        }
        #expect([3, 128 + SIGUSR1].contains(try await end.value))
    }
}
