import AudioDSP
import Testing

@Suite struct ToneGeneratorTests {
    private static let rate = 16_000

    /// In blocks of 10 ms, as on the audio thread.
    private func tone(_ specification: ToneSpecification, milliseconds: Int, rate: Int = rate) -> [Int16] {
        var generator = ToneGenerator(specification, rate: rate)
        var block = [Int16](repeating: 77, count: rate / 100)
        var samples: [Int16] = []
        for _ in 0..<milliseconds / 10 {
            generator.fill(&block, block.count)
            samples += block
        }
        return samples
    }

    @Test(arguments: [8_000, 16_000, 48_000])
    func `a tone has its frequency and its level at every rate`(rate: Int) {
        let samples = tone(ToneSpecification([425], peak: 0.5), milliseconds: 1_000, rate: rate)
        #expect(Signals.purity(samples.dropFirst(rate / 50), hertz: 425, rate: rate) > 60)
        let peak = samples.map { abs(Int($0)) }.max() ?? 0
        #expect((16_200...16_384).contains(peak))
    }

    @Test func `two frequencies are equally loud, and together no louder than requested`() {
        let samples = tone(ToneSpecification([440, 480], peak: 0.8), milliseconds: 2_000)
        for hertz in [440.0, 480] {
            // Half of the power is in each.
            #expect(abs(Signals.purity(samples.dropFirst(800), hertz: hertz, rate: Self.rate)) < 0.3)
        }
        #expect((25_000...26_214).contains(samples.map { abs(Int($0)) }.max() ?? 0))
    }

    @Test func `the cadence is exact to the sample, repeated, and pauses are digital silence`() {
        let samples = tone(ToneSpecification([400, 450], cadence: [400, 200, 400, 2_000]), milliseconds: 6_000)
        var runs: [(isOn: Bool, frames: Int)] = []
        // A sine passes through zero, but not for 2 ms.
        for start in stride(from: 0, to: samples.count, by: 32) {
            let isOn = samples[start..<start + 32].contains { $0 != 0 }
            if runs.last?.isOn == isOn { runs[runs.count - 1].frames += 32 } else { runs.append((isOn, 32)) }
        }
        #expect(runs.map(\.isOn) == [true, false, true, false, true, false, true, false])
        for (run, wanted) in zip(runs, [400, 200, 400, 2_000, 400, 200, 400, 2_000]) {
            #expect(abs(run.frames - wanted * 16) <= 32, "\(wanted) ms")
        }
        // Alike each time.
        #expect(Array(samples[..<6_400]) == Array(samples[48_000..<54_400]))
    }

    @Test func `the edges do not click`() {
        let samples = tone(ToneSpecification([1_000], cadence: [100, 50], peak: 0.9), milliseconds: 3_000)
        // Largest step of a sine of that frequency and level between two samples.
        let limit = Int(0.9 * 32_767 * 2 * 3.1416 * 1_000 / 16_000 * 1.02)
        let steps = zip(samples, samples.dropFirst()).map { abs(Int($1) - Int($0)) }
        #expect((steps.max() ?? 0) <= limit)
        // Little else than the tone is in the burst: an edge without a rise is 20 dB worse.
        #expect(Signals.purity(samples[..<1_600], hertz: 1_000, rate: Self.rate) > 12)
    }

    @Test func `a tone of no frequency is silence`() {
        #expect(tone(ToneSpecification([], cadence: [10, 10]), milliseconds: 100).allSatisfy { $0 == 0 })
    }
}

@Suite struct WaveContentTests {
    private func file(rate: Int, channels: Int, _ samples: [Int16]) -> [UInt8] {
        func bytes(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        let format = bytes(1, 2) + bytes(channels, 2) + bytes(rate, 4) + bytes(0, 6) + bytes(16, 2)
        return Array("RIFF".utf8) + bytes(0, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4) + format
            + Array("data".utf8) + bytes(samples.count * 2, 4) + samples.flatMap { bytes(Int($0), 2) }
    }

    @Test(arguments: [8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
    func `a file of any rate is heard at the rate of the mix, with its length and loudness`(rate: Int) throws {
        let tone = Signals.tone(500, rate: rate, frames: rate)
        let content = try WaveContent(file(rate: rate, channels: 1, tone))
        #expect(content.rate == rate && content.samples == tone)
        let samples = content.samples(atRate: 16_000)
        #expect(abs(samples.count - 16_000) <= 1)
        #expect(Signals.purity(samples.dropFirst(160).dropLast(160), hertz: 500, rate: 16_000) > 55)
        #expect((9_700...10_300).contains(samples.map { abs(Int($0)) }.max() ?? 0))
    }

    @Test func `two channels become their mean`() throws {
        #expect(try WaveContent(file(rate: 8_000, channels: 2, [100, 300, -2, -4])).samples == [200, -3])
    }

    @Test(arguments: [0, 1, 99, 999, 384_001, 0xFFFF_FFFF])
    func `an impossible sample rate is refused with what is accepted`(rate: Int) {
        let problem = #expect(throws: WaveContent.Problem.self) {
            try WaveContent(file(rate: rate, channels: 1, [1, 2]))
        }
        #expect(problem?.description == "has \(rate) frames a second, not 1000 to 384000")
    }

    @Test func `any beginning of a file is read or refused, and nothing else happens`() {
        let whole = file(rate: 11_025, channels: 2, [1, 2, 3, 4])
        for length in 0..<whole.count {
            let content = try? WaveContent(Array(whole[..<length]))
            #expect((content?.samples.count ?? 0) <= 2)
        }
    }
}
