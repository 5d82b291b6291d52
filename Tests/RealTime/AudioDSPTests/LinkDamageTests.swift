import AudioDSP
import BTCallTrials
import Testing

/// Cost of each kind of damage to an mSBC link, in codec frames.
struct LinkDamageTests {
    private struct Outcome: Equatable {
        var frames = 100
        var concealed = 0
        var before = 0
        var burst = 0
        var gaps = 0
        var resyncs = 0
        var refused = 0
        var skipped = 0
    }

    private static let coded = H2Stream.encode(Signals.voice(rate: 16_000, frames: 120 * 100))

    /// Receives packets and the end of the link; the audio is as long as the codec frames.
    private func outcome(_ packets: [[UInt8]], bad: (Int) -> Bool = { _ in false }) -> Outcome {
        var receiver = LinkReceiver(.mSBC)
        var buffer = [Int16](repeating: 0, count: 40_000)
        var frames = 0
        for (index, packet) in packets.enumerated() {
            frames += receiver.receive(
                packet, packet.count, status: bad(index) ? 1 : 0, into: &buffer, capacity: buffer.count)
        }
        frames += receiver.finish(into: &buffer, capacity: buffer.count)
        let counters = receiver.counters
        #expect(frames == counters.frames * 120)
        return Outcome(
            frames: counters.frames, concealed: counters.framesConcealed, before: counters.framesBefore,
            burst: counters.longestBurst, gaps: counters.sequenceGaps, resyncs: counters.resyncs,
            refused: counters.decodeErrors, skipped: counters.bytesSkipped)
    }

    private func packets(_ bytes: [UInt8], of size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }

    private func changed(_ changes: (inout [[UInt8]]) -> Void) -> [[UInt8]] {
        var packets = Self.coded
        changes(&packets)
        return packets
    }

    @Test func `Nothing`() {
        #expect(outcome(Self.coded) == Outcome())
    }

    @Test(arguments: [1, 2, 3])
    func `Missing packets`(count: Int) {
        #expect(
            outcome(changed { $0.removeSubrange(40..<40 + count) }) == Outcome(concealed: count, burst: count, gaps: 1))
    }

    @Test(arguments: [24, 30, 48, 72, 120])
    func `A missing packet costs the codec frames that it overlaps, at any position`(size: Int) {
        let all = packets(Self.coded.flatMap { $0 }, of: size)
        for lost in 20..<40 {
            var kept = all
            kept.remove(at: lost)
            let touched = (lost * size + size - 1) / 60 - lost * size / 60 + 1
            let result = outcome(kept)
            #expect(result.frames == 100 && result.concealed == touched, "packet \(lost)")
            #expect(result.gaps <= 1 && result.resyncs <= 1, "packet \(lost)")
        }
    }

    @Test func `Used padding is not taken for damage`() {
        var random = SeededRandom(24)
        let packets = Self.coded.map { Array($0.dropLast()) + [UInt8.random(in: 2...255, using: &random)] }
        #expect(outcome(packets) == Outcome())
        let later = changed { for index in 50..<100 { $0[index][59] = 0x77 } }
        #expect(outcome(later).concealed == 0)
    }

    @Test func `Four missing packets leave no trace in the numbers`() {
        #expect(outcome(changed { $0.removeSubrange(40..<44) }) == Outcome(frames: 96))
    }

    @Test func `Every second packet is missing`() {
        let half = Self.coded.indices.filter { $0 % 2 == 0 }.map { Self.coded[$0] }
        // The loss of the last one is invisible.
        #expect(outcome(half) == Outcome(frames: 99, concealed: 49, burst: 1, gaps: 49))
    }

    @Test(arguments: [1, 2, 7])
    func `Packets of zeros keep their place`(count: Int) {
        let packets = changed { for index in 40..<40 + count { $0[index] = [UInt8](repeating: 0, count: 60) } }
        #expect(outcome(packets) == Outcome(concealed: count, burst: count))
    }

    @Test(arguments: [24, 27, 30, 48, 60, 72, 120, 144], [UInt8(0), 0x55])
    func `A bad packet costs the codec frames that it overlaps`(size: Int, content: UInt8) {
        let bytes = Self.coded.flatMap { $0 }
        var all = packets(bytes, of: size)
        let bad = Set([3, 11, 12, 25])
        var touched: Set<Int> = []
        for index in bad {
            all[index] = [UInt8](repeating: content, count: size)
            touched.formUnion(index * size / 60...(index * size + size - 1) / 60)
        }
        var result = outcome(all) { bad.contains($0) }
        result.burst = 0
        let silent = touched.contains(0) ? 1 : 0
        #expect(result == Outcome(concealed: touched.count - silent, before: silent))
    }

    @Test func `A foreign packet costs its own length`() {
        var random = SeededRandom(21)
        for _ in 0..<50 {
            let garbage = (0..<60).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(
                outcome(changed { $0[40] = garbage })
                    == Outcome(concealed: 1, burst: 1, gaps: 1, resyncs: 1, skipped: 60))
        }
    }

    @Test func `A bit error in the header costs nothing`() {
        for place in 0..<16 {
            let packets = changed { $0[40][place / 8] ^= 1 << UInt8(place % 8) }
            #expect(outcome(packets) == Outcome(), "bit \(place)")
        }
    }

    @Test func `A wrong syncword or scale factor is rejected by the decoder, and its place is kept`() {
        for place in [2, 6, 7, 8, 9] {
            let packets = changed { $0[40][place] ^= 0x10 }
            #expect(outcome(packets) == Outcome(concealed: 1, burst: 1, refused: 1), "byte \(place)")
        }
    }

    @Test func `A short packet costs one codec frame, wherever it ends`() {
        for length in 1..<60 {
            let result = outcome(changed { $0[40].removeSubrange(length...) })
            // Bytes of the next header complete a codec frame that lacks fewer than five.
            let expected =
                length < 56
                ? Outcome(concealed: 1, burst: 1, gaps: 1, resyncs: 1, skipped: length)
                : Outcome(concealed: 1, burst: 1, resyncs: 1)
            #expect(result == expected, "\(length) bytes")
        }
    }

    @Test func `An empty packet has no effect`() {
        #expect(outcome(changed { $0.insert([], at: 40) }) == Outcome())
    }

    @Test func `A packet that is too long is skipped from where it should have ended`() {
        for extra in 1..<180 {
            let packets = changed { $0[40] += [UInt8](repeating: 0x55, count: extra) }
            let made = extra / 60
            #expect(
                outcome(packets)
                    == Outcome(frames: 100 + made, concealed: made, burst: made, resyncs: 1, skipped: extra))
        }
    }

    @Test func `A capture that begins within a codec frame loses that one`() {
        for start in 1..<60 {
            let bytes = Array(Self.coded.flatMap { $0 }[start...])
            #expect(outcome(packets(bytes, of: 60)) == Outcome(frames: 99, skipped: 60 - start))
        }
    }

    @Test func `A capture that ends within a codec frame ends with the previous one`() {
        for end in 1..<60 {
            let bytes = Array(Self.coded.flatMap { $0 }.dropLast(end))
            #expect(outcome(packets(bytes, of: 48)) == Outcome(frames: 99))
        }
    }

    @Test func `Damage at the end keeps the time`() {
        var random = SeededRandom(22)
        for _ in 0..<300 {
            let garbage = (0..<60).map { _ in UInt8.random(in: 0...255, using: &random) }
            let result = outcome(changed { $0[99] = garbage })
            #expect(result.frames == 100 && result.concealed == 1 && result.resyncs == 1)
        }
    }

    @Test func `A headset that does not number its frames is soon recognised`() {
        let packets = Self.coded.map { [$0[0], 0x08] + $0[2...] }
        #expect(outcome(packets) == Outcome(frames: 106, concealed: 6, burst: 3, gaps: 99))
    }

    @Test func `A missing packet before one with a bad status still counts as missing`() {
        let packets = changed { $0.remove(at: 40) }
        #expect(outcome(packets) { $0 == 40 } == Outcome(concealed: 2, burst: 2, gaps: 1))
    }

    @Test func `Zeros or garbage alone give silence in time`() {
        #expect(
            outcome([[UInt8]](repeating: [UInt8](repeating: 0, count: 48), count: 50))
                == Outcome(frames: 40, before: 40, burst: 40, skipped: 2_400))
        #expect(
            outcome([[UInt8]](repeating: [UInt8](repeating: 0x55, count: 48), count: 50))
                == Outcome(frames: 40, before: 40, burst: 40, skipped: 2_400))
    }

    @Test func `After any damage at one place it is in step within two codec frames`() {
        var random = SeededRandom(23)
        let bodies = Self.coded.map { Array($0[2..<59]) }
        for turn in 0..<3_000 {
            var bytes = Self.coded[0..<16].flatMap { $0 }
            let start = Int.random(in: 300..<360, using: &random)
            let length = Int.random(in: 1...60, using: &random)
            let other = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let isRemoved = turn % 3 != 0
            if isRemoved { bytes.removeSubrange(start..<start + length) }
            if turn % 3 != 1 { bytes.insert(contentsOf: other, at: start) }
            var synchronizer = H2Synchronizer()
            let sizes = [Int.random(in: 1...144, using: &random), Int.random(in: 1...144, using: &random)]
            let found = H2Stream.frames(in: bytes, sizes: sizes, synchronizer: &synchronizer)
            // The damage reaches into the seventh codec frame at most.
            #expect(found.suffix(8) == bodies[8..<16], "\(turn): \(length) bytes at \(start)")
        }
    }
}
