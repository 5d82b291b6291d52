import AudioDSP
import BluetoothTypes
import CBTCall
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

@Suite struct StreamPortTests {
    @Test(arguments: [(0x21, 44_100), (0x11, 48_000), (0x48, 32_000), (0x82, 16_000)] as [(UInt8, Int)])
    func `sixty seconds are sent without a gap in number, timestamp or sound`(first: UInt8, rate: Int) throws {
        let box = try StreamPortBench(try streamConfiguration([first, 0x15, 2, 53]))
        let source = tone(500, rate: 16_000)
        for _ in 0..<6_000 {
            #expect(box.tick(source) == 0)
            box.receive()
        }
        #expect(box.finish())
        box.receive()
        #expect(box.sink.faults == [] && box.sink.lostPackets == 0 && box.sink.skippedFrames == 0)
        // The input, filled up to a codec frame, and one more for the filters' delay.
        #expect((128..<256).contains(box.sink.left.count - 60 * rate))
        #expect(box.sink.packets == box.counted.packetsSent)
        #expect(box.counted.packetsWaited == 0 && box.counted.overrunFrames == 0)
        let heard = box.sink.left.dropFirst(rate / 10).dropLast(rate / 10)
        #expect(lowestToneShare(heard.prefix(5 * rate), hertz: 500, rate: rate) > 0.999)
        #expect(lowestToneShare(heard.suffix(5 * rate), hertz: 500, rate: rate) > 0.999)
        #expect(abs(Int(heard.max() ?? 0) - 8_000) < 200)
        guard first != 0x48 else { return }
        // Left-over bits of a codec frame go to the left first: similar, not equal.
        let right = box.sink.right.dropLast(rate / 10).suffix(5 * rate)
        #expect(lowestToneShare(right, hertz: 500, rate: rate) > 0.999)
        #expect(abs(Int(right.max() ?? 0) - 8_000) < 200)
    }

    @Test(arguments: [48, 64, 128, 335, 672, 895, 1_021, 1_691])
    func `packets of every MTU are as long as allowed, and hold no more than 50 ms`(mtu: Int) throws {
        for first: UInt8 in [0x21, 0x14, 0x48, 0x81] {
            let configuration = try streamConfiguration([first, 0x15, 2, 53])
            let box = try StreamPortBench(configuration, mtu: mtu)
            for _ in 0..<100 {
                #expect(box.tick(tone(500, rate: 16_000)) == 0)
                box.receive()
            }
            let bitpool = try #require(
                configuration.bitpool(configuration.bitpool(.standard), within: mtu - 13))
            let bytes = configuration.codecFrameBytes(bitpool: bitpool)
            let frames = min(15, (mtu - 13) / bytes, configuration.rate / 20 / 128)
            #expect(box.sink.faults == [] && box.sink.lostPackets == 0 && box.sink.skippedFrames == 0)
            #expect(box.sink.packetBytes == 13 + frames * bytes)
            #expect(box.sink.bitpools == [bitpool])
            #expect(box.sink.left.count > configuration.rate * 94 / 100)
        }
    }

    @Test func `a stalled socket drops the oldest audio before it is encoded, and lowers the bitpool`() throws {
        let box = try StreamPortBench(try streamConfiguration())
        let source = tone(500, rate: 16_000)
        for _ in 0..<100 {
            box.tick(source)
            box.receive()
        }
        #expect(box.counted.bitpool == 53 && box.counted.queuedMilliseconds < 20)
        // Half a second without an accepted packet.
        for _ in 0..<50 { box.tick(source) }
        var counted = box.counted
        #expect(box.isBlocked && counted.packetsWaited == 1)
        #expect((149...150).contains(counted.queuedMilliseconds))
        #expect(counted.bitpool < 53 && counted.bitpool >= 15)
        let dropped = counted.overrunFrames
        #expect(dropped > 0)
        // And it continues.
        box.receive()
        #expect(box.resumeIfBlocked() == 0)
        for _ in 0..<2_000 {
            box.tick(source)
            box.receive()
            #expect(box.resumeIfBlocked() == 0)
        }
        counted = box.counted
        #expect(counted.overrunFrames == dropped && counted.queuedMilliseconds < 20)
        #expect(box.sink.faults == [] && box.sink.lostPackets == 0)
        // The timestamps tell the missing audio to the frame.
        #expect(box.sink.skippedFrames == dropped)
        let lowest = try #require(box.sink.bitpools.min())
        // One step every five seconds.
        #expect(counted.bitpool > lowest && counted.bitpool <= lowest + 4)
        #expect(lowestToneShare(box.sink.left.suffix(44_100), hertz: 500, rate: 44_100) > 0.999)
    }

    @Test func `a socket that is slow by a tenth lowers the bitpool instead of causing gaps`() throws {
        let box = try StreamPortBench(try streamConfiguration())
        // Bytes in 10 ms of codec frames with packet headers: no more than at bitpool 46.
        let rate = try streamConfiguration().bitsPerSecond(bitpool: 45) / 800 + 9
        var allowance = 0
        for _ in 0..<3_000 {
            box.tick(tone(500, rate: 16_000))
            allowance += rate
            while allowance > 0 {
                let taken = box.receive(1)
                if taken == 0 { break }
                allowance -= taken
            }
            allowance = min(allowance, 600)
            #expect(box.resumeIfBlocked() == 0)
        }
        #expect(box.counted.bitpool < 53)
        #expect(box.counted.overrunFrames == 0 && box.sink.skippedFrames == 0 && box.sink.lostPackets == 0)
    }

    @Test func `audio that waits at a stop is discarded, and the next packet follows the last`() throws {
        let box = try StreamPortBench(try streamConfiguration())
        for _ in 0..<40 { box.tick() }
        #expect(box.isWaiting)
        box.port.pointee.stop()
        #expect(!box.isWaiting && !box.isBlocked && box.queuedMilliseconds == 0)
        box.receive()
        for _ in 0..<40 {
            box.tick()
            box.receive()
        }
        #expect(box.sink.faults == [] && box.sink.lostPackets == 0 && box.sink.skippedFrames > 0)
    }

    @Test func `a peer that is gone is recognised by its errno, as an orderly end`() throws {
        let box = try StreamPortBench(try streamConfiguration())
        shutdown(box.theirs, Int32(SHUT_RDWR))
        var code: Int32 = 0
        for _ in 0..<4 where code == 0 { code = box.tick() }
        #expect(code == EPIPE)
        #expect([EPIPE, ECONNRESET, ENOTCONN].map(streamEnd) == [0, 0, 0])
        #expect([ETIMEDOUT, EHOSTDOWN, EMSGSIZE].map(streamEnd) == [ETIMEDOUT, EHOSTDOWN, EMSGSIZE])
    }

    @Test(arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000])
    func `stereo playback of programs is heard in stereo, mixed with the bus, at its level`(
        rate: Int
    ) throws {
        let box = try StreamPortBench(try streamConfiguration([0x11, 0x15, 2, 53]))
        let lane = box.port.pointee.lane(rate: rate)
        #expect(lane >= 0)
        let (left, right) = (
            tone(1_000, rate: rate, amplitude: 4_000), tone(440, rate: rate, amplitude: 6_000)
        )
        for number in 0..<200 {
            let room = box.port.pointee.room(in: lane)
            for frame in 0..<rate / 100 {
                room[2 * frame] = left(number * rate / 100 + frame)
                room[2 * frame + 1] = right(number * rate / 100 + frame)
            }
            box.port.pointee.add(to: lane)
            box.tick(tone(2_000, rate: 16_000, amplitude: 2_000))
            box.receive()
        }
        let heard = (box.sink.left.dropFirst(9_600), box.sink.right.dropFirst(9_600))
        // Powers of 4000² and 6000² beside the bus's 2000².
        #expect(abs(toneShare(heard.0, hertz: 1_000, rate: 48_000) - 0.8) < 0.01)
        #expect(abs(toneShare(heard.0, hertz: 2_000, rate: 48_000) - 0.2) < 0.01)
        #expect(toneShare(heard.0, hertz: 440, rate: 48_000) < 0.001)
        #expect(abs(toneShare(heard.1, hertz: 440, rate: 48_000) - 0.9) < 0.01)
        #expect(toneShare(heard.1, hertz: 1_000, rate: 48_000) < 0.001)
        let power = heard.0.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(heard.0.count)
        #expect(abs(power / (4_000.0 * 4_000.0 / 2 + 2_000.0 * 2_000.0 / 2) - 1) < 0.03)
        #expect(abs(Int(heard.1.max() ?? 0) - 8_000) < 300)
    }

    @Test(arguments: [[48_000, 48_000], [44_100, 48_000], [48_000, 16_000], [16_000, 44_100, 48_000]])
    func `programs of equal and of different rates are added up, each once`(rates: [Int]) throws {
        let box = try StreamPortBench(try streamConfiguration([0x11, 0x15, 2, 53]))
        for _ in 0..<100 {
            for (number, rate) in rates.enumerated() {
                let lane = box.port.pointee.lane(rate: rate)
                let room = box.port.pointee.room(in: lane)
                for frame in 0..<rate / 100 {
                    room[2 * frame] = Int16(1_000 << number)
                    room[2 * frame + 1] = Int16(-2_000 << number)
                }
                box.port.pointee.add(to: lane)
            }
            box.tick()
            box.receive()
        }
        let sum = (1 << rates.count) - 1
        #expect(abs(Int(box.sink.left.last ?? 0) - 1_000 * sum) < 300)
        #expect(abs(Int(box.sink.right.last ?? 0) + 2_000 * sum) < 600)
        // None of it stays.
        for _ in 0..<10 {
            box.tick()
            box.receive()
        }
        #expect(box.sink.left.suffix(256).allSatisfy { abs(Int($0)) < 4 })
        #expect(box.sink.right.suffix(256).allSatisfy { abs(Int($0)) < 4 })
    }

    @Test func `too loud audio is clipped, and the volume applies to all of it`() throws {
        let box = try StreamPortBench(try streamConfiguration([0x11, 0x15, 2, 53]))
        let lane = box.port.pointee.lane(rate: 48_000)
        func run(_ ticks: Int) {
            for _ in 0..<ticks {
                let room = box.port.pointee.room(in: lane)
                for index in 0..<960 { room[index] = 30_000 }
                box.port.pointee.add(to: lane)
                box.tick { _ in 20_000 }
                box.receive()
            }
        }
        run(50)
        #expect(abs(Int(box.sink.left.last ?? 0) - 32_767) < 1_000)
        box.port.pointee.setSpeaker(0)
        run(50)
        #expect(abs(Int(box.sink.right.last ?? 0) - 20_000) < 1_000)
        box.port.pointee.fadeOut()
        run(10)
        #expect(box.isFadedOut)
        #expect(box.sink.left.suffix(128).allSatisfy { abs(Int($0)) < 20 })
    }
}
