import AudioDSP
import BTCallTrials
import Testing

/// A watched link, at given times.
private struct WatchedLink: ~Copyable {
    var watch = GapWatch()
    /// Nanoseconds.
    private(set) var now: Int64 = 0

    init() { _ = watch.arrived(status: 0, now: 0) }

    /// Receives a packet so many milliseconds after the last one; returns the silence that it ends, in milliseconds.
    @discardableResult
    mutating func receive(after milliseconds: Double, status: Int32 = 0) -> Int64 {
        now += Int64(milliseconds * 1_000_000)
        return watch.arrived(status: status, now: now) / 1_000_000
    }

    /// Receives packets for so many seconds, one every so many milliseconds.
    mutating func run(_ seconds: Double, every milliseconds: Double = 7.5, status: Int32 = 0) {
        let end = now + Int64(seconds * 1e9)
        while now < end { receive(after: milliseconds, status: status) }
    }

    /// Falls silent at the limit, and receives a packet so many milliseconds after the last one.
    mutating func lose(for milliseconds: Double) -> (limit: Int64, silence: Int64) {
        let found = limit
        _ = watch.becameSilent(now: watch.deadline(grace: 0), grace: 0)
        return (found, receive(after: milliseconds))
    }

    /// Milliseconds.
    var limit: Int64 { watch.limit() / 1_000_000 }
}

@Suite struct GapWatchTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func `the least limit is 250 ms for two seconds, and falls to 60 ms in four`() {
        var link = WatchedLink()
        var limits: [Int64] = []
        for second in [1.9, 3, 4, 5, 6, 60] {
            link.run(second - Double(link.now) / 1e9)
            limits.append(link.limit)
        }
        #expect(limits == [250, 203, 155, 108, 60, 60])
    }

    @Test(arguments: [(25, 60), (48, 60), (60, 75), (120, 150), (220, 250)] as [(Double, Int64)])
    func `where all gaps are alike, the limit is a quarter more, from 60 to 250 ms`(gap: Double, limit: Int64) {
        var link = WatchedLink()
        link.run(20, every: gap)
        let learnt = link.limit
        #expect(learnt == limit)
    }

    @Test(arguments: [(7.5, 40, 100), (7.5, 90, 225), (50, 60, 100), (50, 52, 65)] as [(Double, Double, Int64)])
    func `a longer gap counts with four times its distance to the usual one, at most two and a half times`(
        usual: Double, longest: Double, limit: Int64
    ) {
        var link = WatchedLink()
        link.run(10, every: usual)
        // Where this gap is beyond the limit, it is an alarm first.
        if Int64(longest) >= link.limit { _ = link.lose(for: longest) } else { link.receive(after: longest) }
        let learnt = link.limit
        #expect(learnt == limit)
    }

    @Test func `a gap of the first second is not kept`() {
        var link = WatchedLink()
        link.receive(after: 200)
        link.run(10)
        let (limit, longest) = (link.limit, link.watch.longest)
        #expect(limit == 60)
        #expect(longest == 8)
    }

    @Test func `a gap counts at once, and not any more when the link falls silent within two seconds`() {
        for (seconds, limit) in [(0.5, Int64(60)), (2.5, 125)] {
            var link = WatchedLink()
            link.run(10)
            link.receive(after: 50)
            let before = link.limit
            #expect(before == 125)
            link.run(seconds)
            _ = link.lose(for: 1_000)
            let after = link.limit
            #expect(after == limit, "\(seconds) s")
        }
    }

    @Test func `a link that is lost again and again is found as soon each time`() {
        var link = WatchedLink()
        link.run(10)
        for number in 0..<20 {
            let loss = link.lose(for: 500)
            #expect(loss.limit == 60, "\(number)")
            #expect(loss.silence == 500, "\(number)")
            link.run(3)
        }
    }

    @Test func `a silence that ends within 250 ms was a pause, and its like is no alarm any more`() {
        var link = WatchedLink()
        link.run(10)
        let pause = link.lose(for: 120)
        #expect(pause.limit == 60)
        #expect(pause.silence == 120)
        link.run(60)
        let learnt = link.limit
        #expect(learnt == 250)
    }

    @Test func `a pause is remembered for half an hour`() {
        var link = WatchedLink()
        link.run(10)
        link.receive(after: 55)
        link.run(30 * 60)
        let remembered = link.limit
        #expect(remembered == 137)
        link.run(10 * 60)
        let forgotten = link.limit
        #expect(forgotten == 60)
    }

    @Test func `packets of which the controller received nothing do not keep a link alive`() {
        var link = WatchedLink()
        link.run(10)
        let last = link.watch.lastSign
        link.run(1, status: 2)
        let deadline = link.watch.deadline(grace: 0)
        #expect(deadline == last + 60 * Self.millisecond)
        let early = link.watch.becameSilent(now: deadline - 1, grace: 0)
        let late = link.watch.becameSilent(now: deadline, grace: 0)
        #expect(!early)
        #expect(late)
        let nothing = link.receive(after: 7.5, status: 2)
        #expect(nothing == 0)
        let silence = link.receive(after: 7.5)
        #expect(silence > 1_000)
    }

    @Test(arguments: [1, 3] as [Int32])
    func `packets that hold something, if not all, are a sign of life`(status: Int32) {
        var link = WatchedLink()
        link.run(10)
        link.run(10, status: status)
        let (last, now, limit) = (link.watch.lastSign, link.now, link.limit)
        #expect(last == now)
        #expect(limit == 60)
    }

    @Test func `one packet without anything in it is a gap of two packets, and nothing more`() {
        var link = WatchedLink()
        link.run(10)
        link.receive(after: 7.5, status: 2)
        let silence = link.receive(after: 7.5)
        let (longest, limit) = (link.watch.longest, link.limit)
        #expect(silence == 0)
        #expect(longest == 15)
        #expect(limit == 60)
    }

    @Test func `nothing is due before the first packet, and 250 ms after each until there is a sign of life`() {
        var watch = GapWatch()
        var deadlines = [watch.deadline(grace: 0)]
        _ = watch.arrived(status: 2, now: Self.millisecond)
        deadlines.append(watch.deadline(grace: 0))
        _ = watch.arrived(status: 0, now: 2 * Self.millisecond)
        deadlines.append(watch.deadline(grace: 0))
        #expect(deadlines == [.max, 251 * Self.millisecond, 252 * Self.millisecond])
    }

    @Test func `a link whose packets were all empty and stop is silent once, and its next packet ends that`() {
        var watch = GapWatch()
        for number in 0...40 { _ = watch.arrived(status: 2, now: Int64(number) * 10 * Self.millisecond) }
        var answers = [watch.becameSilent(now: 640 * Self.millisecond, grace: 0)]
        answers.append(watch.becameSilent(now: 650 * Self.millisecond, grace: 0))
        answers.append(watch.becameSilent(now: 700 * Self.millisecond, grace: 0))
        let silence = watch.arrived(status: 0, now: 1_400 * Self.millisecond)
        #expect(answers == [false, true, false])
        #expect(silence == 1_000 * Self.millisecond)
    }

    @Test func `a gap that may be the late thread's own teaches nothing`() {
        var late = GapWatch()
        var punctual = GapWatch()
        for number in 0...2_000 {
            let now = Int64(number) * 7_500_000
            _ = late.arrived(status: 0, now: now)
            _ = punctual.arrived(status: 0, now: now)
        }
        let now = 15_000 * Self.millisecond + 100 * Self.millisecond
        _ = late.arrived(status: 0, now: now, grace: now + 50 * Self.millisecond)
        _ = punctual.arrived(status: 0, now: now)
        let limits = [late.deadline(grace: 0) - now, punctual.deadline(grace: 0) - now]
        #expect(limits == [60 * Self.millisecond, 250 * Self.millisecond])
    }

    @Test func `a silence is reported once, and not before the grace of a late thread has ended`() {
        var watch = GapWatch()
        _ = watch.arrived(status: 0, now: 0)
        let due = watch.deadline(grace: 300 * Self.millisecond)
        var answers = [watch.becameSilent(now: 290 * Self.millisecond, grace: 300 * Self.millisecond)]
        answers.append(watch.becameSilent(now: 300 * Self.millisecond, grace: 300 * Self.millisecond))
        answers.append(watch.becameSilent(now: 400 * Self.millisecond, grace: 0))
        let after = watch.deadline(grace: 0)
        #expect(due == 300 * Self.millisecond)
        #expect(answers == [false, true, false])
        #expect(after == .max)
    }

    @Test func `a fixed limit overrides the learnt one`() {
        var link = WatchedLink()
        link.watch.setLimit(200 * Self.millisecond)
        let young = link.limit
        link.run(10)
        let fixed = link.limit
        link.watch.setLimit(nil)
        let learnt = link.limit
        #expect([young, fixed, learnt] == [200, 200, 60])
    }

    @Test(arguments: (1...20) as ClosedRange<UInt64>)
    func `no course of gaps takes the limit below 60 or above 250 ms`(seed: UInt64) {
        var random = SeededRandom(seed)
        var watch = GapWatch()
        var now: Int64 = 0
        var outside: [Int64] = []
        for _ in 0..<5_000 {
            now += Int64.random(in: 0...400_000_000, using: &random)
            _ = watch.becameSilent(now: now, grace: 0)
            _ = watch.arrived(status: Int32.random(in: 0...3, using: &random), now: now)
            let limit = watch.limit() / Self.millisecond
            if limit < 60 || limit > 250 { outside.append(limit) }
        }
        #expect(outside == [])
    }
}
