import BTCallBench
import CallExchange
import Testing

@Suite struct ChirpTrainTests {
    /// The microphone's version of the chirps: delayed, quieter, inverted, and with noise.
    private func heard(_ train: ChirpTrain, delay: Int, gain: Double, noise: Int) -> [Int16] {
        var generator: UInt32 = 1
        let samples = train.samples
        return (0..<samples.count).map { index in
            generator = generator &* 1_664_525 &+ 1_013_904_223
            let hiss = noise > 0 ? Int(generator >> 8) % (2 * noise + 1) - noise : 0
            let chirp = index >= delay ? gain * Double(samples[index - delay]) : 0
            return Int16(clamping: Int(chirp) + hiss)
        }
    }

    @Test(arguments: [0, 1, 137, 1_600, 5_000])
    func `A chirp is located to the frame, quiet, inverted and in noise`(delay: Int) {
        let train = ChirpTrain(rate: 8_000, count: 2)
        let echoes = train.echoes(in: heard(train, delay: delay, gain: -0.05, noise: 60), from: 0)
        #expect(echoes.map(\.delay) == [delay, delay])
        #expect(echoes.allSatisfy { $0.likeness > 0.9 })
    }

    @Test func `Noise alone and silence contain no chirp`() {
        let train = ChirpTrain(rate: 8_000, count: 2)
        #expect(train.echoes(in: heard(train, delay: 0, gain: 0, noise: 3_000), from: 0).isEmpty)
        #expect(train.echoes(in: [Int16](repeating: 0, count: 20_000), from: 0).isEmpty)
    }

    @Test func `A recording that ends too soon gives the chirps it contains`() {
        let train = ChirpTrain(rate: 8_000, count: 3)
        let whole = heard(train, delay: 400, gain: 0.5, noise: 0)
        #expect(train.echoes(in: Array(whole.prefix(12_000)), from: 0).count == 2)
        #expect(train.echoes(in: [], from: 0).isEmpty)
        #expect(train.echoes(in: whole, from: 1_000_000).isEmpty)
    }
}
