import AudioDSP
import BTCallTrials
import Testing

struct MSBCCodecTests {
    @Test(arguments: [300.0, 1_000, 3_400, 6_000])
    func `a tone survives encoding and decoding`(hertz: Double) {
        var codec = MSBCCodec()
        let input = Signals.tone(hertz, rate: 16_000, frames: 16_000)
        var output: [Int16] = []
        var frame = [UInt8](repeating: 0, count: MSBCCodec.frameBytes)
        var block = [Int16](repeating: 0, count: MSBCCodec.frameSamples)
        for start in stride(from: 0, to: 15_960, by: 120) {
            let isCoded = codec.encode(Array(input[start..<start + 120]), into: &frame)
            let isDecoded = codec.decode(frame, into: &block)
            #expect(isCoded && isDecoded)
            output += block
        }
        #expect(frame[0] == 0xAD)
        #expect(Signals.purity(output[480...], hertz: hertz, rate: 16_000) > 20)
        #expect(abs(Signals.rms(output[480...]) / Signals.rms(input) - 1) < 0.05)
    }

    @Test func `a codec frame with a wrong syncword or checksum is rejected and the next one is decoded`() {
        var codec = MSBCCodec()
        var frame = [UInt8](repeating: 0, count: 57)
        var block = [Int16](repeating: 0, count: 120)
        _ = codec.encode(Signals.tone(700, rate: 16_000, frames: 120), into: &frame)
        for (index, change) in [(0, 0x01), (3, 0x55), (5, 0x10)] {
            var broken = frame
            broken[index] ^= UInt8(change)
            let isDecoded = codec.decode(broken, into: &block)
            #expect(!isDecoded)
        }
        let isDecoded = codec.decode(frame, into: &block)
        #expect(isDecoded)
    }

    @Test func `random codec frames are rejected or decoded but never trap`() {
        var codec = MSBCCodec()
        var random = SeededRandom(7)
        var block = [Int16](repeating: 0, count: 120)
        for _ in 0..<2_000 {
            var frame = (0..<57).map { _ in UInt8.random(in: 0...255, using: &random) }
            frame[0] = 0xAD
            _ = codec.decode(frame, into: &block)
        }
    }
}
