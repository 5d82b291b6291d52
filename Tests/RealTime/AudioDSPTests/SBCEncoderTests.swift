import AudioDSP
import BluetoothTypes
import Foundation
import TestSupport
import Testing

/// All possible configurations, with all bitpools that fit into their codec frames.
private let configurations: [SBCConfiguration] = {
    var all: [SBCConfiguration] = []
    for rate in UInt8(0)..<4 {
        for mode in UInt8(0)..<4 {
            for blocks in UInt8(0)..<4 {
                for rest: UInt8 in [0x5, 0x6, 0x9, 0xA] {
                    let (first, second) = (UInt8(0x10) << rate | UInt8(1) << mode, UInt8(0x10) << blocks | rest)
                    let bytes: [UInt8] = [first, second, 2, 250]
                    if let one = try? SBCCapabilities(bytes).select() { all.append(one) }
                }
            }
        }
    }
    return all
}()

/// Two unrelated voices, interleaved.
private func speech(rate: Int, frames: Int, channels: Int) -> [Int16] {
    let (left, right) = (
        Signals.voice(rate: rate, frames: frames, seed: 3),
        Signals.tone(440, rate: rate, frames: frames, amplitude: 6_000)
    )
    if channels == 1 { return left }
    return zip(left, right).flatMap { [$0, $1] }
}

/// Decoded audio of interleaved samples.
private func hear(
    _ samples: [Int16], _ configuration: SBCConfiguration, bitpool: Int, mtu: Int = 1_691
) throws -> SBCSink {
    var encoder = SBCEncoder(configuration, bitpool: bitpool)
    var packetizer = MediaPacketizer(capacity: mtu)
    let sink = SBCSink()
    let size = encoder.codecFrameSamples * encoder.channels
    var position = 0
    var time: UInt32 = 0
    while position + size <= samples.count {
        packetizer.begin(timestamp: time)
        while position + size <= samples.count, packetizer.free >= encoder.frameBytes {
            let bytes = samples[position..<position + size].withUnsafeBufferPointer { piece in
                piece.baseAddress.map { encoder.encode($0, into: packetizer.end, packetizer.free) } ?? 0
            }
            try #require(bytes == encoder.frameBytes)
            packetizer.append(bytes)
            position += size
            time &+= UInt32(encoder.codecFrameSamples)
        }
        try #require(packetizer.frames > 0)
        sink.receive(Array(UnsafeBufferPointer(start: packetizer.bytes, count: packetizer.byteCount)))
    }
    return sink
}

struct SBCEncoderTests {
    @Test func `a decoder accepts every configuration at the ends and in the middle of its bitpools`() throws {
        #expect(configurations.count == 256)
        for configuration in configurations {
            let samples = speech(rate: configuration.rate, frames: 1_536, channels: configuration.channels)
            let most = configuration.maximumBitpool
            for bitpool in [2, 19, most / 2, most] {
                let sink = try hear(samples, configuration, bitpool: bitpool)
                #expect(sink.faults == [] && sink.lostPackets == 0 && sink.skippedFrames == 0)
                #expect(sink.bitpools == [bitpool])
                #expect(sink.left.count == 1_536 / configuration.codecFrameSamples * configuration.codecFrameSamples)
                #expect(sink.right.count == (configuration.channels == 2 ? sink.left.count : 0))
            }
        }
    }

    @Test func `a new bitpool applies from the next codec frame on, and the change is inaudible`() throws {
        let configuration = try SBCCapabilities([0x11, 0x15, 2, 250]).select()
        var encoder = SBCEncoder(configuration, bitpool: 51)
        let sink = SBCSink()
        let sent = Signals.tone(1_000, rate: 48_000, frames: 128 * 300)
        for number in 0..<300 {
            if number == 100 { encoder.setBitpool(20) }
            if number == 200 { encoder.setBitpool(51) }
            var packetizer = MediaPacketizer(capacity: 672, sequence: UInt16(number))
            packetizer.begin(timestamp: UInt32(number * 128))
            let block = sent[number * 128..<(number + 1) * 128].flatMap { [$0, $0] }
            packetizer.append(encoder.encode(block, into: packetizer.end, packetizer.free))
            sink.receive(Array(UnsafeBufferPointer(start: packetizer.bytes, count: packetizer.byteCount)))
        }
        #expect(sink.faults == [] && sink.bitpools == [51, 20, 51])
        #expect(Signals.purity(sink.left.dropFirst(1_000), hertz: 1_000, rate: 48_000) > 30)
        #expect(Signals.largestStep(sink.left) < Signals.largestStep(sent) * 11 / 10)
    }

    @Test(arguments: [48, 64, 127, 128, 335, 339, 672, 895, 1_021, 1_691])
    func `packets hold as many whole codec frames as fit into the MTU, fifteen at most`(mtu: Int) throws {
        for configuration in configurations where configuration.blocks == 16 && configuration.subbands == 8 {
            let bitpool = try #require(configuration.bitpool(configuration.bitpool(.standard), within: mtu - 13))
            let bytes = configuration.codecFrameBytes(bitpool: bitpool)
            #expect(bytes <= mtu - 13)
            let samples = speech(rate: configuration.rate, frames: 128 * 60, channels: configuration.channels)
            let sink = try hear(samples, configuration, bitpool: bitpool, mtu: mtu)
            let full = min(15, (mtu - 13) / bytes)
            #expect(sink.faults == [] && sink.lostPackets == 0 && sink.skippedFrames == 0)
            #expect(sink.packetBytes == 13 + full * bytes)
            #expect(sink.packets == (60 + full - 1) / full)
        }
    }

    @Test func `sequence and timestamp wrap around`() {
        var packetizer = MediaPacketizer(capacity: 100, sequence: 0xFFFF, source: 0x0102_0304)
        packetizer.begin(timestamp: 0xFFFF_FFF0)
        packetizer.append(20)
        let first = Array(UnsafeBufferPointer(start: packetizer.bytes, count: 13))
        #expect(first == [0x80, 96, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xF0, 1, 2, 3, 4, 1])
        #expect(packetizer.byteCount == 33 && packetizer.free == 67)
        packetizer.begin(timestamp: 0x70)
        #expect(packetizer.bytes[2] == 0 && packetizer.bytes[3] == 0 && packetizer.bytes[12] == 0)
        packetizer.discard()
        packetizer.begin(timestamp: 0x70)
        #expect(packetizer.bytes[2] == 0 && packetizer.bytes[3] == 0)
        #expect(packetizer.room(frameBytes: 88) == 0 && packetizer.room(frameBytes: 87) == 1)
        #expect(packetizer.room(frameBytes: 1) == 15 && packetizer.room(frameBytes: 0) == 0)
    }

    // Of speech on the left and a tone on the right in dB, as measured with libsbc 2.0; joint stereo gives the bits that the
    // tone does not need to the speech.
    @Test(
        "S3.6 A2DP in one direction, two channels: decoded SBC SNR",
        arguments: [
            (16_000, SBCQuality.standard, 43.7, 56.1), (16_000, .xq, 40.1, 66.1), (32_000, .standard, 47.3, 59.9),
            (32_000, .xq, 43.4, 70.0), (44_100, .standard, 48.1, 62.0), (44_100, .xq, 44.8, 64.6),
            (48_000, .standard, 47.4, 61.2), (48_000, .xq, 42.4, 64.4),
        ])
    func decodedSignalToNoise(rate: Int, quality: SBCQuality, speechRatio: Double, toneRatio: Double) throws {
        let rateBit: UInt8 = [16_000: 0x80, 32_000: 0x40, 44_100: 0x20, 48_000: 0x10][rate] ?? 0
        // A typical headset: everything, up to bitpool 53.
        let configuration = try SBCCapabilities([rateBit | 0xF, 0xFF, 2, 53]).select(quality)
        #expect(configuration.mode == (quality == .xq ? .dual : .joint))
        let sent = speech(rate: rate, frames: 3 * rate, channels: 2)
        let sink = try hear(sent, configuration, bitpool: configuration.bitpool(quality))
        #expect(sink.faults == [])
        // The filters of encoder and decoder together: nine of its ten taps per subband, plus one.
        let delay = 9 * configuration.subbands + 1
        let left = stride(from: 0, to: sent.count, by: 2).map { sent[$0] }
        let right = stride(from: 1, to: sent.count, by: 2).map { sent[$0] }
        let figures = (
            Signals.ratio(sink.left.dropFirst(delay), to: left), Signals.ratio(sink.right.dropFirst(delay), to: right)
        )
        #expect(figures.0 > speechRatio - 1 && figures.1 > toneRatio - 1, "\(rate) Hz, \(quality): \(figures)")
    }
}

struct BitpoolControllerTests {
    private let second: Int64 = 1_000_000_000

    @Test func `a socket that does not keep up lowers the bitpool by an eighth, ten times a second at most`() {
        var controller = BitpoolController(highest: 53, minimum: 2)
        var steps: [Int] = []
        for tick in Int64(0)..<100 where controller.note(waiting: 40, now: tick * second / 100) {
            steps.append(controller.bitpool)
        }
        #expect(steps == [47, 42, 37, 33, 29, 26, 23, 21, 19, 17])
        for tick in Int64(100)..<200 { _ = controller.note(waiting: 150, now: tick * second / 100) }
        #expect(controller.bitpool == 15)
    }

    @Test func `it rises by one every five seconds without waiting audio, up to the initial value`() {
        var controller = BitpoolController(highest: 53, minimum: 2)
        #expect(controller.note(waiting: 60, now: 0) && controller.bitpool == 47)
        var ups: [Int64] = []
        for tick in Int64(1)...6_000 {
            // Audio waits for a moment at the third second: that interrupts the five seconds.
            let waiting = tick == 300 ? 20 : 0
            if controller.note(waiting: waiting, now: tick * second / 100) { ups.append(tick) }
        }
        #expect(ups == [800, 1_300, 1_800, 2_300, 2_800, 3_300])
        #expect(controller.bitpool == 53)
    }

    @Test func `it does not fall below the agreed minimum, or its initial value`() {
        var narrow = BitpoolController(highest: 53, minimum: 50)
        var low = BitpoolController(highest: 9, minimum: 2)
        for tick in Int64(0)..<100 {
            _ = narrow.note(waiting: 100, now: tick * second)
            _ = low.note(waiting: 100, now: tick * second)
        }
        #expect(narrow.bitpool == 50 && low.bitpool == 9)
    }
}

struct StereoResamplerTests {
    @Test(arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000], [16_000, 32_000, 44_100, 48_000])
    func `the two sides pass separately, in whole blocks`(from: Int, to: Int) {
        var resampler = StereoResampler(from: from, to: to)
        let (left, right) = (
            Signals.tone(1_000, rate: from, frames: from), Signals.tone(440, rate: from, frames: from, amplitude: 5_000)
        )
        let pairs = zip(left, right).flatMap { [$0, $1] }
        var heard: [Int16] = []
        var block = [Int16](repeating: 0, count: to / 50)
        for number in 0..<100 {
            let piece = Array(pairs[number * from / 50..<(number + 1) * from / 50])
            #expect(resampler.process(piece, from / 100, &block, to / 100) == to / 100)
            heard += block
        }
        let sides = (0..<2).map { side in
            stride(from: to / 5 + side, to: heard.count, by: 2).map { heard[$0] }
        }
        #expect(Signals.purity(sides[0], hertz: 1_000, rate: to) > 60)
        #expect(Signals.purity(sides[1], hertz: 440, rate: to) > 60)
        #expect(abs(Signals.rms(sides[0]) / 7_071 - 1) < 0.01 && abs(Signals.rms(sides[1]) / 3_535 - 1) < 0.01)
    }
}
