import Testing

@testable import AudioEngine

/// The clock of a link, at given times: `RealtimeTests` tests the interaction of threads.
@Suite struct LinkPortTests {
    private static let millisecond: Int64 = 1_000_000

    /// A link of 7.5 ms packets, the first of which arrives at once.
    private static func port() -> LinkPort {
        var port = LinkPort(
            descriptor: -1, codec: .pcm(rate: 16_000), packetBytesHint: 240, busRate: 16_000,
            fallbackAfter: 50 * millisecond, now: 0)
        _ = port.arrived(240, now: 0)
        return port
    }

    @Test func `the timer replaces packets after 50 ms, every 7.5 ms`() {
        var port = Self.port()
        #expect(port.deadline(grace: 0) == 50 * Self.millisecond)
        var answers = [port.timerFired(now: 50 * Self.millisecond - 1)]
        answers.append(port.timerFired(now: 50 * Self.millisecond))
        answers.append(port.timerFired(now: 50 * Self.millisecond))
        #expect(answers == [false, true, false])
        #expect(port.deadline(grace: 0) == 57_500_000)
        answers = [port.timerFired(now: 57_499_999), port.timerFired(now: 57_500_000)]
        #expect(answers == [false, true])
    }

    @Test func `late packets are offset exactly`() {
        var port = Self.port()
        for number in 0..<5 {
            let isDue = port.timerFired(now: 50 * Self.millisecond + Int64(number) * 7_500_000)
            #expect(isDue)
        }
        // Five at once, and then one at its own time.
        var arrivals = (0..<5).map { _ in port.arrived(240, now: 81 * Self.millisecond).arrival }
        arrivals.append(port.arrived(240, now: 87_500_000).arrival)
        #expect(arrivals == [.balanced, .balanced, .balanced, .balanced, .balanced, .clock])
    }

    @Test func `a link is silent after its limit, once`() {
        var port = Self.port()
        port.watch.setLimit(120 * Self.millisecond)
        var answers = [port.becameSilent(now: 120 * Self.millisecond - 1, grace: 0)]
        answers.append(port.becameSilent(now: 130 * Self.millisecond, grace: 131 * Self.millisecond))
        answers.append(port.becameSilent(now: 131 * Self.millisecond, grace: 131 * Self.millisecond))
        answers.append(port.becameSilent(now: 132 * Self.millisecond, grace: 0))
        #expect(answers == [false, false, true, false])
        let end = port.arrived(240, now: 140 * Self.millisecond)
        #expect(end.silence == 140 * Self.millisecond)
    }
}
