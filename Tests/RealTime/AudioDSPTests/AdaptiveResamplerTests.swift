import AudioDSP
import Testing

struct AdaptiveResamplerTests {
    /// One second of `hertz` through a resampler at `ppm`, in blocks of 10 ms; the output is at `hertz` / (1 + ppm).
    private func purity(_ hertz: Double, from: Int, to: Int, ppm: Double) -> Double {
        var resampler = AdaptiveResampler(from: from, to: to)
        resampler.setDrift(ppm: ppm)
        let input = Signals.tone(hertz, rate: from, frames: from)
        var audio: [Int16] = []
        var output = [Int16](repeating: 0, count: to / 100 + 16)
        for start in stride(from: 0, to: from, by: from / 100) {
            let block = Array(input[start..<start + from / 100])
            let result = resampler.process(block, block.count, &output, output.count)
            #expect(result.used == block.count)
            audio += output[0..<result.made]
        }
        return Signals.purity(audio[(to / 20)...], hertz: hertz / (1 + ppm * 1e-6), rate: to)
    }

    @Test(arguments: ratePairs)
    func `a tone of 1 kHz keeps 80 decibels at every drift`(from: Int, to: Int) {
        for ppm in [0, 1_000, -1_000, 37.5] {
            // A sine of 10 000 in 16 bits has itself no more than 87 dB.
            #expect(purity(1_000, from: from, to: to, ppm: ppm) > 80, "\(ppm) ppm")
        }
    }

    @Test func `the upper end of speech passes and frequencies above the lower rate's range do not`() {
        for hertz in [300.0, 3_400, 6_000] {
            #expect(purity(hertz, from: 16_000, to: 48_000, ppm: 120) > 75)
            #expect(purity(hertz, from: 48_000, to: 16_000, ppm: -120) > 75)
        }
        var resampler = AdaptiveResampler(from: 48_000, to: 16_000)
        let high = Signals.tone(10_000, rate: 48_000, frames: 48_000)
        var output = [Int16](repeating: 0, count: 16_100)
        let result = resampler.process(high, high.count, &output, output.count)
        #expect(Signals.rms(output[1_000..<result.made]) < Signals.rms(high) / 5_000)
    }

    @Test(arguments: ratePairs)
    func `without drift whole blocks give whole blocks, and the delay is 2 milliseconds at most`(from: Int, to: Int) {
        var resampler = AdaptiveResampler(from: from, to: to)
        var output = [Int16](repeating: 0, count: to / 100 + 8)
        var impulse = [Int16](repeating: 0, count: from / 100)
        impulse[0] = 20_000
        let silence = [Int16](repeating: 0, count: from / 100)
        var audio: [Int16] = []
        for turn in 0..<100 {
            let result = resampler.process(turn == 0 ? impulse : silence, from / 100, &output, output.count)
            #expect(result.used == from / 100 && result.made == to / 100)
            audio += output[0..<result.made]
        }
        let peak = audio.indices.max { abs(audio[$0]) < abs(audio[$1]) } ?? 0
        #expect(abs(peak - resampler.delayFrames) <= 1)
        #expect(resampler.delayFrames * 500 <= to)
    }

    @Test func `the drift changes the amount of output exactly`() {
        for ppm in [1_000.0, -1_000, 250, -1] {
            var resampler = AdaptiveResampler(from: 16_000, to: 48_000)
            resampler.setDrift(ppm: ppm)
            let block = [Int16](repeating: 0, count: 160)
            var output = [Int16](repeating: 0, count: 500)
            var made = 0
            for _ in 0..<3_000 { made += resampler.process(block, 160, &output, 500).made }
            #expect(abs(Double(made) - 1_440_000 * (1 + ppm * 1e-6)) < 2)
        }
    }

    @Test func `a drift beyond the limit or NaN is bounded`() {
        var resampler = AdaptiveResampler(from: 16_000, to: 48_000)
        for (ppm, expected) in [(5_000.0, 1_000.0), (-5_000, -1_000), (.nan, 0), (.infinity, 1_000)] {
            resampler.setDrift(ppm: ppm)
            #expect(resampler.driftPPM == expected)
        }
    }

    @Test func `changing the drift with every block leaves no step`() {
        var resampler = AdaptiveResampler(from: 16_000, to: 48_000)
        let input = Signals.tone(300, rate: 16_000, frames: 16_000)
        var output = [Int16](repeating: 0, count: 500)
        var audio: [Int16] = []
        for (turn, start) in stride(from: 0, to: 16_000, by: 160).enumerated() {
            resampler.setDrift(ppm: turn % 2 == 0 ? 1_000 : -1_000)
            let made = resampler.process(Array(input[start..<start + 160]), 160, &output, 500).made
            audio += output[0..<made]
        }
        let steepest = Signals.largestStep(Signals.tone(300, rate: 48_000, frames: 4_800))
        #expect(Signals.largestStep(Array(audio[480...])) <= steepest + 4)
    }

    @Test func `with little room little is consumed and nothing is lost`() {
        for (from, to) in ratePairs {
            var whole = AdaptiveResampler(from: from, to: to)
            var pieces = AdaptiveResampler(from: from, to: to)
            whole.setDrift(ppm: 77)
            pieces.setDrift(ppm: 77)
            let input = Signals.voice(rate: from, frames: from / 5)
            var expected = [Int16](repeating: 0, count: to / 4)
            let all = whole.process(input, input.count, &expected, expected.count)
            #expect(all.used == input.count)
            var output: [Int16] = []
            var used = 0
            var piece = [Int16](repeating: 0, count: 61)
            var turns = 0
            while turns < 10_000 {
                turns += 1
                let result = pieces.process(Array(input[used...]), input.count - used, &piece, turns % 61 + 1)
                used += result.used
                output += piece[0..<result.made]
                // It consumes no more than it needs.
                #expect(abs(used - output.count * from / to) <= from / to + 3)
                if used == input.count && result.made == 0 { break }
            }
            #expect(output == Array(expected[0..<all.made]))
        }
    }
}
