import AudioDSP
import BTCallTrials
import Testing

/// Search for codec frames without a syncword, those of LC3-SWB.
struct PlainSynchronizerTests {
    private static let bodies: [[UInt8]] = {
        var random = SeededRandom(31)
        return (0..<24).map { _ in (0..<58).map { _ in UInt8.random(in: 0...255, using: &random) } }
    }()
    private static let coded = bodies.enumerated().map { [0x01, H2Stream.numbers[$0 % 4]] + $1 }
    /// The expected result of `H2Stream.frames`.
    private static let starts = bodies.map { Array($0.prefix(57)) }

    private func find(_ bytes: [UInt8], _ sizes: [Int], _ synchronizer: inout H2Synchronizer) -> [[UInt8]] {
        var found = H2Stream.frames(in: bytes, sizes: sizes, synchronizer: &synchronizer)
        if synchronizer.finish() { found.append(Array(UnsafeBufferPointer(start: synchronizer.frame, count: 57))) }
        return found
    }

    @Test func `packets of every size from 1 to 144 bytes give the same codec frames`() {
        for size in 1...144 {
            var synchronizer = H2Synchronizer(hasSyncword: false)
            #expect(find(Self.coded.flatMap { $0 }, [size], &synchronizer) == Self.starts, "\(size) bytes")
            #expect(synchronizer.sequenceGaps == 0 && synchronizer.bytesSkipped == 0 && synchronizer.resyncs == 0)
        }
    }

    @Test func `a single codec frame is found at the end`() {
        var synchronizer = H2Synchronizer(hasSyncword: false)
        #expect(find(Self.coded[5], [60], &synchronizer) == [Self.starts[5]])
    }

    @Test func `a stream that begins at any place within a codec frame is found`() {
        let bytes = Self.coded.flatMap { $0 }
        for start in 1..<60 {
            var synchronizer = H2Synchronizer(hasSyncword: false)
            #expect(find(Array(bytes[start...]), [24], &synchronizer) == Array(Self.starts.dropFirst()))
            #expect(synchronizer.bytesSkipped == 60 - start && synchronizer.resyncs == 0)
        }
    }

    @Test func `a bit error in the header costs nothing`() {
        for place in 0..<16 {
            var coded = Self.coded
            coded[9][place / 8] ^= 1 << UInt8(place % 8)
            var synchronizer = H2Synchronizer(hasSyncword: false)
            #expect(find(coded.flatMap { $0 }, [60], &synchronizer) == Self.starts)
            #expect(synchronizer.resyncs == 0)
        }
    }

    @Test func `bytes that look like a header do not mislead the search`() {
        var coded = Self.coded
        for index in coded.indices { coded[index].replaceSubrange(20..<22, with: [0x01, 0x38]) }
        coded[0].replaceSubrange(40..<42, with: [0x01, 0x08])
        let bytes = Array(coded.flatMap { $0 }[30...])
        var synchronizer = H2Synchronizer(hasSyncword: false)
        let found = find(bytes, [48], &synchronizer)
        #expect(found == coded[1...].map { Array($0[2..<59]) })
        #expect(synchronizer.bytesSkipped == 30)
    }

    @Test func `after any damage at one place it is in step within two codec frames`() {
        var random = SeededRandom(32)
        for turn in 0..<2_000 {
            var bytes = Self.coded.flatMap { $0 }
            let start = Int.random(in: 300..<360, using: &random)
            let length = Int.random(in: 1...60, using: &random)
            let other = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            if turn % 3 != 0 { bytes.removeSubrange(start..<start + length) }
            if turn % 3 != 1 { bytes.insert(contentsOf: other, at: start) }
            var synchronizer = H2Synchronizer(hasSyncword: false)
            let sizes = [Int.random(in: 1...144, using: &random), Int.random(in: 1...144, using: &random)]
            #expect(find(bytes, sizes, &synchronizer).suffix(15) == Self.starts[9..<24], "\(turn)")
        }
    }
}
