import AudioDSP
import Testing

/// Pairs of rates that are used.
let ratePairs = [
    (16_000, 48_000), (48_000, 16_000), (8_000, 16_000), (16_000, 8_000), (44_100, 16_000), (16_000, 44_100),
    (44_100, 48_000), (48_000, 44_100), (8_000, 48_000), (48_000, 8_000), (32_000, 16_000), (48_000, 48_000),
]

struct ResamplerTests {
    @Test(arguments: ratePairs)
    func `whole blocks give whole blocks from the first one on`(from: Int, to: Int) {
        var resampler = Resampler(from: from, to: to)
        var output = [Int16](repeating: 0, count: to / 100 + 8)
        let input = Signals.tone(1_000, rate: from, frames: from / 100)
        for _ in 0..<200 {
            let result = resampler.process(input, from / 100, &output, output.count)
            #expect(result.used == from / 100 && result.made == to / 100)
        }
    }

    @Test(arguments: ratePairs)
    func `a tone keeps its level and its purity`(from: Int, to: Int) {
        var resampler = Resampler(from: from, to: to)
        let input = Signals.tone(1_000, rate: from, frames: from)
        var output = [Int16](repeating: 0, count: to + 16)
        let result = resampler.process(input, from, &output, output.count)
        #expect(result.used == from)
        let settled = output[(to / 10)..<result.made]
        #expect(Signals.purity(settled, hertz: 1_000, rate: to) > 75)
        #expect(abs(Signals.rms(settled) / Signals.rms(input) - 1) < 0.01)
        #expect(resampler.delayFrames * 1_000 <= 4 * to)
    }

    @Test func `with little room little is consumed and nothing is lost`() {
        var whole = Resampler(from: 16_000, to: 48_000)
        var pieces = Resampler(from: 16_000, to: 48_000)
        let input = Signals.voice(rate: 16_000, frames: 1_600)
        var expected = [Int16](repeating: 0, count: 4_800)
        _ = whole.process(input, 1_600, &expected, 4_800)
        var output: [Int16] = []
        var used = 0
        var piece = [Int16](repeating: 0, count: 100)
        while output.count < 4_700 {
            let result = pieces.process(Array(input[used...]), 1_600 - used, &piece, 100)
            used += result.used
            output += piece[0..<result.made]
        }
        #expect(output == Array(expected.prefix(output.count)))
    }

    @Test func `equal rates copy`() {
        var resampler = Resampler(from: 16_000, to: 16_000)
        var output = [Int16](repeating: 0, count: 3)
        let result = resampler.process([1, 2, 3, 4], 4, &output, 3)
        #expect(result.used == 3 && result.made == 3)
        #expect(output == [1, 2, 3])
        #expect(resampler.isIdentity && resampler.delayFrames == 0)
    }
}
