import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// A call of 16 kHz and a device whose packets hold 20 ms.
private final class BusBench {
    let bench: EngineBench
    let rate: Int
    let device: (peer: PacedPeer, descriptor: Int32)

    init(
        device codec: LinkCodec, _ format: LinkFormat, packetBytes: Int, says: @escaping @Sendable (Int) -> Int16,
        _ change: (inout AudioEngineConfiguration) -> Void = { _ in }
    ) throws {
        bench = try EngineBench(change)
        rate = format.rate
        device = try bench.makeHeadset(1, codec, format, packetBytes: packetBytes, source: says)
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
    }

    convenience init(
        rate: Int, says: @escaping @Sendable (Int) -> Int16,
        _ change: (inout AudioEngineConfiguration) -> Void = { _ in }
    ) throws {
        try self.init(
            device: .pcm(rate: rate), .pcm16(rate: rate), packetBytes: rate / 25, says: says, change)
    }

    var engine: AudioEngine { bench.engine }
    var busRate: Int { engine.counters().busRate }
    var heard: [Int16] { device.peer.received }

    /// Waits until the bus runs at this rate.
    func expectBus(_ rate: Int) { #expect(bench.waitUntil { self.busRate == rate }) }

    func stop(_ providers: Provider...) {
        device.peer.stop()
        for provider in providers { provider.stop() }
        engine.stop()
        close(device.descriptor)
    }
}

/// Windows of 20 ms.
private func lowestShare(_ samples: ArraySlice<Int16>, hertz: Double, rate: Int) -> Double {
    lowestToneShare(samples, hertz: hertz, rate: rate, windowsPerSecond: 50)
}

/// Least power in 10 ms, as a share of a tone's.
private func lowestPower(_ samples: ArraySlice<Int16>, amplitude: Double, rate: Int) -> Double {
    var lowest = 1.0
    var start = samples.startIndex
    while start + rate / 100 <= samples.endIndex {
        let sum = samples[start..<(start + rate / 100)].reduce(0.0) { $0 + Double($1) * Double($1) }
        lowest = min(lowest, sum / Double(rate / 100) / (amplitude * amplitude / 2))
        start += rate / 400
    }
    return lowest
}

private func loudest(_ samples: ArraySlice<Int16>) -> Int { samples.map { abs(Int($0)) }.max() ?? 0 }

extension RealtimeTests {
    @Suite struct Bus {
        // MARK: The rate

        @Test func `the bus runs at the lower rate of device and call, and begins at 16 kHz`() throws {
            for (device, call, bus) in [
                (48_000, 48_000, 48_000), (48_000, 16_000, 16_000), (16_000, 48_000, 16_000),
                (32_000, 48_000, 32_000), (48_000, 32_000, 32_000), (8_000, 8_000, 16_000),
            ] {
                let box = try BusBench(rate: device, says: { _ in 0 })
                #expect(box.busRate == 16_000)
                let provider = try box.bench.makeCall(7, rate: call, source: { _ in 0 })
                #expect(box.bench.waitUntil { provider.blocks >= 30 })
                #expect(box.busRate == bus, "\(device) and \(call)")
                box.stop(provider)
            }
        }

        @Test func `a tone of 12 kHz passes both ways between two ends of 48 kHz, and not over a bus of 16`() throws {
            for isFixed in [false, true] {
                let box = try BusBench(rate: 48_000, says: tone(12_000, rate: 48_000)) {
                    if isFixed { $0.higherBusRates = [] }
                }
                let provider = try box.bench.makeCall(7, rate: 48_000, source: tone(12_000, rate: 48_000))
                #expect(box.bench.waitUntil { provider.blocks >= 80 })
                let (down, up) = (box.heard.suffix(19_200), provider.received.suffix(19_200))
                box.stop(provider)
                if isFixed {
                    #expect(loudest(down) < 200 && loudest(up) < 200)
                } else {
                    #expect(lowestShare(down, hertz: 12_000, rate: 48_000) > 0.99)
                    #expect(lowestShare(up, hertz: 12_000, rate: 48_000) > 0.99)
                    #expect(loudest(down) > 7_000 && loudest(up) > 7_000)
                }
            }
        }

        #if LC3
            @Test(arguments: [32_000, 48_000])
            func `LC3-SWB: a tone of 12 kHz passes both ways`(callRate: Int) throws {
                let box = try BusBench(device: .lc3SWB, .lc3SWB, packetBytes: 60, says: tone(12_000, rate: 32_000))
                let provider = try box.bench.makeCall(7, rate: callRate, source: tone(12_000, rate: callRate))
                #expect(box.bench.waitUntil { provider.blocks >= 100 })
                #expect(box.busRate == 32_000)
                let (down, up) = (box.heard.suffix(12_800), provider.received.suffix(callRate * 2 / 5))
                box.stop(provider)
                #expect(lowestShare(down, hertz: 12_000, rate: 32_000) > 0.95)
                #expect(lowestShare(up, hertz: 12_000, rate: callRate) > 0.95)
                #expect(loudest(down) > 5_000 && loudest(up) > 5_000)
            }

            @Test func `LC3-SWB: a call of 16 kHz has a bus of 16 kHz`() throws {
                let box = try BusBench(device: .lc3SWB, .lc3SWB, packetBytes: 60, says: tone(12_000, rate: 32_000))
                let provider = try box.bench.makeCall(7, rate: 16_000, source: countedTones(rate: 16_000))
                #expect(box.bench.waitUntil { provider.blocks >= 100 })
                #expect(box.busRate == 16_000)
                #expect(loudest(provider.received.suffix(6_400)) < 400)
                box.stop(provider)
            }
        #endif

        @Test func `mSBC: a tone of 12 kHz does not pass, and the bus runs at 16 kHz`() throws {
            let box = try BusBench(device: .mSBC, .mSBC, packetBytes: 60, says: tone(1_000, rate: 16_000))
            let provider = try box.bench.makeCall(7, rate: 48_000, source: tone(12_000, rate: 48_000))
            #expect(box.bench.waitUntil { provider.blocks >= 100 })
            #expect(box.busRate == 16_000)
            #expect(loudest(box.heard.suffix(6_400)) < 400)
            #expect(toneShare(provider.received.suffix(19_200), hertz: 12_000, rate: 48_000) < 0.01)
            box.stop(provider)
        }

        // MARK: Changes in a call

        @Test func `a second call of 48 kHz changes the rate in mid tone, and neither end hears a gap`() throws {
            let box = try BusBench(rate: 48_000, says: tone(100, rate: 48_000))
            let first = try box.bench.makeCall(7, rate: 16_000, source: tone(200, rate: 16_000))
            #expect(box.bench.waitUntil { first.blocks >= 40 })
            for round in 1...3 {
                let second = try box.bench.makeCall(8, rate: 48_000, source: { _ in 0 })
                box.expectBus(48_000)
                #expect(box.bench.waitUntil { first.blocks >= 40 + 60 * round })
                box.engine.detachCall(8)
                box.expectBus(16_000)
                #expect(box.bench.waitUntil { first.blocks >= 70 + 60 * round })
                second.stop()
            }
            let call = box.bench.call(7)
            let terminal = box.bench.terminal(1)
            let (down, up) = (box.heard, first.received)
            box.stop(first)
            // From the first whole tone on.
            let heard = down.drop { abs(Int32($0)) < 4_000 }.dropFirst(4_800)
            #expect(lowestShare(heard, hertz: 200, rate: 48_000) > 0.8)
            #expect(lowestPower(heard, amplitude: 8_000, rate: 48_000) > 0.4)
            let said = up.dropFirst(3_200)
            #expect(lowestShare(said, hertz: 100, rate: 16_000) > 0.8)
            #expect(lowestPower(said, amplitude: 8_000, rate: 16_000) > 0.4)
            #expect(call?.blocksMissing == 0 && call?.blocksDropped == 0)
            #expect(terminal?.underrunFrames == 0 && terminal?.overrunFrames == 0)
        }

        @Test func `a call loses no step when it moves between devices of different rates`() throws {
            let box = try BusBench(rate: 16_000, says: countedTones(rate: 16_000))
            let provider = try box.bench.makeCall(7, rate: 48_000, source: countedTones(rate: 48_000))
            #expect(box.bench.waitUntil { provider.blocks >= 100 })
            #expect(box.busRate == 16_000)
            let second = try box.bench.makeHeadset(
                2, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 1_920, source: countedTones(rate: 48_000))
            box.engine.route(to: 2)
            #expect(box.bench.wait { isRouted($0, 2) } == .routed(2, gapMicroseconds: 0))
            box.expectBus(48_000)
            #expect(box.bench.waitUntil { provider.blocks >= 250 })
            let heard = second.peer.received
            box.engine.route(to: 1)
            #expect(box.bench.wait { isRouted($0, 1) } == .routed(1, gapMicroseconds: 0))
            box.expectBus(16_000)
            #expect(box.bench.waitUntil { provider.blocks >= 350 })
            let call = box.bench.call(7)
            second.peer.stop()
            box.stop(provider)
            close(second.descriptor)
            // The rate changed some 50 ms after the cut, in what this device heard.
            let steps = heardSteps(heard.drop { abs(Int32($0)) < 4_000 }, rate: 48_000)
            #expect(steps.count > 50)
            #expect(jumps(steps) == [])
            #expect(call?.blocksMissing == 0 && call?.blocksDropped == 0)
        }

        @Test func `what a dead device has not played is heard on the next one, before the rate changes`() throws {
            let box = try BusBench(rate: 48_000, says: { _ in 0 })
            // A staircase: the value gives the block.
            let provider = try box.bench.makeCall(7, rate: 48_000) { Int16(($0 / 480 + 1) * 20) }
            box.expectBus(48_000)
            let second = try box.bench.makeHeadset(
                2, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 640, source: { _ in 0 })
            #expect(box.bench.waitUntil { provider.blocks >= 100 })
            box.device.peer.pause()
            let last = Int(box.heard.last ?? 0) / 20
            let blocks = provider.blocks
            #expect(box.bench.waitUntil { provider.blocks >= blocks + 20 })
            box.engine.route(to: 2)
            #expect(box.bench.wait { isRouted($0, 2) } != nil)
            #expect(box.bench.waitUntil { provider.blocks >= blocks + 60 })
            let heard = second.peer.received.drop { $0 < 20 * 20 }
            second.peer.stop()
            box.stop(provider)
            close(second.descriptor)
            // Its fade ends after 20 ms.
            let first = Int(heard.dropFirst(16 * 30).first ?? 0) / 20
            #expect(last > 50)
            #expect((last - 10...last + 8).contains(first), "\(last), then \(first)")
        }

        // MARK: Beside the calls

        @Test func `a playing tone and playing samples keep their pitch over changes of rate`() throws {
            let box = try BusBench(rate: 48_000, says: { _ in 0 })
            let first = try box.bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            let samples = (0..<16_000).map(tone(500, rate: box.engine.busRate))
            let sources: [(UInt32, Double, PlaybackSource)] = [
                (1, 425, .tone(ToneSpecification([425], peak: 0.25))), (2, 500, .samples(samples, loops: true)),
            ]
            for (id, hertz, source) in sources {
                try box.engine.addPlayback(id, source, PlaybackManner(), at: .routed)
                var heard = box.heard.count
                #expect(box.bench.waitUntil { box.heard.count >= heard + 14_400 })
                heard = box.heard.count
                let second = try box.bench.makeCall(8, rate: 48_000, source: { _ in 0 })
                box.expectBus(48_000)
                #expect(box.bench.waitUntil { box.heard.count >= heard + 24_000 })
                #expect(toneShare(box.heard.suffix(9_600), hertz: hertz, rate: 48_000) > 0.99, "\(hertz) Hz")
                box.engine.detachCall(8)
                box.expectBus(16_000)
                #expect(box.bench.waitUntil { box.heard.count >= heard + 48_000 })
                #expect(toneShare(box.heard.suffix(9_600), hertz: hertz, rate: 48_000) > 0.99, "\(hertz) Hz")
                #expect(lowestPower(box.heard[heard...], amplitude: 8_000, rate: 48_000) > 0.3, "\(hertz) Hz")
                box.engine.endPlayback(id)
                #expect(box.bench.wait { $0 == .playbackEnded(id) } != nil)
                second.stop()
            }
            box.stop(first)
        }

        @Test(arguments: [VoiceProcessingKind.speex, VoiceProcessingKind.none])
        func `voice processing follows the bus`(kind: VoiceProcessingKind) throws {
            let box = try BusBench(rate: 48_000, says: tone(1_000, rate: 48_000))
            try box.engine.setVoiceProcessing(kind, stages: [])
            let provider = try box.bench.makeCall(7, rate: 48_000, source: { _ in 0 })
            box.expectBus(48_000)
            let blocks = provider.blocks
            #expect(box.bench.waitUntil { provider.blocks >= blocks + 60 })
            #expect(lowestShare(provider.received.suffix(19_200), hertz: 1_000, rate: 48_000) > 0.99)
            // Another processor begins at the present rate.
            try box.engine.setVoiceProcessing(.speex, stages: [])
            #expect(box.bench.waitUntil { provider.blocks >= blocks + 130 })
            #expect(lowestShare(provider.received.suffix(19_200), hertz: 1_000, rate: 48_000) > 0.99)
            #expect(box.busRate == 48_000)
            box.stop(provider)
        }

        @Test func `what joins while the bus runs at 48 kHz is at its rate`() throws {
            let box = try BusBench(rate: 48_000, says: tone(1_000, rate: 48_000))
            let first = try box.bench.makeCall(7, rate: 48_000, source: { _ in 0 })
            box.expectBus(48_000)
            let second = try box.bench.makeCall(8, rate: 8_000, source: tone(600, rate: 8_000))
            #expect(box.bench.waitUntil { second.blocks >= 60 })
            #expect(lowestShare(second.received.suffix(2_400), hertz: 1_000, rate: 8_000) > 0.99)
            #expect(lowestShare(box.heard.suffix(14_400), hertz: 600, rate: 48_000) > 0.99)
            let blocks = second.blocks
            let third = try box.bench.makeHeadset(
                2, .cvsd, .cvsd, packetBytes: 48, source: tone(700, rate: 8_000))
            box.engine.route(to: 2)
            #expect(box.bench.wait { isRouted($0, 2) } != nil)
            box.expectBus(16_000)
            #expect(box.bench.waitUntil { second.blocks >= blocks + 100 })
            #expect(lowestShare(second.received.suffix(2_400), hertz: 700, rate: 8_000) > 0.99)
            #expect(lowestShare(third.peer.received.suffix(2_400), hertz: 600, rate: 8_000) > 0.99)
            third.peer.stop()
            box.stop(first, second)
            close(third.descriptor)
        }
    }
}
