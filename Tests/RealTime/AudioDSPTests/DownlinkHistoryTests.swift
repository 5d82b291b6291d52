import Foundation
import TestSupport
import Testing

@testable import AudioDSP

/// At 16 kHz, in blocks of 10 ms, as on the audio thread.
@Suite struct DownlinkHistoryTests {
    private let rate = 16_000
    private let tick = 160

    /// Output for blocks of `source`; the listener is dead from block `deadFrom` until `deadUntil`, when the next device
    /// takes `lead` frames at once.
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

    /// A voice of 110 Hz with many harmonics and changing loudness.
    private func voice(_ sample: Int) -> Int16 {
        let time = Double(sample) / 16_000
        var value = 0.0
        for harmonic in 1...20 { value += sin(2 * .pi * 110 * Double(harmonic) * time) / Double(harmonic) }
        return Int16(3_000 * value * (0.7 + 0.3 * sin(2 * .pi * 3 * time)))
    }

    @Test func `nothing is changed while the audio is heard`() {
        let result = run(blocks: 200, deadFrom: 500, deadUntil: 500, lead: 0, source: voice)
        #expect(result.heard == (0..<200 * tick).map(voice))
        #expect(result.backlog.allSatisfy { $0 == 0 })
    }

    /// Whispered words of 300 ms, without repetition in them, and pauses of 200 with some noise in them.
    private func speech(_ sample: Int) -> Int16 {
        guard sample % 8_000 < 4_800 else { return Int16(sample % 97 - 48) }
        var value = UInt64(sample) &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 29)) &* 0xBF58_476D_1CE4_E5B9
        let loudness = Int(value >> 40) % 6_000 + 500
        return Int16(value & 1 == 0 ? loudness : -loudness)
    }

    @Test func `the next device begins where the last one ended, and catches up in the pauses`() {
        // 250 ms dead, 50 ms of queue to fill.
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 125, lead: 800, source: speech)
        let whole = (0..<600 * tick).map(speech)
        #expect(Array(result.heard[..<(100 * tick + 800)]) == Array(whole[..<(100 * tick + 800)]))
        #expect(result.backlog[125] == 3_200)
        #expect(result.backlog[225] == 0)
        #expect(Array(result.heard.suffix(100 * tick)) == Array(whole.suffix(100 * tick)))
        // The lead is in the device's queue; the rest has been caught up.
        #expect(result.heard.count == whole.count + 800 - 25 * tick)
    }

    @Test func `no word is lost`() {
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 140, lead: 800, source: speech)
        let spoken = (0..<600 * tick).map(speech).filter { abs($0) > 400 }
        let heard = result.heard.filter { abs($0) > 400 }
        #expect(heard == spoken)
        #expect(result.backlog[599] == 0)
    }

    @Test(arguments: [8_000, 16_000, 48_000])
    func `a voice without pauses is shortened by whole periods`(rate: Int) {
        let period = rate / 100
        let heard = shortened(rate: rate, seconds: 6) { time in
            (1...20).reduce(0.0) { $0 + 3_000 * sin(2 * .pi * 100 * Double($1) * time) / Double($1) }
        }
        // 250 ms dead, 50 ms of queue. A rest too short to be searched, 32.5 ms, stays.
        #expect(heard.backlog <= rate * 325 / 10_000)
        // A fifth at most while it catches up.
        #expect(heard.catchingUp >= 5 * (rate / 5 - heard.backlog))
        // Each period is like the previous one throughout: no joint is audible.
        let worst = heard.samples.indices.dropFirst(period).map { index in
            abs(Int(heard.samples[index]) - Int(heard.samples[index - period]))
        }
        #expect(worst.max() ?? 0 <= 2)
    }

    @Test func `a voice whose pitch glides has no click where it is shortened`() {
        let voice = { (time: Double) in
            // 130 Hz, up and down by a fifth of it twice a second.
            let phase = 130 * (time + 0.2 / (2 * .pi * 2) * sin(2 * .pi * 2 * time))
            return (1...20).reduce(0.0) { $0 + 3_000 * sin(2 * .pi * phase * Double($1)) / Double($1) }
        }
        let heard = shortened(rate: 16_000, seconds: 6, voice)
        #expect(heard.backlog < 3_200 - 1_000)
        let largestBend = { (samples: [Int16]) in
            samples.indices.dropFirst(2).map {
                abs(Int(samples[$0]) - 2 * Int(samples[$0 - 1]) + Int(samples[$0 - 2]))
            }.max() ?? 0
        }
        let original = (0..<6 * 16_000).map { Int16(voice(Double($0) / 16_000)) }
        #expect(largestBend(heard.samples) <= largestBend(original) * 11 / 10)
        // The measure detects most cuts at random places, by half a period.
        let cuts = (0..<120).map {
            largestBend(Array(original[15_000..<(16_000 + $0)] + original[(16_061 + $0)..<17_000]))
        }
        #expect(cuts.count { $0 > largestBend(original) * 11 / 10 } > 60)
    }

    @Test func `noise and changing tones are heard late, but complete`() {
        let seed: UInt64 = 20_261_128
        var generator = SeededGenerator(seed: seed)
        let noise = (0..<6 * 16_000).map { _ in Double(Int16.random(in: -8_000...8_000, using: &generator)) }
        // Like the lab's counted signal: neighbours are at least 300 Hz apart.
        var tones = [500]
        while tones.count < 300 {
            let next = 100 * Int.random(in: 5...29, using: &generator)
            if abs(next - tones[tones.count - 1]) >= 300 { tones.append(next) }
        }
        for source in [
            { (time: Double) in noise[Int(time * 16_000 + 0.5)] },
            { (time: Double) in 12_000 * sin(2 * .pi * Double(tones[min(Int(time * 50 + 0.001), 299)]) * time) },
        ] {
            let result = shortened(rate: 16_000, seconds: 6, source)
            #expect(result.backlog == 3_200, "seed \(seed)")
            let whole = (0..<result.samples.count).map { Int16(source(Double($0) / 16_000)) }
            #expect(result.samples == whole, "seed \(seed)")
        }
    }

    /// Output for `source` after a device died for 250 ms and another continued with a queue of 50 ms: final delay in
    /// frames, and frames heard until the delay had ended.
    private func shortened(
        rate: Int, seconds: Int, _ source: (Double) -> Double
    ) -> (samples: [Int16], backlog: Int, catchingUp: Int) {
        var history = DownlinkHistory(rate: rate)
        let tick = rate / 100
        var heard: [Int16] = []
        var catchingUp = 0
        var least = Int.max
        var block = [Int16](repeating: 0, count: tick)
        var lead = [Int16](repeating: 0, count: 5 * tick)
        for number in 0..<100 * seconds {
            if number == 125 {
                let made = history.resume(&lead, 5 * tick)
                heard += lead[..<made]
            }
            for index in 0..<tick { block[index] = Int16(source(Double(number * tick + index) / Double(rate))) }
            let isDead = (100..<125).contains(number)
            history.pass(&block, tick, unheard: isDead ? -1 : 0)
            if isDead { continue }
            heard += block
            if number >= 125, history.backlogFrames < least {
                least = history.backlogFrames
                catchingUp = (number - 124) * tick
            }
        }
        return (heard, history.backlogFrames, catchingUp)
    }

    @Test func `cuts cause no click`() {
        // A pause that is not silent: a hum, far below the voice.
        let result = run(blocks: 600, deadFrom: 100, deadUntil: 125, lead: 800) { sample in
            sample % 8_000 < 4_800 ? voice(sample) : Int16(300 * sin(2 * .pi * 100 * Double(sample) / 16_000))
        }
        #expect(result.backlog[599] == 0)
        // In the pauses, 10 ms away from the words.
        var largest = 0
        var quiet = 0
        for index in 1..<result.heard.count {
            quiet = abs(result.heard[index]) <= 300 ? quiet + 1 : 0
            let isInPause = quiet > 480
            if isInPause { largest = max(largest, abs(Int(result.heard[index]) - Int(result.heard[index - 1]))) }
        }
        // The hum's own steps are at most 12; a cut from its crest to its trough would be 600.
        #expect(largest > 0)
        #expect(largest <= 20)
    }

    @Test func `a device that dies while catching up, or at the start, loses nothing either`() {
        var history = DownlinkHistory(rate: rate)
        var heard: [Int16] = []
        var block = [Int16](repeating: 0, count: tick)
        var lead = [Int16](repeating: 0, count: 800)
        for number in 0..<600 {
            // Dead for 200 ms, alive for 30 ms, dead again for 150 ms, which is in a pause; each device with its queue.
            if number == 120 || number == 138 {
                // The first attempt cannot be started.
                let failed = history.resume(&lead, 800)
                let first = lead
                #expect(history.resume(&lead, 800) == failed)
                #expect(lead == first)
                heard += lead[..<failed]
            }
            for index in 0..<tick { block[index] = speech(number * tick + index) }
            let isDead = (100..<120).contains(number) || (123..<138).contains(number)
            history.pass(&block, tick, unheard: isDead ? -1 : 0)
            if !isDead { heard += block }
        }
        let spoken = (0..<600 * tick).map(speech).filter { abs($0) > 400 }
        #expect(heard.filter { abs($0) > 400 } == spoken)
        #expect(history.backlogFrames == 0)
    }

    @Test func `a device whose queue is longer than what went unheard begins a little earlier, not with silence`() {
        var history = DownlinkHistory(rate: rate)
        var block = [Int16](repeating: 0, count: tick)
        var lead = [Int16](repeating: 0, count: 800)
        for number in 0..<52 {
            block = (number * tick..<(number + 1) * tick).map(voice)
            history.pass(&block, tick, unheard: number < 50 ? 0 : -1)
        }
        // 20 ms went unheard: 25 ms at most come again, and the last 5 ms of the queue stay silent.
        #expect(history.resume(&lead, 800, repeating: 400) == 720)
        #expect(Array(lead[..<720]) == (50 * tick - 400..<52 * tick).map(voice))
        // The rest follows unchanged. Then so much goes unheard that it fills the queue: nothing before it comes again.
        for number in 52..<60 {
            let next = (number * tick..<(number + 1) * tick).map(voice)
            block = next
            history.pass(&block, tick, unheard: number < 53 ? 0 : -1)
            #expect(block == next)
        }
        #expect(history.resume(&lead, 800, repeating: 400) == 800)
        #expect(lead == (53 * tick..<53 * tick + 800).map(voice))
        history.forget()
        #expect(history.resume(&lead, 800, repeating: 400) == 0)
    }

    @Test func `no more than half a second is repeated, and another call begins without history`() {
        var history = DownlinkHistory(rate: rate)
        var block = [Int16](repeating: 1_000, count: tick)
        for _ in 0..<200 { history.pass(&block, tick, unheard: -1) }
        #expect(history.unheardFrames == 8_000)
        var lead = [Int16](repeating: 0, count: 800)
        #expect(history.resume(&lead, 800) == 800)
        #expect(history.backlogFrames == 7_200)
        history.forget()
        #expect(history.backlogFrames == 0)
        #expect(history.resume(&lead, 800) == 0)
        block = [Int16](repeating: 5, count: tick)
        history.pass(&block, tick, unheard: 0)
        #expect(block == [Int16](repeating: 5, count: tick))
    }
}
