import AudioDSP
import BTCallTrials
import Glibc
import Testing

/// Requirements on the concealment, with speech through the codecs and `LinkReceiver`. `ConcealmentBench` measures more.
struct ConcealmentQualityTests {
    private static let cases: [(LinkFormat, LossPattern)] = [LinkFormat.mSBC, .cvsd].flatMap { format in
        [LossPattern.random(5), .random(10), .bursts(5, of: 2...3), .bursts(10, of: 2...3)].map { (format, $0) }
    }

    @Test(arguments: cases)
    func `lost speech is concealed 3 dB better than by silence and repetition, at the original level`(
        format: LinkFormat, pattern: LossPattern
    ) {
        let trial = ConcealmentTrial(format, Speech.samples(rate: format.rate, seconds: 8), pattern)
        let ours = trial.figures(trial.heard(.concealment))
        #expect(ours.losses > 30)
        #expect(ours.lostRatio >= trial.figures(trial.heard(.silence)).lostRatio + 3)
        #expect(ours.lostRatio >= trial.figures(trial.heard(.repetition)).lostRatio + 3)
        #expect(abs(ours.lostEnergy) <= 6)
    }

    @Test(arguments: [LinkFormat.mSBC, .cvsd])
    func `bursts of 30 to 45 ms are still concealed better than by silence and repetition`(format: LinkFormat) {
        let speech = Speech.samples(rate: format.rate, seconds: 8)
        let trial = ConcealmentTrial(format, speech, .bursts(10, of: 4...6))
        let ours = trial.figures(trial.heard(.concealment))
        #expect(ours.lostRatio > trial.figures(trial.heard(.silence)).lostRatio)
        #expect(ours.lostRatio >= trial.figures(trial.heard(.repetition)).lostRatio + 3)
        #expect(abs(ours.lostEnergy) <= 6)
    }

    @Test(arguments: [LinkFormat.mSBC, .cvsd])
    func `concealment leaves no click where repetition leaves many`(format: LinkFormat) {
        for pattern in [LossPattern.random(5), .bursts(5, of: 2...3)] {
            let trial = ConcealmentTrial(format, Speech.samples(rate: format.rate, seconds: 8), pattern)
            #expect(trial.figures(trial.heard(.concealment)).clicks == 0)
            #expect(trial.figures(trial.heard(.repetition)).clicks > 10)
        }
    }

    /// The wave bent sharply at the beginning of one of these losses, in the middle of a pulse.
    @Test func `concealment leaves no click in a minute with a tenth lost`() {
        let trial = ConcealmentTrial(.mSBC, Speech.samples(rate: 16_000, seconds: 15), .random(10))
        let ours = trial.figures(trial.heard(.concealment))
        #expect(ours.losses > 700)
        #expect(ours.clicks == 0)
    }

    @Test(arguments: [8_000, 16_000, 48_000])
    func `a loss in the middle of a pulse leaves no corner where the concealed wave begins`(rate: Int) {
        // Before the loss the wave leaves its course; it returns with the last frame, after rising by `slope` per frame.
        let (frames, rising) = (rate / 10, rate / 2_000)
        let slope = 5_000 / rising
        var heard = Signals.tone(200, rate: rate, frames: frames, amplitude: 2_000)
        for index in 1..<rising { heard[frames - 1 - index] -= Int16(slope * index) }
        var concealment = PacketLossConcealment(rate: rate)
        concealment.good(&heard, frames)
        var made = [Int16](repeating: 0, count: rate / 100)
        concealment.lost(&made, made.count)
        let joint = (Array(heard.suffix(2)) + made).map { Int($0) }
        let bends = (1...(rate / 1_000)).map { index in
            let (before, here, after) = (joint[index - 1], joint[index], joint[index + 1])
            return abs(before - 2 * here + after)
        }
        #expect(bends.allSatisfy { $0 < slope * 3 / 4 }, "\(slope): \(bends)")
    }

    /// The search adds up energies from lag to lag: a rounding error of a loud one once made a silent lag the best.
    @Test func `a voice that has only begun is not mistaken for the silence before it`() {
        for height in 9_000..<9_200 {
            let (frames, begun) = (800, 100)
            let wave = (0..<(frames + 60)).map { index in
                let phase = 2 * Double.pi * Double(index - frames + begun) / 36
                if index < frames - begun { return Int16(index % 3 == 0 ? 1 : 0) }
                return Int16((Double(height) * sin(phase) + 6_000 * sin(2 * phase + 1)).rounded())
            }
            var heard = Array(wave[..<frames])
            var concealment = PacketLossConcealment(rate: 8_000)
            concealment.good(&heard, frames)
            var made = [Int16](repeating: 0, count: 60)
            concealment.lost(&made, 60)
            #expect(Signals.ratio(made, to: Array(wave[frames...])) > 15, "\(height)")
        }
    }

    @Test func `the click detector finds planted steps and nothing in whole speech`() {
        let speech = Speech.samples(rate: 16_000, seconds: 4)
        #expect(ClickDetector.clicks(in: speech, reference: speech, rate: 16_000).isEmpty)
        var planted = speech
        let places = [10_000, 30_000, 50_000]
        for place in places {
            for index in place..<(place + 800) { planted[index] = Int16(clamping: Int(planted[index]) / 2 + 12_000) }
        }
        let found = ClickDetector.clicks(in: planted, reference: speech, rate: 16_000)
        for place in places {
            #expect(found.contains { abs($0 - place) <= 1 })
            #expect(found.contains { abs($0 - place - 800) <= 1 })
        }
        #expect(found.count == 6)
    }

    @Test func `the decoder processes the concealment, so that the next codec frame begins without a loss`() {
        let trial = ConcealmentTrial(.mSBC, Speech.samples(rate: 16_000, seconds: 8), .random(5))
        let ours = trial.figures(trial.heard(.concealment))
        // A decoder that missed a codec frame gets 73 frames of the next one wrong.
        #expect(trial.figures(trial.heard(.silence)).afterRatio < 5)
        #expect(ours.afterRatio > 9)
    }

    @Test func `without loss every link delivers the codec's output`() {
        for format in [LinkFormat.mSBC, .cvsd] {
            let trial = ConcealmentTrial(format, Speech.samples(rate: format.rate, seconds: 1), .random(0))
            #expect(trial.heard(.concealment) == trial.reference)
            #expect(trial.heard(.silence) == trial.reference)
        }
    }

    @Test(arguments: [8_000, 16_000, 48_000])
    func `the loudest and strangest inputs do no harm`(rate: Int) {
        var concealment = PacketLossConcealment(rate: rate)
        var random = SeededRandom(UInt64(rate))
        var block = [Int16](repeating: 0, count: 4_800)
        for round in 0..<2_000 {
            let frames = Int.random(in: 1...(round % 50 == 0 ? 4_800 : 400), using: &random)
            let period = Int.random(in: 1...700, using: &random)
            for index in 0..<frames {
                switch round / 8 % 4 {
                case 0: block[index] = index % period * 2 < period ? 32_767 : -32_768
                case 1: block[index] = Int16.random(in: -32_768...32_767, using: &random)
                case 2: block[index] = index % period == 0 ? 32_767 : 0
                default: block[index] = Int16(truncatingIfNeeded: index * period)
                }
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                concealment.lost(&block, frames)
                concealment.wave(from: -167, 120, into: &block)
                concealment.wave(from: -47, 120, into: &block)
            } else {
                concealment.good(&block, frames)
            }
        }
        block = [Int16](repeating: 0, count: 4_800)
        concealment.lost(&block, 4_800)
        concealment.good(&block, 4_800)
        block = [Int16](repeating: 0, count: 4_800)
        concealment.good(&block, 4_800)
        #expect(block.allSatisfy { $0 == 0 })
    }
}
