import CBTCall
import Foundation
import TestSupport
import Testing

@testable import FrameRings

/// Writers that write anything, at any moment.
@Suite(.serialized) struct HostileRingTests {
    @Test func `frames of a ring with a changed header are read inside the memory`() throws {
        let layout = try FrameLayout.small()
        var generator = SeededGenerator(seed: 28)
        let ring = ForgedRing(layout)
        var read = 0
        for _ in 0..<5_000 {
            ring.put(layout.header, at: 0)
            for _ in 0...generator.below(2) {
                // The smaller a number is, the likelier is it accepted.
                let number = generator.next() >> UInt64(generator.below(64))
                ring.put(number, bytes: 4, at: 4 * generator.below(20))
            }
            guard let reader = try? FrameRingReader(descriptor: ring.descriptor) else { continue }
            let number = generator.next() >> 1 | 1
            ring.announce(number, in: reader.layout)
            let frame = try #require(reader.latest())
            #expect(frame.head.number == number && frame.bytes.count == reader.layout.frameBytes)
            read += 1
        }
        #expect(read > 50)
    }

    @Test func `the header is not read again: later changes of it change nothing`() throws {
        let layout = try FrameLayout.small()
        let ring = ForgedRing(layout)
        let reader = try FrameRingReader(descriptor: ring.descriptor)
        ring.put([UInt8](repeating: 0xFF, count: 128), at: 0)
        let writer = try TestWriter(layout)
        #expect(writer.write(TestFrames(layout: layout).bytes(1)))
        ring.put(TestFrames(layout: layout).bytes(1), at: layout.slot(of: 1) + 64)
        ring.announce(1, in: layout)
        #expect(reader.layout == layout)
        #expect(reader.latest().map { TestFrames(layout: layout).isWhole($0) } == true)
    }

    @Test(arguments: [0, 1, 2, 3, 1 << 62, 1 << 63, .max - 1, .max] as [UInt64])
    func `any count of frames is survived`(count: UInt64) throws {
        let layout = try FrameLayout.small()
        let ring = ForgedRing(layout)
        let reader = try FrameRingReader(descriptor: ring.descriptor)
        ring.put(count, bytes: 8, at: FrameLayout.Place.written)
        let plain = reader.latest()
        // The sequence that fits is what an overflow gives.
        if count > 0 { ring.put(2 &* count, bytes: 8, at: layout.slot(of: count)) }
        let fitting = reader.latest()
        #expect(plain == nil || plain?.bytes.count == layout.frameBytes)
        #expect(fitting?.head.number == (count == 0 ? nil : count))
        #expect(reader.latest(after: .max) == nil)
    }

    @Test func `a writer that scribbles over everything meanwhile costs only its own pictures`() throws {
        let layout = try FrameLayout.small()
        let (reader, descriptor) = try FrameRingReader.make(layout)
        defer { close(descriptor) }
        let scribbler = TestThread { isStopped in
            var generator = SeededGenerator(seed: 3_600_000)
            while !isStopped() {
                let place = 8 * generator.below(generator.below(2) == 0 ? 24 : layout.memoryBytes / 8)
                var number = generator.below(2) == 0 ? UInt64(generator.below(8)) : generator.next()
                pwrite(descriptor, &number, 8, off_t(place))
                // Sequences that fit, so that frames are copied.
                let count = UInt64(generator.below(1000))
                var (written, sequence) = (count, 2 * count)
                pwrite(descriptor, &written, 8, off_t(FrameLayout.Place.written))
                pwrite(descriptor, &sequence, 8, off_t(layout.slot(of: max(1, count))))
            }
        }
        var read = 0
        var room = [UInt8](repeating: 0, count: layout.frameBytes)
        var turn = 0
        // A busy machine starts the other thread late.
        while turn < 200_000 || read == 0 && turn < 20_000_000 {
            turn += 1
            let head = room.withUnsafeMutableBytes { reader.copyLatest(after: 0, into: $0) }
            if let head {
                read += 1
                #expect(head.number > 0)
            }
            _ = reader.isEnded
        }
        scribbler.end()
        #expect(read > 0)
        // The ring is as good as before for a writer that writes frames.
        let writer = try TestWriter(descriptor: Self.repaired(descriptor, layout))
        let frames = TestFrames(layout: layout)
        #expect(writer.write(frames.bytes(1)))
        #expect(reader.latest().map { frames.isWhole($0) } == true)
    }

    private static func repaired(_ descriptor: Int32, _ layout: FrameLayout) -> Int32 {
        _ = layout.header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        return descriptor
    }
}
