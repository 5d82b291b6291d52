import BTCallTrials
import Testing

@testable import AudioEngine

struct GapWatchTests {
    @Test func `without gaps the limit is the ceiling`() {
        var watch = GapWatch()
        let limit1 = watch.limit()
        #expect(limit1 == 250_000_000)
        for _ in 0..<127 { watch.record(7_500_000) }
        let limit2 = watch.limit()
        #expect(limit2 == 250_000_000)
    }

    @Test(arguments: [(7_500_000, 60), (40_000_000, 60), (50_000_000, 75), (120_000_000, 180), (190_000_000, 250)])
    func `the limit is half as much again as the usual gap, from 60 to 250 ms`(gap: Int, milliseconds: Int64) {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(Int64(gap)) }
        let limit3 = watch.limit()
        #expect(limit3 == milliseconds * 1_000_000)
    }

    @Test func `until the window is full the limit is three times the usual gap`() {
        var watch = GapWatch()
        for _ in 0..<128 { watch.record(30_000_000) }
        let limit = watch.limit()
        #expect(limit == 90_000_000)
    }

    @Test func `one gap in a hundred does not count, three do`() {
        var watch = GapWatch()
        for index in 0..<512 { watch.record(index % 110 == 5 ? 80_000_000 : 7_500_000) }
        let percentile7 = watch.percentile
        #expect(percentile7 == 8)
        for index in 0..<512 { watch.record(index % 33 == 5 ? 70_000_000 : 7_500_000) }
        let percentile8 = watch.percentile
        #expect(percentile8 == 70)
    }

    @Test func `the usual gap is that of the last 512, and the longest is forgotten by half in 270 times 128`() {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(80_000_000) }
        for _ in 0..<512 { watch.record(8_000_000) }
        let (percentile, longest) = (watch.percentile, watch.longest)
        #expect(percentile == 8)
        #expect((79_000_000...80_000_000).contains(longest))
        for _ in 0..<270 * 128 { watch.record(8_000_000) }
        let (half, limit) = (watch.longest, watch.limit())
        #expect((39_000_000...41_000_000).contains(half))
        #expect(limit <= 62_000_000)
    }

    @Test func `a silence that ends before the ceiling raises the limit above it, a longer one does not`() {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(8_000_000) }
        watch.recordSilence(700_000_000)
        let before = watch.limit()
        #expect(before == 60_000_000)
        watch.recordSilence(90_000_000)
        let after = watch.limit()
        #expect(after == 135_000_000)
    }

    @Test func `a pause at the beginning of a link is not remembered`() {
        var watch = GapWatch()
        watch.record(200_000_000)
        for _ in 0..<640 { watch.record(8_000_000) }
        let limit = watch.limit()
        #expect(limit == 60_000_000)
    }

    /// An hour of packets; how often the link was taken for dead, and the mean limit in milliseconds.
    private func hour(_ gap: (inout SeededRandom) -> Double) -> (alarms: Int, limit: Double) {
        var random = SeededRandom(7)
        var watch = GapWatch()
        var (time, alarms, sum, count) = (0.0, 0, 0.0, 0.0)
        while time < 3_600_000 {
            let milliseconds = gap(&random)
            time += milliseconds
            count += 1
            let limit = watch.limit()
            sum += Double(limit) / 1_000_000
            let nanoseconds = Int64(milliseconds * 1_000_000)
            if nanoseconds >= limit {
                alarms += 1
                watch.recordSilence(nanoseconds)
            } else {
                watch.record(nanoseconds)
            }
        }
        return (alarms, sum / count)
    }

    private static func steady(_ spread: Double, _ random: inout SeededRandom) -> Double {
        7.5 + Double.random(in: -spread...spread, using: &random)
    }

    private static let radios: [(String, Double, @Sendable (inout SeededRandom) -> Double)] = [
        ("a quiet radio", 61, { steady(1, &$0) }),
        ("packets handed over in batches", 61, { [0.2, 7, 8, 15, 22].randomElement(using: &$0) ?? 7.5 }),
        (
            "Wi-Fi beside it takes packets in bursts", 95,
            { Double.random(in: 0...1, using: &$0) < 0.02 ? .random(in: 15...60, using: &$0) : steady(2, &$0) }
        ),
        (
            "a controller that is late by anything up to 60 ms", 120,
            { Double.random(in: 0...1, using: &$0) < 0.3 ? .random(in: 10...60, using: &$0) : steady(5, &$0) }
        ),
    ]

    @Test(arguments: radios)
    func `an hour of a working link is never taken for its end, and its end is found soon`(
        name: String, limit: Double, gap: @Sendable (inout SeededRandom) -> Double
    ) {
        let result = hour(gap)
        #expect(result.alarms == 0, "\(name)")
        #expect(result.limit < limit, "\(name)")
    }

    @Test func `pauses of 40 to 110 ms, a few in a minute, are taken for the end at most twice in an hour`() {
        let result = hour { random in
            let chance = Double.random(in: 0...1, using: &random)
            if chance < 0.004 { return .random(in: 40...110, using: &random) }
            return Self.steady(2, &random)
        }
        // Three times the usual gap alone: more than a thousand.
        #expect(result.alarms <= 2)
    }

    @Test func `a pause of 80 to 180 ms once a minute is mostly borne`() {
        let result = hour { random in
            let chance = Double.random(in: 0...1, using: &random)
            return chance < 1.0 / 8_000 ? .random(in: 80...180, using: &random) : Self.steady(1, &random)
        }
        // Of some 60. Three times the usual gap alone: every one.
        #expect(result.alarms <= 15)
    }

    @Test func `a fixed limit overrides the learnt one`() {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(8_000_000) }
        watch.setLimit(200_000_000)
        let limit5 = watch.limit()
        #expect(limit5 == 200_000_000)
        watch.setLimit(nil)
        let limit6 = watch.limit()
        #expect(limit6 == 60_000_000)
    }
}
