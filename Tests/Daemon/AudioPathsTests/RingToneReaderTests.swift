import AudioPaths
import ControlLoop
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct RingToneReaderTests {
    private let tone = RingTone(samples: [1, 2, 3], isCut: false)

    /// A disk that returns nothing until it is released.
    private final class Disk: Sendable {
        let reads = Mutex<[String]>([])
        let gate = Gate()

        func wait(_ file: String) {
            reads.withLock { $0.append(file) }
            gate.wait()
        }
    }

    @Test func `a file that is read in time is passed to all waiting callers`() async throws {
        let disk = Disk()
        let tone = tone
        let reader = RingToneReader { file, _ in
            disk.wait(file)
            return .success(tone)
        }
        var outcomes: [RingToneReader.Outcome] = []
        reader.read("/a", atRate: 48_000) { outcomes.append($0) }
        reader.read("/a", atRate: 48_000) { outcomes.append($0) }
        #expect(outcomes.isEmpty)
        disk.gate.release()
        try await eventually("both have it") { outcomes == [.success(tone), .success(tone)] }
        #expect(disk.reads.withLock { $0 } == ["/a"])
    }

    @Test func `a hanging disk costs only the file, delays nobody, and blocks at most one thread`() async throws {
        let disk = Disk()
        let tone = tone
        let reader = RingToneReader(timeout: .milliseconds(50)) { file, _ in
            disk.wait(file)
            return .success(tone)
        }
        var outcomes: [RingToneReader.Outcome] = []
        reader.read("/a", atRate: 48_000) { outcomes.append($0) }
        try await eventually("it is given up") { !outcomes.isEmpty }
        #expect(outcomes == [.failure(RingFileError(what: "is not read within 0.05 seconds"))])
        // Later rings do not wait at all.
        reader.read("/a", atRate: 48_000) { outcomes.append($0) }
        reader.read("/b", atRate: 48_000) { outcomes.append($0) }
        #expect(outcomes.count == 3 && outcomes.last == .failure(RingFileError(what: "is not read while /a still is")))
        #expect(disk.reads.withLock { $0 } == ["/a"])
        disk.gate.release()
        try await eventually("the next is read") {
            if outcomes.last == .success(tone) { return true }
            // A busy machine may be too late for the first one.
            disk.gate.release()
            reader.read("/b", atRate: 48_000) { outcomes.append($0) }
            return false
        }
    }
}
