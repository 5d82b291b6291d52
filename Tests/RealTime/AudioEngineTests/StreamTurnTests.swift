import CBTCall
import TestSupport
import Testing

@testable import AudioEngine

struct StreamTurnTests {
    private static let tick: Int64 = 10_000_000

    @Test func `one turn for each packet gives the same packets at the same times as a turn every 10 ms`() throws {
        let rare = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000)
        let often = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000)
        let end = rare.time + 200 * Self.tick
        var turns = 0
        var sent: [[Int64]] = [[], []]
        while rare.deadline <= end {
            let before = rare.headset.sink.packets
            rare.turn(at: rare.deadline)
            turns += 1
            if rare.headset.sink.packets > before { sent[0].append(rare.time) }
        }
        while often.time < end {
            let before = often.headset.sink.packets
            often.turn(at: often.time + Self.tick)
            if often.headset.sink.packets > before { sent[1].append(often.time) }
        }
        #expect(sent[0] == sent[1] && sent[0].count == 93)
        #expect(rare.headset.sink.left == often.headset.sink.left)
        #expect(rare.headset.sink.right == often.headset.sink.right)
        #expect(rare.headset.sink.faults == [] && rare.headset.sink.lostPackets == 0)
        // The first tick takes the clock from the program.
        #expect(turns == 94)
    }

    @Test(
        arguments: [(480, 24_000, 1), (960, 24_000, 2), (1_440, 2_880, 1), (960, 3_840, 2), (2_880, 24_000, 3)]
            as [(Int, Int, Int64)])
    func `a turn takes no more than a program's period, and a quarter of its buffer`(
        period: Int, buffer: Int, ticks: Int64
    ) throws {
        let box = try TurnBench(periodFrames: period, bufferFrames: buffer)
        // The program's own clock runs until the first block.
        #expect(box.deadline == box.time + Self.tick)
        box.turn(at: box.deadline)
        var longest: Int64 = 0
        for _ in 0..<50 {
            longest = max(longest, box.deadline - box.time)
            box.turn(at: box.deadline)
        }
        #expect(longest == ticks * Self.tick)
        #expect(box.memory.ring.pointee.missing == 0)
    }

    @Test func `ticks that are due are made before a command, and come on time after it`() throws {
        let box = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000)
        box.turn(at: box.deadline)
        #expect(box.memory.ring.pointee.hardware == 480)
        #expect(box.deadline == box.time + 2 * Self.tick)
        let start = box.time
        box.thread.state.pointee.now = start + Self.tick + 1
        box.thread.state.pointee.catchUpStreams()
        #expect(box.memory.ring.pointee.hardware == 960)
        let silence = try box.addSilence()
        for tick in 2..<20 {
            #expect(box.deadline == start + Int64(tick) * Self.tick)
            box.turn(at: box.deadline)
        }
        silence.pointee.end()
        for _ in 0..<3 { box.turn(at: box.deadline) }
        #expect(box.playbacks == 1)
        #expect(box.deadline > box.time + Self.tick || box.ticksToPacket == 1)
        box.free(silence)
    }

    @Test func `a packet that waits for the socket keeps the ticks on time, which drop old audio`() throws {
        let box = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000)
        while !box.headset.isWaiting {
            box.thread.state.pointee.now = box.deadline
            box.thread.state.pointee.serviceTimers()
        }
        let now = box.thread.state.pointee.now
        #expect(box.deadline == now + Self.tick)
    }
}
