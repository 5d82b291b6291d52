import AudioDSP
import BTCallTrials
import Testing

struct PacketLossConcealmentTests {
    /// Signal-to-error ratio within the lost parts for concealment, repetition of the last block, and silence.
    private func compare(rate: Int, block: Int, lossPercent: Int) -> (ours: Double, repeated: Double, zero: Double) {
        let clean = Signals.voice(rate: rate, frames: rate * 20)
        var concealment = PacketLossConcealment(rate: rate)
        var random = SeededRandom(8)
        var (ours, repeated, zero, wanted): ([Int16], [Int16], [Int16], [Int16]) = ([], [], [], [])
        var last = [Int16](repeating: 0, count: block)
        for start in stride(from: 0, to: clean.count - block, by: block) {
            var samples = Array(clean[start..<start + block])
            if start > rate && Int.random(in: 0..<100, using: &random) < lossPercent {
                wanted += samples
                concealment.lost(&samples, block)
                ours += samples
                repeated += last
                zero += [Int16](repeating: 0, count: block)
            } else {
                last = samples
                concealment.good(&samples, block)
            }
        }
        return (
            Signals.ratio(ours, to: wanted), Signals.ratio(repeated, to: wanted), Signals.ratio(zero, to: wanted)
        )
    }

    @Test(arguments: [(8_000, 60), (16_000, 120), (16_000, 60), (8_000, 24), (48_000, 480)])
    func `concealed audio is nearer to the lost one than a repetition or silence`(rate: Int, block: Int) {
        let result = compare(rate: rate, block: block, lossPercent: 5)
        #expect(result.ours > result.repeated + 3, "\(result)")
        #expect(result.ours > result.zero + 3, "\(result)")
    }

    @Test func `a tone continues through a loss without a step`() {
        for rate in [8_000, 16_000] {
            let clean = Signals.tone(400, rate: rate, frames: rate)
            var concealment = PacketLossConcealment(rate: rate)
            var output: [Int16] = []
            for (index, start) in stride(from: 0, to: rate, by: rate / 100).enumerated() {
                var samples = Array(clean[start..<start + rate / 100])
                if index == 50 {
                    concealment.lost(&samples, samples.count)
                } else {
                    concealment.good(&samples, samples.count)
                }
                output += samples
            }
            #expect(Double(Signals.largestStep(output)) < 1.1 * Double(Signals.largestStep(clean)))
            #expect(Signals.ratio(output, to: clean) > 30)
        }
    }

    @Test func `a long loss is silent after 60 milliseconds`() {
        var concealment = PacketLossConcealment(rate: 16_000)
        var samples = Signals.voice(rate: 16_000, frames: 4_000)
        concealment.good(&samples, 4_000)
        var lost = [Int16](repeating: 1, count: 1_920)
        concealment.lost(&lost, 1_920)
        #expect(Signals.rms(lost[0..<160]) > 100)
        #expect(lost[960...].allSatisfy { $0 == 0 })
    }

    @Test func `one good packet in a long loss is continued, not cut off`() {
        let (rate, block) = (16_000, 120)
        let clean = Signals.tone(400, rate: rate, frames: rate)
        var concealment = PacketLossConcealment(rate: rate)
        var heard: [Int16] = []
        for number in 0..<(clean.count / block) {
            var samples = Array(clean[number * block..<(number + 1) * block])
            if (40..<52).contains(number) || (53..<54).contains(number) {
                concealment.lost(&samples, block)
            } else {
                concealment.good(&samples, block)
            }
            heard += samples
        }
        let again = heard[53 * block..<54 * block]
        #expect(again.contains { abs(Int($0)) > 1_000 })
        let usual = zip(clean, clean.dropFirst()).map { abs(Int($0) - Int($1)) }.max() ?? 0
        let steps = (52 * block..<55 * block).map { abs(Int(heard[$0]) - Int(heard[$0 - 1])) }
        #expect((steps.max() ?? 0) < 2 * usual)
    }

    @Test func `without any loss nothing is changed`() {
        var concealment = PacketLossConcealment(rate: 8_000)
        let clean = Signals.voice(rate: 8_000, frames: 2_400)
        var samples = clean
        concealment.good(&samples, 2_400)
        #expect(samples == clean)
    }

    @Test func `a loss at the very beginning is silence`() {
        var concealment = PacketLossConcealment(rate: 8_000)
        var lost = [Int16](repeating: 7, count: 60)
        concealment.lost(&lost, 60)
        #expect(lost.allSatisfy { $0 == 0 })
    }

    @Test func `the fade over the first good frames continues across short blocks`() {
        var concealment = PacketLossConcealment(rate: 8_000)
        var samples = Signals.voice(rate: 8_000, frames: 4_000)
        let clean = samples
        concealment.good(&samples, 4_000)
        var lost = [Int16](repeating: 0, count: 60)
        concealment.lost(&lost, 60)
        var changed = 0
        for start in stride(from: 0, to: 240, by: 12) {
            var block = Array(clean[(start + 500)..<(start + 512)])
            let before = block
            concealment.good(&block, 12)
            if block != before { changed += 1 }
        }
        // 2.5 ms and a sixth of the loss are 30 frames.
        #expect((2...3).contains(changed))
    }
}
