import Configuration
import ControlLoop
import Glibc
import Synchronization
import TestSupport
import Testing

/// A disk that a test blocks and fills.
private final class Disk: Sendable {
    struct State {
        var isFull = false
        /// The attempts in order: the file's last name and the text.
        var attempts: [String] = []
    }

    private let state = Mutex(State())
    let gate = Gate()

    var attempts: [String] { state.withLock { $0.attempts } }

    func fill(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

    func replacement(isHeld: Bool) -> StateWriter.Replacement {
        { [self] file, text in
            state.withLock { $0.attempts.append("\(file.path.split(separator: "/").last ?? ""):\(text)") }
            if isHeld { gate.wait() }
            return state.withLock { $0.isFull } ? SystemError(call: "write", code: ENOSPC) : nil
        }
    }
}

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct StateWriterTests {
    private let first = StateFile("a", in: "/nowhere")
    private let second = StateFile("b", in: "/nowhere")

    @Test func `a hanging disk does not block the loop, and of waiting texts the latest is written, in order`()
        async throws
    {
        let disk = Disk()
        let writer = StateWriter(replace: disk.replacement(isHeld: true))
        var outcomes: [String] = []
        writer.write("1", to: first) { _ in outcomes.append("1") }
        try await eventually("the first is being written") { disk.attempts == ["a:1"] }
        // The loop continues: this code runs on it.
        for text in ["2", "3", "4"] { writer.write(text, to: first) { _ in outcomes.append(text) } }
        for text in ["5", "6"] { writer.write(text, to: second) { _ in outcomes.append(text) } }
        writer.write("7", to: first) { _ in outcomes.append("7") }
        #expect(outcomes.isEmpty && disk.attempts == ["a:1"])
        disk.gate.release(3)
        await writer.settle()
        #expect(disk.attempts == ["a:1", "a:7", "b:6"])
        // The first file had a newer text waiting when its write was done; only the newer one is reported.
        #expect(outcomes == ["7", "6"])
        await writer.settle()
    }

    @Test func `settle does not wait for later requests`() async throws {
        let disk = Disk()
        let writer = StateWriter(replace: disk.replacement(isHeld: true))
        var (isWaiting, isSettled) = (false, false)
        writer.write("1", to: first) { _ in }
        let waiting = Task { @ControlPlane in
            isWaiting = true
            await writer.settle()
            isSettled = true
        }
        try await eventually("it is being written and waited for") { disk.attempts == ["a:1"] && isWaiting }
        writer.write("2", to: second) { _ in }
        disk.gate.release(1)
        await waiting.value
        #expect(isSettled)
        try await eventually("the later one is being written") { disk.attempts == ["a:1", "b:2"] }
        disk.gate.release(1)
        await writer.settle()
    }

    @Test func `a failed write is retried once there is room, but not after a newer text`() async throws {
        let disk = Disk()
        disk.fill(true)
        let writer = StateWriter(pause: .milliseconds(20), replace: disk.replacement(isHeld: false))
        var errors: [SystemError?] = []
        writer.write("1", to: first) { errors.append($0) }
        try await eventually("it is tried again") { errors.count >= 3 }
        #expect(errors.allSatisfy { $0?.code == ENOSPC } && disk.attempts.allSatisfy { $0 == "a:1" })
        writer.write("2", to: first) { errors.append($0) }
        disk.fill(false)
        try await eventually("it is written") { errors.last == .some(nil) }
        let attempts = disk.attempts
        #expect(attempts.last == "a:2" && attempts.drop { $0 == "a:1" }.allSatisfy { $0 == "a:2" })
        await writer.finish()
        #expect(disk.attempts == attempts)
    }

    @Test func `finish retries failed writes once`() async {
        let disk = Disk()
        disk.fill(true)
        let writer = StateWriter(replace: disk.replacement(isHeld: false))
        writer.write("1", to: first) { _ in }
        await writer.settle()
        disk.fill(false)
        await writer.finish()
        #expect(disk.attempts == ["a:1", "a:1"])
    }
}
