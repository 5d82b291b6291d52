import AudioDSP
import BTCallTrials
import Glibc
import Testing

struct SampleRingTests {
    @Test func `written audio is read in order across the end of the storage`() {
        let ring = SampleRing(capacity: 100)
        var next: Int16 = 0
        var expected: Int16 = 0
        for size in [60, 33, 7, 60, 99, 100, 1, 58] {
            let input = (0..<size).map { Int16($0) &+ next }
            #expect(ring.write(input, size) == size)
            #expect(ring.available == size)
            #expect(ring.free == 100 - size)
            next &+= Int16(size)
            var output = [Int16](repeating: 0, count: size)
            #expect(ring.read(&output, size) == size)
            #expect(output == (0..<size).map { Int16($0) &+ expected })
            expected &+= Int16(size)
        }
    }

    @Test func `a full ring accepts only what fits and an empty one returns nothing`() {
        let ring = SampleRing(capacity: 5)
        #expect(ring.write([1, 2, 3], 3) == 3)
        #expect(ring.write([4, 5, 6], 3) == 2)
        #expect(ring.write([7], 1) == 0)
        #expect(ring.write(silence: 4) == 0)
        var output = [Int16](repeating: -1, count: 8)
        #expect(ring.read(&output, 8) == 5)
        #expect(output == [1, 2, 3, 4, 5, -1, -1, -1])
        #expect(ring.read(&output, 1) == 0)
        #expect(ring.discard(1) == 0)
        #expect(ring.write(silence: 9) == 5)
        #expect(ring.discard(3) == 3)
        #expect(ring.available == 2)
    }

    @Test func `peeking leaves the audio and starts at an offset`() {
        let ring = SampleRing(capacity: 8)
        _ = ring.write([1, 2, 3, 4], 4)
        var output = [Int16](repeating: 0, count: 4)
        #expect(ring.peek(&output, 4, offset: 1) == 3)
        #expect(output == [2, 3, 4, 0])
        #expect(ring.peek(&output, 4, offset: 4) == 0)
        #expect(ring.peek(&output, 4, offset: 9) == 0)
        #expect(ring.peek(&output, -1, offset: 0) == 0)
        #expect(ring.available == 4)
    }

    @Test func `negative counts move nothing`() {
        let ring = SampleRing(capacity: 8)
        _ = ring.write([1, 2], 2)
        #expect(ring.write([1], -1) <= 0)
        #expect(ring.discard(-1) == 0)
        #expect(ring.available == 2)
    }

    @Test func `two threads pass two million frames without a fault`() {
        let shared = SharedRing()
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, writeAll, Unmanaged.passUnretained(shared).toOpaque())
        #expect(code == 0)
        var faults = 0
        var position = 0
        var random = SeededRandom(2)
        var block = [Int16](repeating: 0, count: 300)
        while position < SharedRing.frames {
            let count = shared.ring.read(&block, Int.random(in: 1...300, using: &random))
            for index in 0..<count where block[index] != SharedRing.value(position + index) { faults += 1 }
            position += count
            if count == 0 { sched_yield() }
        }
        pthread_join(thread, nil)
        #expect(faults == 0)
        #expect(shared.ring.available == 0)
    }
}

private final class SharedRing: Sendable {
    static let frames = 2_000_000
    let ring = SampleRing(capacity: 960)

    static func value(_ position: Int) -> Int16 { Int16(truncatingIfNeeded: position &* 31 ^ position >> 9) }
}

private func writeAll(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let shared = Unmanaged<SharedRing>.fromOpaque(context).takeUnretainedValue()
    var random = SeededRandom(3)
    var block = [Int16](repeating: 0, count: 300)
    var position = 0
    while position < SharedRing.frames {
        let count = min(Int.random(in: 1...300, using: &random), SharedRing.frames - position)
        for index in 0..<count { block[index] = SharedRing.value(position + index) }
        let written = shared.ring.write(block, count)
        position += written
        if written == 0 { sched_yield() }
    }
    return nil
}
