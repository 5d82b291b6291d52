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

    @Test(arguments: [(7_500_000, 60), (25_000_000, 75), (30_200_000, 93), (120_000_000, 250)] as [(Int64, Int64)])
    func `the limit is three times the usual gap, from 60 to 250 ms`(gap: Int64, milliseconds: Int64) {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(gap) }
        let limit3 = watch.limit()
        #expect(limit3 == milliseconds * 1_000_000)
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

    @Test func `old gaps are forgotten`() {
        var watch = GapWatch()
        for _ in 0..<512 { watch.record(80_000_000) }
        for _ in 0..<512 { watch.record(8_000_000) }
        let limit4 = watch.limit()
        #expect(limit4 == 60_000_000)
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
