import Foundation
import Synchronization
import TestSupport
import Testing

@testable import FrameRings

private final class Counts: Sendable {
    let read = Atomic<Int>(0)
    let torn = Atomic<Int>(0)
    let backwards = Atomic<Int>(0)
}

/// A writer and readers at full speed, each in a thread of its own.
@Suite(.serialized) struct FrameRingRaceTests {
    @Test(arguments: [(64, 48, 60_000), (640, 360, 3_000)])
    func `no reader accepts a torn frame, and numbers only grow`(width: Int, height: Int, count: Int) throws {
        let layout = try FrameLayout.small(width, height)
        let frames = TestFrames(layout: layout)
        let writer = try TestWriter(layout)
        let descriptor = writer.takeReaderDescriptor()
        defer { close(descriptor) }
        let readers = try (0..<2).map { _ in try FrameRingReader(descriptor: descriptor) }
        let counts = Counts()
        let threads = readers.map { reader in
            TestThread { isStopped in
                var last: UInt64 = 0
                while !isStopped(), last < UInt64(count) {
                    guard let frame = reader.latest(after: last) else { continue }
                    if frame.head.number <= last { counts.backwards.add(1, ordering: .relaxed) }
                    if !frames.isWhole(frame) || frame.head.nanoseconds != frame.head.number * 5 {
                        counts.torn.add(1, ordering: .relaxed)
                    }
                    last = frame.head.number
                    counts.read.add(1, ordering: .relaxed)
                }
            }
        }
        let patterns = (0..<256).map { [UInt8](repeating: UInt8($0), count: layout.frameBytes) }
        for number in 1...UInt64(count) {
            let pattern = patterns[Int(TestFrames.value(number))]
            #expect(writer.write(pattern, at: number * 5))
        }
        // The last frame stays: each reader gets it.
        for thread in threads { thread.join() }
        #expect(counts.torn.load(ordering: .relaxed) == 0 && counts.backwards.load(ordering: .relaxed) == 0)
        #expect(counts.read.load(ordering: .relaxed) >= 2)
    }

    @Test func `a test frame that is torn is noticed`() throws {
        let layout = try FrameLayout.small()
        let frames = TestFrames(layout: layout)
        var bytes = frames.bytes(4)
        let head = FrameHead(number: 4, nanoseconds: 0, isCard: false)
        #expect(frames.isWhole(Frame(head: head, bytes: bytes)))
        bytes[layout.frameBytes - 1] = TestFrames.value(1)
        #expect(!frames.isWhole(Frame(head: head, bytes: bytes)))
    }
}
