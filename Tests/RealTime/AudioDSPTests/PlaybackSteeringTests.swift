import AudioDSP
import Testing

struct PlaybackSteeringTests {
    private let rate = 48_000
    private let target = 2_400

    @Test func `a queue above its ceiling soon after a start is corrected by the rate, not cut`() {
        var steering = PlaybackSteering(target: target, rate: rate)
        for block in 0..<499 {
            let ppm = steering.update(queued: 6_000, now: Int64(block) * 10_000_000)
            #expect(ppm == -400 && steering.excess(queued: 6_000) == 0)
        }
    }

    @Test func `later a queue that stays above its ceiling is cut, a momentary excess is not`() {
        var steering = PlaybackSteering(target: target, rate: rate)
        var block: Int64 = 0
        func update(_ queued: Int, _ blocks: Int) {
            for _ in 0..<blocks {
                block += 1
                _ = steering.update(queued: queued, now: block * 10_000_000)
            }
        }
        update(target, 1_000)
        update(6_000, 3)
        #expect(steering.excess(queued: 6_000) == 0)
        update(target, 100)
        update(6_000, 200)
        #expect(steering.excess(queued: 6_000) == 3_600)
        #expect(steering.excess(queued: 4_800) == 0)
        steering.restart()
        #expect(steering.excess(queued: 6_000) == 0)
    }

    @Test func `a thread that is late, and finds several blocks at once, measures no drift`() {
        var steering = PlaybackSteering(target: target, rate: rate)
        // Two blocks every 20 ms: the first one finds the queue 10 ms shorter.
        var largest = 0.0
        for turn in 0..<3_000 {
            let now = Int64(turn + 1) * 20_000_000
            for piece in 0..<2 {
                let queued = target - (piece == 0 ? 480 : 0)
                let ppm = steering.update(queued: queued, now: now)
                if turn > 500 { largest = max(largest, abs(ppm)) }
            }
        }
        #expect(largest < 20)
    }

    @Test func `a clock that jumps does not disturb it`() {
        var steering = PlaybackSteering(target: target, rate: rate)
        var now: Int64 = 0
        for block in 0..<2_000 {
            now += block == 1_000 ? 5_000_000_000 : 10_000_000
            #expect(abs(steering.update(queued: target, now: now)) < 1)
        }
    }

    @Test func `after a restart it continues with the learnt difference`() {
        var steering = PlaybackSteering(target: target, rate: rate)
        var queued = Double(target)
        var ppm = 0.0
        for block in 0..<12_000 {
            queued += 480 * (1 + ppm * 1e-6) - 480 * (1 + 250e-6)
            ppm = steering.update(queued: Int(queued), now: Int64(block) * 10_000_000)
        }
        #expect(abs(ppm - 250) < 20)
        steering.restart()
        #expect(abs(steering.update(queued: target, now: 0) - 250) < 20)
    }
}
