import CBTCall
import Glibc
import TestSupport
import Testing

@testable import AudioEngine

/// A program that plays alone, whose samples go into packets as they are, beside the same program in the mix.
struct StreamPassTests {
    private static let second: Int64 = 1_000_000_000

    /// Any samples, up to full scale.
    private static func noise(_ index: Int) -> Int16 {
        Int16(truncatingIfNeeded: ((index &* 40_503 &+ 12_345) &* 69_069) >> 7)
    }

    /// Two programs with the same sound; silence beside the second one keeps it in the mix.
    private func pair() throws -> (alone: TurnBench, mixed: TurnBench, silence: PlaybackPointer) {
        let alone = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000, sound: Self.noise)
        let mixed = try TurnBench(periodFrames: 2_880, bufferFrames: 24_000, sound: Self.noise)
        return (alone, mixed, try mixed.addSilence())
    }

    /// Both headsets have heard the same, in the same packets.
    private func expectEqual(_ alone: TurnBench, _ mixed: TurnBench, _ comment: Comment) {
        let (one, other) = (alone.headset.sink, mixed.headset.sink)
        #expect(one.left == other.left && one.right == other.right, comment)
        #expect(one.packets == other.packets && one.faults == [] && one.lostPackets == 0, comment)
        #expect(alone.hardware == mixed.hardware && alone.missing == mixed.missing, comment)
    }

    @Test func `a program that plays alone is heard sample by sample as in the mix`() throws {
        let (alone, mixed, silence) = try pair()
        let start = alone.time
        for step in Int64(1)...30 {
            for box in [alone, mixed] { box.run(until: start + step * Self.second / 10 + step * 1_234_567) }
            expectEqual(alone, mixed, "step \(step)")
            #expect(!mixed.passesProgram)
            // At first it fades in.
            if step > 1 { #expect(alone.passesProgram) }
        }
        #expect(alone.headset.sink.left.count > 3 * 47_000)
        #expect(Set(alone.headset.sink.left.suffix(1_000)).count > 500)
        mixed.free(silence)
    }

    @Test func `a tone beside the program begins and ends with the same sample as in the mix`() throws {
        let (alone, mixed, silence) = try pair()
        let start = alone.time
        var tones: [PlaybackPointer] = []
        for box in [alone, mixed] {
            box.run(until: start + Self.second / 2 + 3_000_000)
            tones.append(box.addTone())
            #expect(!box.passesProgram)
            box.run(until: start + Self.second + 8_000_000)
        }
        expectEqual(alone, mixed, "the tone plays")
        for (box, tone) in zip([alone, mixed], tones) {
            tone.pointee.end()
            box.run(until: start + 2 * Self.second)
            #expect(box.playbacks == (box === alone ? 1 : 2))
        }
        expectEqual(alone, mixed, "the tone has ended")
        #expect(alone.passesProgram)
        for (box, tone) in zip([alone, mixed], tones) { box.free(tone) }
        mixed.free(silence)
    }

    @Test func `a volume that changes is that of the mix`() throws {
        let (alone, mixed, silence) = try pair()
        let start = alone.time
        for box in [alone, mixed] {
            box.run(until: start + Self.second / 2)
            box.setSpeaker(0.25)
            #expect(!box.passesProgram)
            box.run(until: start + Self.second)
            #expect(!box.passesProgram)
            box.setSpeaker(1)
            box.run(until: start + 2 * Self.second)
        }
        expectEqual(alone, mixed, "after two changes")
        #expect(alone.passesProgram)
        mixed.free(silence)
    }

    @Test func `what a program has not written in time is silence, as in the mix`() throws {
        let (alone, mixed, silence) = try pair()
        let start = alone.time
        // Half of a block is written; nothing for a while; then all again.
        for box in [alone, mixed] {
            box.application = 48_000 / 2 + 240
            box.run(until: start + Self.second)
            #expect(box.missing == UInt64(box.hardware) - 24_240)
            box.application = box.hardware + 4_800
            box.run(until: start + Self.second * 11 / 10)
            box.application = box.hardware + 10_000_000
            box.run(until: start + 2 * Self.second)
        }
        expectEqual(alone, mixed, "the program was late")
        #expect(alone.missing > 10_000 && alone.passesProgram)
        mixed.free(silence)
    }

    @Test(arguments: [0, 100, UInt64(Int64.max), .max, .max - 1_000] as [UInt64])
    func `a ring with nonsense is not read beyond its end, however late the thread is`(application: UInt64) throws {
        // The smallest buffer.
        let box = try TurnBench(periodFrames: 480, bufferFrames: 960, sound: Self.noise)
        box.run(until: box.time + Self.second / 2)
        #expect(box.passesProgram)
        let before = box.headset.sink.left.count
        box.application = application
        box.turn(at: box.time + 55_000_000)
        box.application = 10_000_000
        box.run(until: box.time + Self.second / 2)
        #expect(box.passesProgram)
        #expect(box.headset.sink.faults == [] && box.headset.sink.lostPackets == 0)
        #expect(box.headset.sink.left.count - before > 48_000 * 52 / 100)
    }

    @Test func `a program is woken as often as in the mix, or less`() throws {
        let (alone, mixed, silence) = try pair()
        let start = alone.time
        func wakeUps(_ box: TurnBench) -> Int {
            var (count, buffer) = (0, [UInt8](repeating: 0, count: 8))
            while recv(box.memory.clientWakeDescriptor, &buffer, 8, Int32(MSG_DONTWAIT)) == 8 { count += 1 }
            return count
        }
        var counts = [0, 0]
        for step in Int64(1)...50 {
            for (index, box) in [alone, mixed].enumerated() {
                box.run(until: start + step * Self.second / 25)
                counts[index] += wakeUps(box)
            }
        }
        // Every 60 ms of two seconds, and at the beginning.
        #expect(counts[1] == 34)
        #expect(counts[0] >= 26 && counts[0] <= counts[1])
        mixed.free(silence)
    }
}
