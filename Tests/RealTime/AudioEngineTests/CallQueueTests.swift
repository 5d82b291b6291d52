import CALSA
import Testing

@testable import AudioEngine

/// The queue of an application within a call on a headset, in simulated time.
struct CallQueueTests {
    /// The level of each answer gives its number. Loud, but for the answers in `quiet`.
    private static func stairs(quiet: [Range<Int>]) -> (Int) -> Int16 {
        { number in quiet.contains { $0.contains(number) } ? 0 : Int16(8_000 + number % 4_000) }
    }

    /// Numbers of the answers that the headset heard.
    private static func numbers(_ bench: QueueBench) -> [Int] { bench.levels.map { Int($0) - 8_000 } }

    @Test func `a punctual application is heard 20 ms sooner than with three fixed blocks, from the first word on`()
        throws
    {
        var delays: [Double] = []
        for queue in [3, nil] {
            let bench = QueueBench(queue: queue, delay: { _ in 1 }, level: Self.stairs(quiet: [0..<150]))
            bench.connectHeadset()
            bench.run(milliseconds: 100)
            bench.startCall()
            bench.run(milliseconds: 4_000)
            #expect(bench.call.queueBlocks == queue ?? 1)
            #expect(bench.call.blocksMissing == 0 && bench.call.blocksDropped == 0)
            #expect(bench.call.blocksSkipped == (queue == nil ? 2 : 0))
            let numbers = Self.numbers(bench)
            #expect(numbers.first == 150 && numbers.count > 200)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
            delays.append(try #require(bench.delayOfAnswer(300)))
        }
        #expect(abs(delays[0] - delays[1] - 20) < 0.1, "\(delays)")
    }

    @Test func `an application that answers two blocks at a time finds a queue of two, without a missing block`() {
        let bench = QueueBench(
            queue: nil, delay: { $0 % 2 == 0 ? 11 : 1 }, level: Self.stairs(quiet: [0..<200]))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 5_000)
        #expect(bench.call.queueBlocks == 2 && bench.call.blocksMissing == 0)
        let numbers = Self.numbers(bench)
        #expect(numbers.count > 200 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
    }

    @Test func `a stall of 25 ms in speech loses no block, and the delay returns in a pause more than 5 s later`()
        throws
    {
        let bench = QueueBench(
            queue: nil, delay: { $0 == 250 ? 25 : 1 },
            level: Self.stairs(quiet: [0..<150, 300..<320, 1_500..<1_520]))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 2_000)
        #expect(bench.call.queueBlocks == 1 && bench.call.blocksSkipped == 2)
        bench.run(milliseconds: 3_000)
        #expect(bench.call.blocksMissing == 2 && bench.call.queueBlocks == 3)
        bench.run(milliseconds: 11_000)
        #expect(bench.call.blocksMissing == 2 && bench.call.blocksDropped == 0)
        #expect(bench.call.queueBlocks == 1 && bench.call.blocksSkipped == 4)
        // Every loud answer is heard, also the one that was late and those behind it.
        let numbers = Self.numbers(bench)
        let expected = Array(150..<300) + Array(320..<1_500) + Array(1_520..<4_000)
        #expect(numbers.count > 1_350 && numbers == Array(expected.prefix(numbers.count)))
        // In place of the late block the wave goes on.
        let start = try #require(bench.heard.firstIndex(of: 8_249))
        #expect(bench.heard[(start + 160)..<(start + 240)].allSatisfy { $0 > 7_000 })
        // The headset did not wait for the application.
        #expect(bench.longestGap <= 12)
    }

    @Test func `an application that has fallen silent is waited for once, also while another one answers`() {
        let bench = QueueBench(queue: 3, delay: { _ in 1 }, level: Self.stairs(quiet: []))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 1_000)
        let before = bench.latePackets
        bench.startSilentCall()
        bench.run(milliseconds: 2_000)
        #expect(bench.latePackets - before <= 1)
    }

    @Test(arguments: [32_000, 48_000])
    func `at a higher rate of the bus the wave goes on as long in place of a late block`(rate: Int) throws {
        let bench = QueueBench(
            queue: nil, rate: rate, delay: { $0 == 250 ? 25 : 1 }, level: Self.stairs(quiet: [0..<150]))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 3_000)
        #expect(bench.busRate == rate)
        #expect(bench.call.blocksMissing == 2 && bench.call.blocksDropped == 0)
        let numbers = Self.numbers(bench)
        #expect(numbers.count > 130 && numbers == Array((150..<4_000).prefix(numbers.count)))
        let start = try #require(bench.heard.firstIndex(of: 8_249))
        #expect(bench.heard[(start + rate / 100)..<(start + rate * 3 / 200)].allSatisfy { $0 > 7_000 })
    }

    @Test func `an answer that comes after noise fades in, also when the bus has changed its rate meanwhile`() throws {
        let bench = QueueBench(queue: nil, rate: 48_000, delay: { $0 == 3 ? 400 : 1 }, level: { _ in 8_000 })
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        // The wave of 60 ms begins before the rate changes, and keeps the old one.
        bench.run(milliseconds: 60)
        #expect(bench.busRate == 16_000 && bench.call.blocksMissing > 0)
        bench.run(milliseconds: 290)
        #expect(bench.busRate == 48_000)
        let before = bench.heard.count
        #expect(bench.heard.suffix(480).allSatisfy { abs($0) < 1_000 })
        bench.run(milliseconds: 300)
        let start = try #require(bench.heard[before...].firstIndex(of: 8_000))
        let ramp = bench.heard[(start - 240)..<start].filter { $0 > 2_000 }
        #expect(ramp.count > 100)
    }

    @Test func `packets that arrive together leave the queue as short as it is`() {
        let bench = QueueBench(queue: nil, delay: { _ in 1 }, level: Self.stairs(quiet: [0..<150]))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 3_000)
        for _ in 0..<3 {
            bench.stall(packets: 3)
            bench.run(milliseconds: 500)
            #expect(bench.call.queueBlocks == 1)
        }
        #expect(bench.call.blocksMissing == 0 && bench.call.blocksDropped == 0)
        let numbers = Self.numbers(bench)
        #expect(numbers.count > 250 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
    }

    @Test(arguments: [22, 35])
    func `a thread that wakes late loses no block on a card whose ticks the timer makes`(late: Int) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: 16_000)
        let bench = QueueBench(queue: nil, card: card, delay: { _ in 1 }, level: Self.stairs(quiet: [0..<150]))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        bench.run(milliseconds: 3_000)
        for _ in 0..<3 {
            #expect(bench.call.queueBlocks == 1)
            bench.oversleep(milliseconds: late)
            bench.run(milliseconds: 500)
        }
        #expect(bench.call.blocksMissing == 0 && bench.call.blocksDropped == 0 && card.xruns == 0)
    }

    @Test func `a link whose packets are as long as two blocks needs a queue of two, at any time`() {
        let quiet = (0..<40).map { 200 * $0..<200 * $0 + 100 }
        let bench = QueueBench(queue: nil, packetMilliseconds: 20, delay: { _ in 1 }, level: Self.stairs(quiet: quiet))
        bench.connectHeadset()
        bench.run(milliseconds: 100)
        bench.startCall()
        for _ in 0..<8 {
            bench.run(milliseconds: 2_000)
            #expect(bench.call.queueBlocks == 2)
        }
        #expect(bench.call.blocksMissing == 0 && bench.call.blocksSkipped == 1)
    }

    @Test func `what the application's answers were like before the first device counts for that device`() {
        for (delay, blocks) in [(1, 1), (15, 2)] {
            let bench = QueueBench(queue: nil, delay: { _ in delay }, level: Self.stairs(quiet: [0..<110]))
            bench.startCall()
            bench.run(milliseconds: 1_000)
            bench.connectHeadset()
            bench.run(milliseconds: 500)
            #expect(bench.call.queueBlocks == blocks, "\(delay) ms")
            #expect(bench.call.blocksMissing == 0 && bench.call.blocksSkipped == 0)
            let numbers = Self.numbers(bench).filter { $0 >= 0 }
            #expect(numbers.count > 30 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
        }
    }

    @Test func `a word that waits for the first device is not shortened, and the queue follows in the next pause`() {
        let bench = QueueBench(queue: nil, delay: { _ in 1 }, level: Self.stairs(quiet: [180..<300]))
        bench.startCall()
        bench.run(milliseconds: 1_000)
        bench.connectHeadset()
        bench.run(milliseconds: 500)
        #expect(bench.call.queueBlocks >= 3)
        let numbers = Self.numbers(bench).filter { $0 >= 0 }
        #expect(numbers.count > 30 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
        bench.run(milliseconds: 1_500)
        #expect(bench.call.queueBlocks == 1)
    }
}
