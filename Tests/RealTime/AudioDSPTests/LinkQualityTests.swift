import AudioDSP
import Testing

@Suite struct LinkQualityTests {
    /// A second of an mSBC link with this many lost packets.
    private func second(lost: Int = 0, of packets: Int = 133) -> LinkQuality {
        var quality = LinkQuality()
        quality.duration = .seconds(1)
        quality.packetsReceived = packets - lost
        quality.packetsLost = lost
        quality.concealed = .microseconds(7_500 * lost)
        quality.intervals = packets - lost
        return quality
    }

    private func score(_ change: (inout LinkQuality) -> Void) throws -> Int {
        var quality = second()
        change(&quality)
        return try #require(quality.score)
    }

    @Test func `a second without fault scores 100, and no observation gives no score`() {
        #expect(second().score == 100)
        #expect(LinkQuality().score == nil)
        #expect(LinkQuality().jitter == .zero)
        #expect(LinkQuality().lostShare == 0)
    }

    @Test func `loss lowers the score according to the formula`() {
        #expect(second(lost: 1, of: 100).score == 90)
        #expect(second(lost: 5, of: 100).score == 63)
        #expect(second(lost: 20, of: 100).score == 27)
        #expect(second(lost: 100, of: 100).score == 0)
    }

    /// Each factor with increasingly bad values.
    static let parts: [(name: String, worse: @Sendable (inout LinkQuality, Int) -> Void)] = [
        ("packets lost", { $0.packetsLost = $1 }),
        ("concealed", { $0.concealed = .milliseconds(10 * $1) }),
        ("dropped", { $0.dropped = .milliseconds(10 * $1) }),
        ("gaps", { $0.gaps = $1 }),
        ("jitter", { $0.deviation = .milliseconds(133 * $1) }),
        ("drift", { $0.driftPPM = Double(20 * $1) }),
        ("drift back", { $0.driftPPM = Double(-20 * $1) }),
        ("retries", { $0.retries = $1 }),
        ("xruns", { $0.xruns = $1 }),
    ]

    @Test(arguments: parts.map(\.name))
    func `the worse a factor, the lower the score, within its bounds`(name: String) throws {
        let worse = try #require(Self.parts.first { $0.name == name }).worse
        let scores = try (0...100).map { step in try score { worse(&$0, step) } }
        #expect(scores.first == 100)
        #expect(scores.allSatisfy { (0...100).contains($0) })
        #expect(zip(scores, scores.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(try #require(scores.last) < 100)
    }

    @Test func `all faults together score 0`() throws {
        let worst = try score {
            for part in Self.parts { part.worse(&$0, Int(Int32.max)) }
        }
        #expect(worst == 0)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, .signalingNaN])
    func `a drift of NaN does no harm`(drift: Double) throws {
        let quality = try score { $0.driftPPM = drift }
        #expect((90...100).contains(quality))
    }

    @Test func `a link without packets for a second is lost for the concealed time`() {
        var quality = LinkQuality()
        quality.duration = .seconds(1)
        #expect(quality.score == 100)
        quality.concealed = .seconds(1)
        #expect(quality.lostShare == 1)
        #expect(quality.score == 0)
        // Contradictory clocks give no more than everything.
        quality.concealed = .seconds(3)
        #expect(quality.lostShare == 1)
    }

    @Test func `jitter is the mean deviation`() {
        var quality = second()
        quality.intervals = 4
        quality.deviation = .milliseconds(10)
        #expect(quality.jitter == .microseconds(2_500))
    }

    @Test func `consecutive periods add up, and the difference of readings is the period in between`() {
        var first = second(lost: 3)
        first.gaps = 1
        first.driftPPM = 20
        var second = second(lost: 1)
        second.retries = 2
        second.xruns = 1
        second.driftPPM = 30
        let both = first + second
        #expect(both.packetsLost == 4 && both.gaps == 1 && both.retries == 2 && both.xruns == 1)
        #expect(both.duration == .seconds(2) && both.driftPPM == 30)
        #expect(both.since(first) == second)
        #expect((both + LinkQuality()).driftPPM == 30)
    }

    @Test func `counters that decrease do no harm`() {
        var before = second(lost: 9)
        before.duration = .seconds(2)
        let since = second(lost: 1).since(before)
        #expect(since.duration == .zero && since.concealed == .zero)
        #expect(since.score == nil)
    }

    @Test func `late packets reduce the counted losses, in the sum as well`() {
        var meter = LinkQualityMeter(window: .seconds(5))
        var before = LinkQuality()
        for (number, lost) in [10, 4, 4].enumerated() {
            var reading = second(lost: lost)
            reading.duration = .seconds(number + 1)
            meter.add(reading.since(before))
            before = reading
        }
        #expect(meter.total.packetsLost == 4)
    }

    @Test func `five per cent loss lowers the recent score, and recovery raises it; the total keeps it`() throws {
        var meter = LinkQualityMeter(window: .seconds(5))
        for _ in 0..<10 { meter.add(second()) }
        #expect(meter.recent.score == 100)
        for _ in 0..<5 { meter.add(second(lost: 5, of: 100)) }
        #expect(meter.recent.score == 63)
        #expect(meter.recent.duration == .seconds(5))
        for _ in 0..<5 { meter.add(second()) }
        #expect(meter.recent.score == 100)
        #expect(meter.total.duration == .seconds(20))
        #expect(meter.total.packetsLost == 25)
        #expect(try #require(meter.total.score) < 95)
    }

    @Test func `the window keeps the pieces that it needs and no more`() {
        var meter = LinkQualityMeter(window: .seconds(2))
        var short = LinkQuality()
        short.duration = .milliseconds(700)
        for _ in 0..<10 { meter.add(short) }
        #expect(meter.recent.duration == .milliseconds(2_100))
        var long = LinkQuality()
        long.duration = .seconds(60)
        meter.add(long)
        #expect(meter.recent.duration == .seconds(60))
        for _ in 0..<1_000 { meter.add(LinkQuality()) }
        #expect(meter.recent.duration == .zero)
        #expect(meter.recent.score == nil)
        #expect(meter.total.duration == .seconds(67))
    }
}
