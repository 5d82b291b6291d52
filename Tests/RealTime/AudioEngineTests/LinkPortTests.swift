import AudioDSP
import Testing

@testable import AudioEngine

/// The clock of a link, at given times: `RealtimeTests` tests the interaction of threads.
@Suite struct LinkPortTests {
    private static let millisecond: Int64 = 1_000_000

    /// A link of 7.5 ms packets, the first of which arrives at once.
    private static func port() -> LinkPort {
        var port = LinkPort(
            descriptor: -1, codec: .pcm(rate: 16_000), packetBytesHint: 240, bus: 16_000,
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

    @Test func `packets of which the controller received nothing keep the clock, and not the link`() {
        var port = Self.port()
        var arrivals: [LinkPort.Arrival] = []
        for number in 1...40 {
            arrivals.append(port.arrived(240, status: 2, now: Int64(number) * 7_500_000).arrival)
        }
        let now = 300 * Self.millisecond
        #expect(arrivals.allSatisfy { $0 == .clock })
        let isReplaced = port.timerFired(now: now)
        #expect(!isReplaced)
        let alive = [port.isAlive(now: 50 * Self.millisecond), port.isAlive(now: now)]
        #expect(alive == [true, false])
        let isSilent = port.becameSilent(now: now, grace: 0)
        #expect(isSilent)
        let end = port.arrived(240, status: 1, now: now)
        #expect(end.silence == now)
    }

    @Test func `before the first packet with something in it, any packet is a sign of life`() {
        var port = LinkPort(
            descriptor: -1, codec: .mSBC, packetBytesHint: 60, bus: 16_000, fallbackAfter: 50 * Self.millisecond,
            now: 0)
        var isAlive = [port.isAlive(now: 0)]
        _ = port.arrived(60, status: 2, now: 5 * Self.millisecond)
        isAlive.append(port.isAlive(now: 20 * Self.millisecond))
        #expect(isAlive == [false, true])
        let isSilent = [254, 255].map { port.becameSilent(now: $0 * Self.millisecond, grace: 0) }
        #expect(isSilent == [false, true])
        let isLeft = port.isAlive(now: 20 * Self.millisecond)
        #expect(!isLeft)
    }

    /// A link, bytes of its packets, rate of the bus; frames of its queue and their grain.
    private static let queues: [(LinkCodec, Int, Int, Int, Int)] = [
        (.mSBC, 60, 16_000, 80, 40), (.lc3SWB, 60, 32_000, 160, 80), (.lc3SWB, 60, 16_000, 80, 40),
        (.cvsd, 120, 16_000, 80, 40), (.cvsd, 60, 16_000, 100, 20), (.cvsd, 48, 16_000, 128, 16),
        (.pcm(rate: 16_000), 160, 16_000, 80, 80), (.pcm(rate: 16_000), 320, 16_000, 0, 160),
        (.pcm(rate: 16_000), 480, 16_000, 80, 80), (.pcm(rate: 16_000), 640, 16_000, 0, 160),
        (.pcm(rate: 44_100), 882, 16_000, 0, 160),
        // Codec frames that straddle packets, and packets that are no whole number of frames of the link or the bus.
        (.mSBC, 24, 16_000, 400, 1), (.cvsd, 49, 16_000, 160, 1), (.pcm(rate: 44_100), 160, 16_000, 160, 1),
    ]

    @Test(arguments: queues) func `a link's queue is as short as its packets and the ticks allow`(
        codec: LinkCodec, packetBytes: Int, busRate: Int, frames: Int, grain: Int
    ) {
        var port = LinkPort(
            descriptor: -1, codec: codec, packetBytesHint: 30, bus: BusRates(busRate),
            fallbackAfter: 50 * Self.millisecond, now: 0)
        for number in 0..<6 { _ = port.arrived(packetBytes, status: 0, now: Int64(number) * 7 * Self.millisecond) }
        let resting = port.restingFrames(tick: busRate / 100, busRate: busRate)
        #expect(resting.frames == frames && resting.grain == grain, "\(resting)")
        // After another size nothing is known.
        _ = port.arrived(packetBytes + 2, status: 0, now: 42 * Self.millisecond)
        let unknown = port.restingFrames(tick: busRate / 100, busRate: busRate)
        #expect(unknown.frames >= busRate / 100 && unknown.grain == 1)
    }
}
