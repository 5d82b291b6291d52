import Foundation
import Testing

@testable import AudioDSP

/// At 16 kHz, in blocks of 10 ms, as the audio thread uses it.
@Suite struct DownlinkHistoryTests {
    private let rate = 16_000
    private let tick = 160

    /// What comes out for blocks of `source`; the listener is dead from block `deadFrom` until `deadUntil`, when the next
    /// device takes `lead` frames at once.
    private func run(
        blocks: Int, deadFrom: Int, deadUntil: Int, lead: Int, source: (Int) -> Int16
    ) -> (heard: [Int16], backlog: [Int]) {
        var history = DownlinkHistory(rate: rate)
        var heard: [Int16] = []
        var backlog: [Int] = []
        var block = [Int16](repeating: 0, count: tick)
        var first = [Int16](repeating: 0, count: lead)
        for number in 0..<blocks {
            if number == deadUntil {
                let made = history.resume(&first, lead)
                heard += first[..<made]
            }
            for index in 0..<tick { block[index] = source(number * tick + index) }
            let isDead = number >= deadFrom && number < deadUntil
            history.pass(&block, tick, unheard: isDead ? -1 : 0)
            if !isDead { heard += block }
            backlog.append(history.backlogFrames)
        }
        return (heard, backlog)
    }

    /// A voice of 110 Hz with many harmonics, whose loudness moves.
    private func voice(_ sample: Int) -> Int16 {
        let time = Double(sample) / 16_000
        var value = 0.0
        for harmonic in 1...20 { value += sin(2 * .pi * 110 * Double(harmonic) * time) / Double(harmonic) }
        return Int16(3_000 * value * (0.7 + 0.3 * sin(2 * .pi * 3 * time)))
    }

    @Test func `nothing is changed while somebody listens`() {
        let result = run(blocks: 200, deadFrom: 500, deadUntil: 500, lead: 0, source: voice)
        #expect(result.heard == (0..<200 * tick).map(voice))
        #expect(result.backlog.allSatisfy { $0 == 0 })
    }

    @Test func `the next device begins where the last one ended, and catches up`() {
        // 250 ms dead, 50 ms of queue to fill.
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 125, lead: 800, source: voice)
        let whole = (0..<600 * tick).map(voice)
        #expect(Array(result.heard[..<(100 * tick + 800)]) == Array(whole[..<(100 * tick + 800)]))
        #expect(result.backlog[125] > 2_400)
        // An eighth faster: 200 ms take less than three seconds, but not less than one.
        #expect(result.backlog[225] > 0)
        #expect(result.backlog[425] == 0)
        #expect(Array(result.heard.suffix(100 * tick)) == Array(whole.suffix(100 * tick)))
    }

    @Test func `no word is lost: every 20 ms of the signal are found in what was heard, in order`() {
        // Noise that repeats nowhere tells where a piece belongs; shortening may take pieces of up to 15 ms of it.
        var state: UInt32 = 1
        let noise = (0..<600 * tick).map { _ -> Int16 in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int16(truncatingIfNeeded: Int32(bitPattern: state) >> 18)
        }
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 130, lead: 800) { noise[$0] }
        var position = 0
        var longest = 0
        var lost = 0
        var index = 0
        while index + 8 <= result.heard.count {
            if Array(noise[position..<min(position + 8, noise.count)]) == Array(result.heard[index..<index + 8]) {
                position += 8
                index += 8
                continue
            }
            // A fade of 10 ms, and up to 15 ms left out.
            let next = Array(result.heard[min(index + tick + 8, result.heard.count - 8)...].prefix(8))
            let searched = position..<min(position + 600, noise.count - 8)
            guard let found = searched.first(where: { Array(noise[$0..<$0 + 8]) == next }) else {
                Issue.record("what is heard at \(index) is nowhere in the signal")
                return
            }
            let left = found - position - (tick + 8)
            longest = max(longest, left)
            lost += left
            position = found
            index += tick + 8
        }
        #expect(longest > 0)
        #expect(longest <= 240)
        // What was caught up with is what was left out; the lead is in the device's queue.
        #expect(lost == 30 * tick - 800)
    }

    @Test func `pauses are left out first`() {
        let spoken = run(blocks: 600, deadFrom: 100, deadUntil: 140, lead: 800, source: voice)
        let withPauses = run(blocks: 600, deadFrom: 100, deadUntil: 140, lead: 800) { sample in
            // Words of 300 ms and pauses of 200.
            sample % 8_000 < 4_800 ? voice(sample) : Int16(sample % 7 - 3)
        }
        let caughtUp = [spoken, withPauses].map { $0.backlog[140...].firstIndex(of: 0) ?? .max }
        #expect(caughtUp[0] < 600)
        #expect(caughtUp[1] - 140 < (caughtUp[0] - 140) / 2)
    }

    @Test func `a shortening leaves no click`() {
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 125, lead: 800, source: voice)
        let usual = largestStep((0..<600 * tick).map(voice))
        #expect(largestStep(result.heard) <= usual * 11 / 10)
        // Left out without a fade, the same pieces do click.
        let hard = (0..<20).map {
            largestStep(Array(result.heard[..<(20_000 + 37 * $0)] + result.heard[(20_090 + 37 * $0)...]))
        }
        #expect((hard.max() ?? 0) > usual * 11 / 10)
    }

    private func largestStep(_ samples: [Int16]) -> Int {
        var most = 0
        for index in 1..<samples.count { most = max(most, abs(Int(samples[index]) - Int(samples[index - 1]))) }
        return most
    }

    @Test func `no more than half a second is played again, and another call begins with nothing`() {
        var history = DownlinkHistory(rate: rate)
        var block = [Int16](repeating: 1_000, count: tick)
        for _ in 0..<200 { history.pass(&block, tick, unheard: -1) }
        #expect(history.unheardFrames <= 8_000)
        var lead = [Int16](repeating: 0, count: 800)
        #expect(history.resume(&lead, 800) == 800)
        #expect(history.backlogFrames <= 7_200)
        history.forget()
        #expect(history.backlogFrames == 0)
        #expect(history.resume(&lead, 800) == 0)
        block = [Int16](repeating: 5, count: tick)
        history.pass(&block, tick, unheard: 0)
        #expect(block == [Int16](repeating: 5, count: tick))
    }
}
