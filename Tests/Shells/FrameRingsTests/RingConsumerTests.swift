import ControlLoop
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import FrameRings

/// A picture's consumer, and a reader that sleeps, closes or goes.
@Suite(.serialized) @ControlPlane struct RingConsumerTests {
    private func make(
        onEnd: @escaping @Sendable () -> Void = {}
    ) throws -> (consumer: RingConsumer, reader: FrameRingReader, wakeUp: Int32) {
        let (consumer, ends) = try RingConsumer.make(try .small(), onEnd: onEnd)
        defer { close(ends.memory) }
        return (consumer, try FrameRingReader(descriptor: ends.memory), ends.wakeUp)
    }

    @Test func `a reader is woken by one byte for a frame`() throws {
        let (consumer, reader, wakeUp) = try make()
        defer { close(wakeUp) }
        #expect(FrameWakeUp.read(wakeUp) == .nothing)
        consumer.take(TestFrames(layout: reader.layout).bytes(1), at: 5, isCard: true)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(recv(wakeUp, &bytes, 8, Int32(MSG_DONTWAIT)) == 1)
        #expect(FrameWakeUp.read(wakeUp) == .nothing)
        #expect(reader.latest()?.head == FrameHead(number: 1, nanoseconds: 5, isCard: true))
        // A frame of another size wakes nobody.
        consumer.take([1, 2, 3])
        #expect(FrameWakeUp.read(wakeUp) == .nothing)
    }

    @Test func `a reader that sleeps holds up nobody, and then gets the newest frame`() throws {
        let (consumer, reader, wakeUp) = try make()
        defer { close(wakeUp) }
        let frames = TestFrames(layout: reader.layout)
        // Its flags are its own: the writer does not wait for its end either.
        _ = fcntl(wakeUp, F_SETFL, 0)
        for number in 1...5_000 as ClosedRange<UInt64> { consumer.take(frames.bytes(number)) }
        #expect(FrameWakeUp.read(wakeUp) == .messages)
        #expect(FrameWakeUp.read(wakeUp) == .nothing)
        #expect(reader.latest()?.head.number == 5_000)
    }

    @Test func `a reader that closes its wake-up is noticed, and frames after that are no error`() async throws {
        let (consumer, reader, wakeUp) = try make()
        let mailbox = Mailbox<Readiness>()
        let source = try ControlLoop.shared.add(consumer.wakeUp, .hangup) { mailbox.put($0) }
        let frames = TestFrames(layout: reader.layout)
        consumer.take(frames.bytes(1))
        #expect(mailbox.elements.isEmpty)
        close(wakeUp)
        #expect(await mailbox.take().first?.contains(.hangup) == true)
        consumer.take(frames.bytes(2))
        #expect(reader.latest()?.head.number == 2)
        source.cancel()
    }

    @Test func `a reader that shuts its wake-up down is noticed, too`() async throws {
        let (consumer, reader, wakeUp) = try make()
        defer { close(wakeUp) }
        let mailbox = Mailbox<Readiness>()
        let source = try ControlLoop.shared.add(consumer.wakeUp, .hangup) { mailbox.put($0) }
        shutdown(wakeUp, Int32(SHUT_RDWR))
        #expect(await mailbox.take().first?.contains(.hangup) == true)
        consumer.take(TestFrames(layout: reader.layout).bytes(1))
        source.cancel()
    }

    @Test func `the end of the picture is seen in the ring, and reported once`() throws {
        let counter = Counter()
        let (consumer, reader, wakeUp) = try make { counter.add() }
        defer { close(wakeUp) }
        consumer.end()
        consumer.end()
        #expect(counter.count == 1 && reader.isEnded)
        #expect(FrameWakeUp.read(wakeUp) == .messages)
        consumer.take(TestFrames(layout: reader.layout).bytes(1))
        #expect(reader.latest() == nil)
        consumer.close()
        #expect(FrameWakeUp.read(wakeUp) == .closed)
    }

    @Test func `a closed consumer ends its ring, reports nothing and takes nothing`() throws {
        let counter = Counter()
        let (consumer, reader, wakeUp) = try make { counter.add() }
        defer { close(wakeUp) }
        consumer.close()
        consumer.close()
        consumer.end()
        consumer.take(TestFrames(layout: reader.layout).bytes(1))
        #expect(counter.count == 0 && reader.isEnded && reader.latest() == nil)
        #expect(FrameWakeUp.read(wakeUp) == .closed)
    }

    @Test func `a consumer may be closed while frames come on another thread`() throws {
        for _ in 0..<200 {
            let (consumer, reader, wakeUp) = try make()
            let frames = TestFrames(layout: reader.layout)
            let camera = TestThread { isStopped in
                let bytes = frames.bytes(1)
                while !isStopped() { consumer.take(bytes) }
            }
            while reader.latest() == nil { sched_yield() }
            consumer.close()
            camera.end()
            close(wakeUp)
        }
    }

    // MARK: Wake-ups of a writer elsewhere

    @Test func `what a writer sends to our end is read in pieces, its end and its descriptors are noticed`() throws {
        let (ours, theirs) = try FrameWakeUp.forWriter()
        #expect(FrameWakeUp.read(ours) == .nothing)
        var sent = 0
        while send(theirs, "x", 1, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == 1 { sent += 1 }
        // A handful: a writer that floods does not fill the kernel.
        #expect((1...64).contains(sent))
        var turns = 0
        while FrameWakeUp.read(ours) == .messages { turns += 1 }
        #expect(turns == (sent + 15) / 16 || turns == sent / 16 + 1)
        let large = [UInt8](repeating: 7, count: 1000)
        #expect(send(theirs, large, large.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == large.count)
        #expect(FrameWakeUp.read(ours) == .messages && FrameWakeUp.read(ours) == .nothing)
        close(theirs)
        #expect(FrameWakeUp.read(ours) == .closed)
        FrameWakeUp.close(ours)
    }
}

private final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    func add() { number.add(1, ordering: .relaxed) }
    var count: Int { number.load(ordering: .relaxed) }
}
