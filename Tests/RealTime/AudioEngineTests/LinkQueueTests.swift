import AudioDSP
import Foundation
import Testing

@testable import AudioEngine

/// The queue between a link's packets and the ticks, in simulated time: its length, and what ends between the two halves of a
/// tick.
@Suite struct LinkQueueTests {
    /// The level of each answer gives its number.
    private static func level(_ number: Int) -> Int16 { Int16(8_000 + number % 4_000) }

    /// A call that has been on the headset for three seconds, with an application that answers within a millisecond.
    private static func call(
        packetMilliseconds: Double = 7.5, after milliseconds: Int = 0, delay: @escaping (Int) -> Int = { _ in 1 }
    ) -> QueueBench {
        let bench = QueueBench(
            queue: nil, packetMilliseconds: packetMilliseconds, delay: delay,
            level: { $0 < 150 || (350..<370).contains($0) ? 0 : Self.level($0) })
        bench.startCall()
        bench.run(milliseconds: 100 + milliseconds)
        bench.connectHeadset()
        bench.run(milliseconds: 3_000)
        return bench
    }

    /// Length of packets, the shortest time between two ticks, and what both have in common, in milliseconds.
    private static let packets: [(Double, Double, Double)] = [
        (3.75, 7.5, 1.25), (5, 10, 5), (7.5, 7.5, 2.5), (10, 10, 10),
    ]

    @Test(arguments: packets)
    func
        `an answer waits for the shortest time between ticks and for its place in a packet, whenever the link was routed`(
            packet: Double, between: Double, grain: Double
        ) throws
    {
        for phase in 0..<10 {
            let bench = Self.call(packetMilliseconds: packet, after: phase)
            var delays: [Double] = []
            for number in 180..<280 { delays.append(try #require(bench.delayOfAnswer(number))) }
            // Sent a millisecond after the tick, and behind two spare frames.
            let least = between - 1 + 0.125
            let (lowest, highest) = (delays.min() ?? 0, delays.max() ?? 0)
            #expect(abs(lowest - least) < 0.001, "\(packet), \(phase): \(lowest)")
            #expect(abs(highest - (least + packet - grain)) < 0.001, "\(packet), \(phase): \(highest)")
            #expect(bench.underrunFrames == 0 && bench.call.blocksMissing == 0)
            #expect(bench.call.queueBlocks == 1)
            let numbers = bench.levels.map { Int($0) - 8_000 }
            #expect(numbers.count > 100 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
        }
    }

    @Test func `an application that answers after the next packet gets a longer queue, without a missing block`() {
        let bench = Self.call(delay: { $0 < 200 ? 1 : 9 })
        #expect(bench.call.queueBlocks == 1 && bench.underrunFrames == 0)
        bench.run(milliseconds: 4_000)
        #expect(bench.call.queueBlocks == 2 && bench.call.blocksMissing == 0 && bench.underrunFrames == 0)
        #expect(bench.longestGap <= 10)
    }

    @Test func `a link that dies between the halves of a tick leaves the queue of the call as long as it was`() {
        let bench = Self.call()
        #expect(bench.run { bench.isAhead })
        bench.loseHeadset()
        bench.run(milliseconds: 1_000)
        #expect(!bench.isAhead)
        #expect(bench.call.queueBlocks == 1 && bench.call.blocksMissing == 0 && bench.call.blocksDropped == 0)
    }

    @Test func `a call whose device is withdrawn between the halves of a tick loses no block`() {
        let bench = Self.call()
        #expect(bench.run { bench.isAhead })
        let (before, sent) = (bench.uplink.count, bench.call.blocksSent)
        bench.withdrawHeadset()
        #expect(!bench.isAhead && bench.call.blocksSent == sent + 1)
        bench.run(milliseconds: 500)
        #expect(bench.call.blocksMissing == 0 && bench.call.blocksDropped == 0)
        // What was captured until then is heard as it was, and noise follows the fade.
        let last = bench.uplink[before..<(before + 100)]
        #expect(last.allSatisfy { $0 == QueueBench.microphoneLevel })
        #expect(bench.uplink.suffix(1_600).allSatisfy { abs($0) < 1_000 })
    }
}

extension RealtimeTests {
    @Suite struct Answers {
        @Test func `most answers of an application are read when a packet wakes the thread`() throws {
            let bench = try EngineBench { $0.setCallQueue(nil) }
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 240, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 150 })
            let (wakeUps, packets) = (bench.engine.counters().wakeUps, bench.terminal(1)?.packetsReceived ?? 0)
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 160 })
            let more = bench.engine.counters().wakeUps - wakeUps
            let arrived = (bench.terminal(1)?.packetsReceived ?? 0) - packets
            // One answer in seven, and what the machine delays.
            #expect(arrived >= 200 && more - arrived <= 60, "\(more) wake-ups for \(arrived) packets")
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }
    }
}
