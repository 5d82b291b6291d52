import AudioDSP
import BTCallTrials
import Glibc
import Testing

/// A sound card's queue filled in blocks by one clock and played in periods by another.
private struct Simulation {
    let rate = 48_000.0
    let target: Int
    var controller: DriftController
    var written: Double
    var highest = 0
    var lowest = Int.max
    var corrections: [Double] = []

    init(target: Int) {
        self.target = target
        controller = DriftController(target: target, rate: 48_000, ceiling: target * 2)
        written = Double(target)
    }

    /// - Parameters:
    ///   - ppm: difference by which the player is faster than the writer.
    ///   - jitter: maximum error of the level in frames.
    ///   - grain: resolution of the card's reports in frames: a millisecond for USB, a period in the worst case.
    mutating func run(seconds: Int, ppm: Double, jitter: Int = 0, grain: Double = 48, seed: UInt64) {
        var random = SeededRandom(seed)
        let start = written
        written = 0
        for block in 0..<(seconds * 100) {
            written += rate / 100 * (1 + controller.ppm * 1e-6)
            let time = Double(block + 1) / 100
            let played = (time * rate / grain * (1 + ppm * 1e-6)).rounded(.down) * grain
            let level = Int(start + written - played) + Int.random(in: -jitter...jitter, using: &random)
            if block > 100 {
                highest = max(highest, level)
                lowest = min(lowest, level)
            }
            corrections.append(controller.update(level: level))
        }
    }
}

struct DriftControllerTests {
    @Test(arguments: [500.0, -500, 100, -30, 0])
    func `ten minutes of two clocks stay below the ceiling without an underrun`(ppm: Double) {
        var simulation = Simulation(target: 2_400)
        simulation.run(seconds: 600, ppm: ppm, jitter: 240, seed: 11)
        #expect(simulation.highest < simulation.controller.ceiling)
        #expect(simulation.lowest > 1_200)
        let last = simulation.corrections.suffix(6_000)
        let mean = last.reduce(0, +) / Double(last.count)
        #expect(abs(mean - ppm) < 15)
        #expect(abs(simulation.controller.learnedPPM - ppm) < 40)
        #expect(simulation.corrections.allSatisfy { abs($0) <= 1_000 })
    }

    @Test(arguments: [500.0, -500, 100, -30])
    func `a card that reports whole periods only makes it fluctuate within bounds`(ppm: Double) {
        var simulation = Simulation(target: 2_400)
        simulation.run(seconds: 600, ppm: ppm, grain: 480, seed: 14)
        #expect(simulation.highest < simulation.controller.ceiling)
        #expect(simulation.lowest > 1_200)
        #expect(simulation.corrections.allSatisfy { abs($0) <= 1_000 })
    }

    @Test func `two minutes are enough to learn the clocks`() {
        var simulation = Simulation(target: 2_400)
        simulation.run(seconds: 120, ppm: 500, seed: 12)
        let last = simulation.corrections.suffix(1_000)
        #expect(abs(last.reduce(0, +) / Double(last.count) - 500) < 25)
    }

    @Test func `a queue above the ceiling is cut back to the target`() {
        let controller = DriftController(target: 800, rate: 16_000)
        #expect(controller.excess(level: 1_600) == 0)
        #expect(controller.excess(level: 1_601) == 801)
        #expect(controller.excess(level: 0) == 0)
    }

    @Test func `after a restart it continues with the learnt difference`() {
        var simulation = Simulation(target: 2_400)
        simulation.run(seconds: 300, ppm: 200, seed: 13)
        var controller = simulation.controller
        controller.reset()
        #expect(abs(controller.ppm - 200) < 60)
        #expect(abs(controller.update(level: 2_400) - 200) < 60)
    }

    @Test func `an impossible difference saturates and is corrected without overshoot`() {
        var controller = DriftController(target: 1_000, rate: 16_000)
        for _ in 0..<60_000 { _ = controller.update(level: 100_000) }
        #expect(controller.ppm == -1_000)
        #expect(controller.learnedPPM > -1_000)
        for _ in 0..<1_000 { _ = controller.update(level: 1_000) }
        #expect(abs(controller.ppm) < 300)
    }
}
