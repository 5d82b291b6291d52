import AudioDSP
import BTCallTrials
import Testing

/// Recovery of a lost mSBC frame from the previous one.
struct RecoveryTests {
    private static func coded(_ speech: [Int16]) -> [[UInt8]] {
        var codec = MSBCCodec()
        return (0..<speech.count / 120).map { number in
            var frame = [UInt8](repeating: 0, count: 57)
            _ = codec.encode(Array(speech[(number * 120)..<(number * 120 + 120)]), into: &frame)
            return frame
        }
    }

    @Test func `the beginning of a lost codec frame is recovered from the previous one`() {
        let frames = Self.coded(Speech.samples(rate: 16_000, seconds: 6))
        let told = MSBCCodec.recoveredSamples
        // For comparison, the same frames concealed without recovery.
        var (signal, noise, noiseMadeUp) = (0.0, 0.0, 0.0)
        for lost in stride(from: 80, to: frames.count, by: 7) {
            var codec = MSBCCodec()
            var concealment = PacketLossConcealment(rate: 16_000)
            var untold = PacketLossConcealment(rate: 16_000)
            var block = [Int16](repeating: 0, count: 120)
            for frame in frames[(lost - 12)..<lost] {
                _ = codec.decode(frame, into: &block)
                concealment.good(&block, 120)
                untold.good(&block, 120)
            }
            let recovered = codec.recover(&concealment, into: &block)
            #expect(recovered == told)
            var wanted = [Int16](repeating: 0, count: 120)
            // The decoder's state is unchanged.
            let isDecoded = codec.decode(frames[lost], into: &wanted)
            #expect(isDecoded)
            var madeUp = [Int16](repeating: 0, count: 120)
            untold.lost(&madeUp, 120)
            for index in 0..<told {
                let value = Double(wanted[index])
                signal += value * value
                noise += (Double(block[index]) - value) * (Double(block[index]) - value)
                noiseMadeUp += (Double(madeUp[index]) - value) * (Double(madeUp[index]) - value)
            }
        }
        #expect(noise * 10 < signal)
        #expect(noise * 2 < noiseMadeUp)
    }

    @Test func `recovering leaves the decoder as it was`() {
        let frames = Self.coded(Speech.samples(rate: 16_000, seconds: 2))
        var codec = MSBCCodec()
        var other = MSBCCodec()
        var concealment = PacketLossConcealment(rate: 16_000)
        var (block, wanted) = ([Int16](repeating: 0, count: 120), [Int16](repeating: 0, count: 120))
        for frame in frames {
            _ = codec.decode(frame, into: &block)
            _ = other.decode(frame, into: &wanted)
            #expect(block == wanted)
            concealment.good(&block, 120)
            if codec.recover(&concealment, into: &block) == 0 { continue }
            // The loss ends at once: none of it was returned.
            concealment.reset()
        }
    }

    @Test func `nothing is recovered before the first codec frame, in a loss, in its fade, or on a new link`() {
        let frames = Self.coded(Speech.samples(rate: 16_000, seconds: 1))
        var codec = MSBCCodec()
        var concealment = PacketLossConcealment(rate: 16_000)
        var block = [Int16](repeating: 0, count: 120)
        var recovered = codec.recover(&concealment, into: &block)
        #expect(recovered == 0)
        for frame in frames[0..<60] {
            _ = codec.decode(frame, into: &block)
            concealment.good(&block, 120)
        }
        // Two lost ones.
        recovered = codec.recover(&concealment, into: &block)
        #expect(recovered == MSBCCodec.recoveredSamples)
        concealment.lost(&block, 120 - recovered)
        codec.follow(&concealment)
        recovered = codec.recover(&concealment, into: &block)
        #expect(recovered == 0)
        concealment.lost(&block, 120)
        codec.follow(&concealment)
        // Part of a frame arrived: the last loss is still being faded over.
        _ = codec.decode(frames[62], into: &block)
        concealment.good(&block, 24)
        recovered = codec.recover(&concealment, into: &block)
        #expect(recovered == 0)
        concealment.good(&block, 96)
        codec.forget()
        recovered = codec.recover(&concealment, into: &block)
        #expect(recovered == 0)
    }
}
