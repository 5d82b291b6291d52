import AudioDSP
import BTCallTrials
import Testing

struct H2SynchronizerTests {
    private let coded = H2Stream.encode(Signals.voice(rate: 16_000, frames: 120 * 24))
    private var bodies: [[UInt8]] { coded.map { Array($0[2..<59]) } }

    @Test func `packets of every size from 1 to 144 bytes give the same codec frames`() {
        for size in 1...144 {
            var synchronizer = H2Synchronizer()
            let found = H2Stream.frames(in: coded.flatMap { $0 }, sizes: [size], synchronizer: &synchronizer)
            #expect(found == bodies, "\(size) bytes")
            #expect(synchronizer.sequenceGaps == 0 && synchronizer.bytesSkipped == 0 && synchronizer.resyncs == 0)
        }
    }

    @Test func `packets of random sizes give the same codec frames`() {
        var random = SeededRandom(4)
        for _ in 0..<50 {
            var synchronizer = H2Synchronizer()
            let sizes = (0..<40).map { _ in Int.random(in: 1...144, using: &random) }
            #expect(H2Stream.frames(in: coded.flatMap { $0 }, sizes: sizes, synchronizer: &synchronizer) == bodies)
        }
    }

    @Test func `a stream that begins at any place within a codec frame is found`() {
        let bytes = coded.flatMap { $0 }
        for start in 1...60 {
            var synchronizer = H2Synchronizer()
            let found = H2Stream.frames(in: Array(bytes[start...]), sizes: [24], synchronizer: &synchronizer)
            #expect(found == Array(bodies.dropFirst()))
            #expect(synchronizer.bytesSkipped == 60 - start)
            #expect(synchronizer.resyncs == 0)
        }
    }

    @Test(arguments: [1, 2, 3])
    func `missing codec frames are counted exactly`(missing: Int) {
        var synchronizer = H2Synchronizer()
        var kept: [Int] = []
        for index in coded.indices where !(index % 8 >= 5 && index % 8 < 5 + missing) { kept.append(index) }
        let found = H2Stream.frames(in: kept.flatMap { coded[$0] }, sizes: [60], synchronizer: &synchronizer)
        #expect(found == kept.map { bodies[$0] })
        // The last group is noticed only when a codec frame follows it.
        let groups = missing == 3 ? 2 : 3
        #expect(synchronizer.sequenceGaps == groups)
        #expect(synchronizer.framesMissed == groups * missing)
        #expect(synchronizer.bytesSkipped == 0)
    }

    @Test func `garbage between codec frames is skipped and counted to the byte`() {
        var random = SeededRandom(5)
        for length in 1...200 {
            let garbage = (0..<length).map { _ in UInt8.random(in: 2...255, using: &random) }
            let bytes = coded[0..<6].flatMap { $0 } + garbage + coded[6..<12].flatMap { $0 }
            var synchronizer = H2Synchronizer()
            #expect(H2Stream.frames(in: bytes, sizes: [48], synchronizer: &synchronizer) == Array(bodies[0..<12]))
            #expect(synchronizer.resyncs == 1)
            #expect(synchronizer.bytesSkipped == length)
            #expect(synchronizer.sequenceGaps == 0)
        }
    }

    @Test func `bytes lost within a codec frame cost only that one`() {
        for lost in 1..<50 {
            for at in stride(from: 10, to: 56 - lost, by: 5) {
                var broken = coded[6]
                broken.removeSubrange(at..<at + lost)
                let bytes = coded[0..<6].flatMap { $0 } + broken + coded[7..<12].flatMap { $0 }
                var synchronizer = H2Synchronizer()
                let found = H2Stream.frames(in: bytes, sizes: [60], synchronizer: &synchronizer)
                #expect(found.suffix(5) == bodies[7..<12], "\(lost) at \(at)")
                #expect(synchronizer.resyncs == 1)
                if lost >= 5 {
                    #expect(found.count == 11)
                    #expect(synchronizer.bytesSkipped == 60 - lost)
                    #expect(synchronizer.framesMissed == 1)
                } else {
                    // The broken codec frame is completed by the first bytes of the next one, which are found again.
                    #expect(found.count == 12)
                    #expect(synchronizer.bytesTakenBack == lost && synchronizer.bytesSkipped == 0)
                    #expect(synchronizer.framesMissed == 0)
                }
            }
        }
    }

    /// A codec frame in which sound looks like a header, with syncword and reserved bytes, from byte `at` on.
    private func imitated(_ frame: [UInt8], number: UInt8, at: Int) -> [UInt8] {
        var frame = frame
        frame.replaceSubrange(at..<at + 5, with: [0x01, number, 0xAD, 0, 0])
        return frame
    }

    @Test func `sound that looks like a header does not put a receiver out of step`() {
        for at in 6...54 {
            for number in H2Stream.numbers {
                var frames = coded
                frames[6] = imitated(coded[6], number: number, at: at)
                var synchronizer = H2Synchronizer()
                let found = H2Stream.frames(in: frames.flatMap { $0 }, sizes: [60], synchronizer: &synchronizer)
                #expect(found == frames.map { Array($0[2..<59]) }, "at \(at)")
                #expect(synchronizer.resyncs == 0 && synchronizer.bytesSkipped == 0 && synchronizer.sequenceGaps == 0)
            }
        }
    }

    /// Behind the scale factors, so that the checksum stays right.
    @Test(arguments: [12, 20, 30, 47, 54])
    func `a receiver finds the codec frames although every one of them imitates a header`(at: Int) {
        let frames = coded.indices.map { imitated(coded[$0], number: H2Stream.numbers[$0 % 4], at: at) }
        let bodies = frames.map { Array($0[2..<59]) }
        let bytes = frames.flatMap { $0 }
        for start in 0..<60 {
            for size in [24, 60] {
                var synchronizer = H2Synchronizer()
                let found = H2Stream.frames(in: Array(bytes[start...]), sizes: [size], synchronizer: &synchronizer)
                // The last one waits for the header behind it.
                #expect(found.suffix(20) == bodies.dropLast().suffix(20), "from \(start)")
            }
        }
    }

    @Test func `only the beginning of a header in place of the padding makes a codec frame bad`() {
        for padding in UInt8.min...UInt8.max {
            var frames = coded
            frames[8][59] = padding
            var synchronizer = H2Synchronizer()
            let found = feed(frames.map { ($0, false) }, to: &synchronizer)
            #expect(found.map(\.body) == bodies)
            #expect(found.indices.filter { found[$0].isDamaged } == (padding == 0x01 ? [8] : []), "\(padding)")
        }
    }

    @Test func `a partly damaged codec frame is marked`() {
        var synchronizer = H2Synchronizer()
        let bytes = coded[0] + coded[1] + coded[2]
        var states: [Bool] = []
        for (index, start) in stride(from: 0, to: 180, by: 20).enumerated() {
            let taken = bytes.withUnsafeBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return 0 }
                return synchronizer.consume(base + start, 20, isDamaged: index == 4)
            }
            #expect(taken == 20)
            if synchronizer.hasFrame { states.append(synchronizer.frameIsDamaged) }
        }
        #expect(states == [false, true, false])
    }

    /// The codec frames found, each with whether it counts as damaged.
    private func feed(
        _ packets: [(bytes: [UInt8], isDamaged: Bool)], to synchronizer: inout H2Synchronizer
    ) -> [(body: [UInt8], isDamaged: Bool)] {
        var found: [(body: [UInt8], isDamaged: Bool)] = []
        for packet in packets {
            var taken = 0
            while taken < packet.bytes.count {
                taken += packet.bytes.withUnsafeBufferPointer { buffer in
                    guard let base = buffer.baseAddress else { return 0 }
                    return synchronizer.consume(base + taken, packet.bytes.count - taken, isDamaged: packet.isDamaged)
                }
                if synchronizer.hasFrame {
                    let body = Array(UnsafeBufferPointer(start: synchronizer.frame, count: 57))
                    found.append((body, synchronizer.frameIsDamaged))
                }
            }
        }
        return found
    }

    @Test func `an old packet in place of a lost one does not break the synchronisation`() {
        let bytes = Array(coded.flatMap { $0 }[..<1_200])
        var packets = stride(from: 0, to: bytes.count, by: 24).map {
            (bytes: Array(bytes[$0..<$0 + 24]), isDamaged: false)
        }
        // A copy with a header in it, at a wrong place.
        packets[11] = (packets[10].bytes, true)
        var synchronizer = H2Synchronizer()
        let found = feed(packets, to: &synchronizer)
        #expect(found.map(\.body).count == 20)
        #expect(found.indices.filter { found[$0].isDamaged } == [4])
        #expect(synchronizer.resyncs == 0 && synchronizer.bytesSkipped == 0)
    }

    @Test func `without a syncword the packet after a codec frame does not make it bad`() {
        // 58 bytes of LC3 each, with any content.
        let frames: [[UInt8]] = (0..<12).map { number in
            let header: [UInt8] = [0x01, H2Stream.numbers[number % 4]]
            let body: [UInt8] = (0..<58).map { UInt8((number * 59 + $0 * 7) % 250 + 2) }
            return header + body
        }
        for damaged in 1..<10 {
            var packets = frames.map { (bytes: $0, isDamaged: false) }
            packets[damaged].isDamaged = true
            // Its bytes are meaningless, or correct.
            if damaged % 2 == 0 { packets[damaged].bytes = [UInt8](repeating: 0xEE, count: 60) }
            var synchronizer = H2Synchronizer(hasSyncword: false)
            let found = feed(packets, to: &synchronizer)
            #expect(found.indices.filter { found[$0].isDamaged } == [damaged], "packet \(damaged)")
            #expect(found.count == 12)
            #expect(synchronizer.resyncs == 0 && synchronizer.bytesSkipped == 0)
        }
    }

    @Test func `random bytes never trap and are all accounted for`() {
        var random = SeededRandom(6)
        let alphabet: [UInt8] = [0x01, 0x08, 0x38, 0xAD, 0x00, 0x55]
        for _ in 0..<200 {
            let bytes = (0..<500).map { _ in alphabet[Int.random(in: 0..<6, using: &random)] }
            var synchronizer = H2Synchronizer()
            let found = H2Stream.frames(in: bytes, sizes: [24, 60, 1], synchronizer: &synchronizer)
            let used = synchronizer.bytesSkipped + found.count * 60 - synchronizer.bytesTakenBack
            #expect(bytes.count - used == synchronizer.pendingBytes)
        }
    }
}
