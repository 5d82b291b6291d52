import AudioDSP
import CALSA
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// Changes of the bus's rate, without the thread: 10 ms at a time.
@Suite struct BusRateTests {
    private static let bus = BusRates(16_000, others: [32_000, 48_000])

    /// From one end to the other over a bus that changes its rate.
    private final class Way {
        let bus: BusRates
        let sourceRate: Int
        let sinkRate: Int
        private var index = 0
        private var position = 0
        private var source: ToBus
        private var sink: FromBus
        private var middle = [Int16](repeating: 0, count: 480)
        private(set) var heard: [Int16] = []

        init(_ bus: BusRates, from sourceRate: Int, to sinkRate: Int) {
            self.bus = bus
            self.sourceRate = sourceRate
            self.sinkRate = sinkRate
            source = ToBus(from: sourceRate, bus: bus)
            sink = FromBus(to: sinkRate, bus: bus)
        }

        private var busFrames: Int { bus.rate(index) / 100 }

        func run(blocks: Int, _ signal: (Int) -> Int16) {
            for _ in 0..<blocks {
                let block = (0..<(sourceRate / 100)).map { signal(position + $0) }
                position += block.count
                let made = source.process(block, block.count, &middle, 480).made
                #expect(made == busFrames)
                var output = [Int16](repeating: 0, count: sinkRate / 100)
                let given = sink.process(middle, made, &output, output.count).made
                #expect(given == output.count)
                heard += output
            }
        }

        func prepare(_ next: Int) { source.prepare(next) }

        func change(to next: Int) {
            source.change(to: next)
            sink.change(to: next, after: middle, busFrames)
            index = next
        }

        /// Without regard to what is heard.
        func jump(to next: Int) {
            source.set(next)
            sink.set(next)
            index = next
        }

        /// Largest difference between neighbours from the second block on.
        var largestStep: Int {
            let later = heard.dropFirst(sinkRate / 50)
            return zip(later, later.dropFirst()).map { abs(Int($0) - Int($1)) }.max() ?? 0
        }
    }

    @Test func `the bus has as much as both ends need, as far as it can`() {
        let bus = Self.bus
        #expect((0..<3).map { bus.rate($0) } == [16_000, 32_000, 48_000])
        let wanted = [0, 8_000, 16_000, 24_000, 32_000, 44_100, 48_000, 96_000]
        #expect(wanted.map { bus.rate(bus.index(for: $0)) } == [16, 16, 16, 32, 32, 48, 48, 48].map { $0 * 1_000 })
        let fixed: BusRates = 16_000
        #expect(fixed.count == 1 && fixed.highest == 16_000 && fixed.index(for: 48_000) == 0)
        #expect(BusRates(48_000, others: [16_000, 32_000]).count == 1)
    }

    /// Rates of the two ends, and the indices between which the bus changes.
    private static let ways = [
        (48_000, 48_000, 0, 2), (48_000, 48_000, 2, 0), (48_000, 32_000, 0, 1), (32_000, 48_000, 1, 0),
        (16_000, 48_000, 0, 2), (48_000, 16_000, 0, 1), (8_000, 48_000, 0, 2), (48_000, 8_000, 2, 0),
        (44_100, 48_000, 0, 2), (48_000, 32_000, 1, 2),
    ]

    /// Its blocks begin at its steepest place, and copies that are 2 ms apart are still alike.
    private static let hertz = 100.0

    @Test(arguments: ways)
    func `a tone passes a change of rate without a hole, and no sample jumps`(
        sourceRate: Int, sinkRate: Int, before: Int, after: Int
    ) {
        let way = Way(Self.bus, from: sourceRate, to: sinkRate)
        way.jump(to: before)
        let signal = tone(Self.hertz, rate: sourceRate)
        way.run(blocks: 20, signal)
        way.prepare(after)
        way.run(blocks: 4, signal)
        way.change(to: after)
        way.run(blocks: 20, signal)
        let heard = way.heard.dropFirst(sinkRate / 50)
        let block = sinkRate / 100
        var start = heard.startIndex
        while start + block <= heard.endIndex {
            let piece = heard[start..<(start + block)]
            let power = piece.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(block)
            #expect(power > 0.5 * 32_000_000, "\(start * 1000 / sinkRate) ms")
            start += block / 4
        }
        let step = 8_000 * 2 * Double.pi * Self.hertz / Double(sinkRate)
        #expect(Double(way.largestStep) < 1.6 * step + 100)
        // And the tone goes on as it was.
        #expect(toneShare(heard.suffix(15 * block), hertz: Self.hertz, rate: sinkRate) > 0.999)
    }

    @Test func `a change without preparation would jump`() {
        let way = Way(Self.bus, from: 48_000, to: 48_000)
        let signal = tone(Self.hertz, rate: 48_000)
        way.run(blocks: 20, signal)
        #expect(way.largestStep < 200)
        way.jump(to: 1)
        way.run(blocks: 2, signal)
        #expect(way.largestStep > 1_000)
    }

    @Test func `a step of a counted signal is neither lost nor repeated at a change of rate`() {
        let way = Way(Self.bus, from: 48_000, to: 48_000)
        let signal = countedTones(rate: 48_000)
        for round in 0..<6 {
            let next = [2, 1, 0][round % 3]
            way.run(blocks: 21, signal)
            way.prepare(next)
            way.run(blocks: 4, signal)
            way.change(to: next)
        }
        way.run(blocks: 20, signal)
        let steps = heardSteps(way.heard.dropFirst(4_800), rate: 48_000)
        #expect(steps.count > 75)
        #expect(jumps(steps) == [])
    }

    @Test func `a tone of 12 kHz passes a bus of 32 and of 48 kHz, and not one of 16`() {
        for (index, passes) in [(0, false), (1, true), (2, true)] {
            let way = Way(Self.bus, from: 48_000, to: 48_000)
            way.jump(to: index)
            way.run(blocks: 30, tone(12_000, rate: 48_000))
            let heard = way.heard.suffix(9_600)
            let loudest = heard.map { abs(Int($0)) }.max() ?? 0
            #expect(passes ? loudest > 7_000 : loudest < 100, "\(Self.bus.rate(index)) Hz: \(loudest)")
        }
    }

    @Test(arguments: [(0, 1), (0, 2), (1, 0), (2, 0), (1, 2), (2, 1)])
    func `what nobody has heard is played again after a change of rate, at its pitch and in its place`(
        before: Int, after: Int
    ) {
        let (old, new) = (Self.bus.rate(before), Self.bus.rate(after))
        var history = DownlinkHistory(bus: Self.bus)
        history.setBus(before)
        let signal = tone(1_000, rate: old)
        var block = [Int16](repeating: 0, count: old / 100)
        for number in 0..<40 {
            for index in 0..<block.count { block[index] = signal(number * block.count + index) }
            // The last 100 ms wait in a device.
            history.pass(&block, block.count, unheard: old / 10)
        }
        history.setBus(after)
        let unheard = history.unheardFrames
        #expect(unheard == new / 10)
        // Then the device dies.
        let later = tone(1_000, rate: new)
        var next = (0..<(new / 100)).map { later(40 * new / 100 + $0) }
        history.pass(&next, next.count, unheard: -1)
        var lead = [Int16](repeating: 0, count: new / 4)
        let made = history.resume(&lead, lead.count)
        #expect(made == new / 10 + new / 100)
        let wanted = (0..<made).map { later(30 * new / 100 + $0) }
        let worst = zip(lead, wanted).map { abs(Int($0) - Int($1)) }
        // The end of the converted part has no audio after it: 2 ms of it differ.
        #expect((worst.prefix(new / 10 - new / 400).max() ?? 0) < 400)
        #expect((worst.suffix(new / 100).max() ?? 0) == 0)
    }

    @Test func `a tone keeps its pitch, its phase and its cadence over changes of rate`() {
        let specification = ToneSpecification([425], cadence: [200, 100], peak: 0.5)
        var generator = ToneGenerator(specification, bus: Self.bus)
        var wanted = ToneGenerator(specification, rate: 48_000)
        var whole = [Int16](repeating: 0, count: 480)
        for number in 0..<120 {
            let index = number / 7 % 3
            generator.setBus(index)
            let frames = Self.bus.rate(index) / 100
            var block = [Int16](repeating: 0, count: frames)
            generator.fill(&block, frames)
            wanted.fill(&whole, 480)
            // Where both have a sample.
            var worst = 0
            for place in 0..<frames where place * 480 % frames == 0 {
                worst = max(worst, abs(Int(block[place]) - Int(whole[place * 480 / frames])))
            }
            #expect(worst <= 40, "block \(number)")
        }
    }

    @Test(arguments: [VoiceProcessingKind.speex, VoiceProcessingKind.none])
    func `voice processing goes on at another rate, with the delay it states`(kind: VoiceProcessingKind) throws {
        var processor = try VoiceProcessor(kind, bus: Self.bus, stages: [])
        for index in [0, 1, 2, 1, 0, 2] {
            processor.setBus(index)
            let rate = Self.bus.rate(index)
            let alone = try VoiceProcessor(kind, rate: rate, stages: [])
            let delay = alone.delayFrames
            let stated = processor.delayFrames
            #expect(stated == delay)
            let near = (0..<(rate / 2)).map(tone(500, rate: rate))
            let far = [Int16](repeating: 0, count: rate / 100)
            var output: [Int16] = []
            for start in stride(from: 0, to: near.count, by: rate / 100) {
                var block = Array(near[start..<(start + rate / 100)])
                processor.process(&block, far: far)
                output += block
            }
            #expect(Array(output[(2 * delay)...]) == Array(near[delay..<(near.count - delay)]))
        }
    }

    @Test(arguments: [300.0, -300])
    func `drift found at one rate of the bus is kept at another`(ppm: Double) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: 48_000)
        card.ppm = ppm
        let bench = PathBench(playback: card, bus: Self.bus)
        let samples = [Int16](repeating: 0, count: 480)
        #expect(bench.start(now: 0) == 0)
        func play(_ seconds: Int, from block: Int) -> Int {
            for number in block..<(block + seconds * 100) {
                card.now = Int64(number + 1) * 10_000_000
                #expect(bench.play(samples, now: card.now) == 0)
            }
            return block + seconds * 100
        }
        var block = play(60, from: 0)
        let found = bench.counters.pointee.snapshot(id: 1, isLink: false).driftPPM
        #expect(abs(found - ppm) < 100)
        bench.changeBus(to: 2)
        var worst = 0.0
        for _ in 0..<20 {
            block = play(1, from: block)
            worst = max(worst, abs(bench.counters.pointee.snapshot(id: 1, isLink: false).driftPPM - ppm))
        }
        #expect(worst < 150)
        #expect(card.xruns == 0)
    }
}
