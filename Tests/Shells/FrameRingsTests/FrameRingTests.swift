import CBTCall
import ControlLoop
import Foundation
import TestSupport
import Testing

@testable import FrameRings

/// One writer and one reader.
@Suite(.serialized) struct FrameRingTests {
    private func pair(_ layout: FrameLayout) throws -> (writer: TestWriter, reader: FrameRingReader) {
        let writer = try TestWriter(layout)
        let descriptor = writer.takeReaderDescriptor()
        defer { close(descriptor) }
        return (writer, try FrameRingReader(descriptor: descriptor))
    }

    @Test func `a reader gets the newest frame, with its number, its time and whether it is a card`() throws {
        let layout = try FrameLayout.small(63, 47)
        let (writer, reader) = try pair(layout)
        #expect(reader.layout == layout)
        #expect(reader.latest() == nil)
        let frames = TestFrames(layout: layout)
        for number in 1...7 as ClosedRange<UInt64> {
            #expect(writer.write(frames.bytes(number), at: 1000 * number, isCard: number == 7))
        }
        let frame = try #require(reader.latest())
        #expect(frame.head == FrameHead(number: 7, nanoseconds: 7000, isCard: true))
        #expect(frames.isWhole(frame))
        #expect(reader.latest(after: 6)?.head.number == 7)
        #expect(reader.latest(after: 7) == nil)
        #expect(!reader.isEnded)
        writer.end()
        #expect(reader.isEnded && reader.latest()?.head.number == 7)
    }

    @Test func `a frame of another size is not written, and none after the end`() throws {
        let layout = try FrameLayout.small()
        let (writer, reader) = try pair(layout)
        #expect(!writer.write([UInt8](repeating: 1, count: layout.frameBytes - 1)))
        #expect(!writer.write([UInt8](repeating: 1, count: layout.frameBytes + 1)))
        #expect(!writer.write([]))
        #expect(reader.latest() == nil)
        writer.end()
        #expect(!writer.write([UInt8](repeating: 1, count: layout.frameBytes)))
        #expect(reader.latest() == nil)
    }

    @Test func `a room that is too small gets nothing`() throws {
        let layout = try FrameLayout.small()
        let (writer, reader) = try pair(layout)
        #expect(writer.write([UInt8](repeating: 1, count: layout.frameBytes)))
        var room = [UInt8](repeating: 9, count: layout.frameBytes - 1)
        #expect(room.withUnsafeMutableBytes { reader.copyLatest(after: 0, into: $0) } == nil)
        #expect(room.allSatisfy { $0 == 9 })
    }

    @Test func `a reader finds the planes where the header says, with padding`() throws {
        let packed = try FrameLayout.small(4, 2)
        let ring = ForgedRing(packed)
        // Rows of luma 16 bytes apart, chroma before luma.
        for (index, number) in [16, 8, 8, 0, 128, 64, 96].enumerated() {
            ring.put(UInt64(number), bytes: 4, at: 32 + 4 * index)
        }
        let reader = try FrameRingReader(descriptor: ring.descriptor)
        let slot = reader.layout.slot(of: 1)
        ring.put([1, 2, 3, 4], at: slot + 128)
        ring.put([5, 6, 7, 8], at: slot + 144)
        ring.put([9, 10], at: slot + 64)
        ring.put([11, 12], at: slot + 96)
        ring.announce(1, in: reader.layout)
        #expect(reader.latest()?.bytes == Array(1...12))
        let writer = try TestWriter(descriptor: ring.descriptor)
        #expect(writer.write([21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]))
        #expect(reader.latest()?.bytes == Array(21...32))
    }

    @Test func `a frame that its writer does not finish costs only this frame`() throws {
        let layout = try FrameLayout.small()
        let ring = ForgedRing(layout)
        let reader = try FrameRingReader(descriptor: ring.descriptor)
        ring.put(1, bytes: 8, at: layout.slot(of: 1))
        ring.put(1, bytes: 8, at: FrameLayout.Place.written)
        #expect(reader.latest() == nil)
        let writer = try TestWriter(descriptor: ring.descriptor)
        let frames = TestFrames(layout: layout)
        for number in 1...2 as ClosedRange<UInt64> { #expect(writer.write(frames.bytes(number))) }
        #expect(reader.latest().map { frames.isWhole($0) } == true)
    }

    // MARK: Rights

    @Test func `nobody else can write into a ring that is read, shrink it or make it larger`() throws {
        let layout = try FrameLayout.small()
        let writer = try TestWriter(layout)
        let descriptor = writer.takeReaderDescriptor()
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
        // Root may open it again for writing, and gets nothing from it.
        let again = open("/proc/self/fd/\(descriptor)", O_RDWR)
        defer { if again >= 0 { close(again) } }
        for tried in [descriptor, again] where tried >= 0 {
            let mapped = mmap(nil, layout.memoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, tried, 0)
            #expect(mapped == MAP_FAILED)
            #expect(pwrite(tried, "x", 1, 0) == -1)
            #expect(ftruncate(tried, 0) == -1 && ftruncate(tried, off_t(2 * layout.memoryBytes)) == -1)
        }
        let mapped = mmap(nil, layout.memoryBytes, PROT_READ, MAP_SHARED, descriptor, 0)
        #expect(mapped != MAP_FAILED)
        #expect(mprotect(mapped, layout.memoryBytes, PROT_READ | PROT_WRITE) == -1)
        munmap(mapped, layout.memoryBytes)
        #expect(writer.takeReaderDescriptor() == -1)
    }

    @Test func `a writer elsewhere can neither shrink its ring nor make it larger`() throws {
        let layout = try FrameLayout.small()
        let (reader, descriptor) = try FrameRingReader.make(layout)
        defer { close(descriptor) }
        #expect(ftruncate(descriptor, 0) == -1 && ftruncate(descriptor, off_t(2 * layout.memoryBytes)) == -1)
        let writer = try TestWriter(descriptor: descriptor)
        #expect(writer.layout == layout)
        #expect(writer.write(TestFrames(layout: layout).bytes(1)))
        #expect(reader.latest()?.head.number == 1)
    }

    @Test func `what is no sealed memory with a ring is refused`() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let file = open("/etc/passwd", O_RDONLY)
        let null = open("/dev/null", O_RDWR)
        let empty = btcall_sealed_memory("btcall-frames", 100)
        let zeros = btcall_sealed_memory("btcall-frames", 100_000)
        for descriptor in ends + [file, null, empty, zeros, -1] {
            #expect(throws: FrameRingError.self) { try FrameRingReader(descriptor: descriptor) }
            #expect(throws: FrameRingError.self) { try TestWriter(descriptor: descriptor) }
        }
        for descriptor in ends + [file, null, empty, zeros] { close(descriptor) }
    }

    @Test func `what was made and ended leaves neither descriptors nor mappings`() throws {
        let layout = try FrameLayout.small()
        let (descriptors, mappings) = (try Possessions.descriptors, try Possessions.mappedRings)
        for _ in 0..<200 {
            let (writer, reader) = try pair(layout)
            #expect(writer.write(TestFrames(layout: layout).bytes(1)) && reader.latest() != nil)
            let (_, descriptor) = try FrameRingReader.make(layout)
            close(descriptor)
            let (consumer, ends) = try RingConsumer.make(layout) {}
            consumer.take(TestFrames(layout: layout).bytes(1))
            close(ends.memory)
            close(ends.wakeUp)
        }
        #expect(try Possessions.descriptors == descriptors && Possessions.mappedRings == mappings)
    }
}
