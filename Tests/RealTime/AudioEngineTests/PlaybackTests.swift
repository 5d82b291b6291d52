import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// A headset with a call whose far end sends a tone of 1000 Hz.
private final class PlaybackBench {
    let bench: EngineBench
    let provider: Provider
    let headset: (peer: PacedPeer, descriptor: Int32)

    init(farEnd: @escaping @Sendable (Int) -> Int16 = tone(1_000, rate: 16_000)) throws {
        bench = try EngineBench()
        headset = try bench.makeHeadset(
            1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
        provider = try bench.makeCall(7, rate: 16_000, source: farEnd)
        #expect(bench.waitUntil { self.provider.blocks >= 20 })
    }

    var engine: AudioEngine { bench.engine }

    /// The headset's audio of the next blocks.
    func hear(blocks: Int) -> ArraySlice<Int16> {
        let before = headset.peer.received.count
        #expect(bench.waitUntil { self.headset.peer.received.count >= before + 160 * blocks })
        return headset.peer.received[before...].prefix(160 * blocks)
    }

    /// Half the distance between the highest and the lowest sample is the amplitude of a tone.
    func amplitude(_ samples: ArraySlice<Int16>) -> Int {
        (Int(samples.max() ?? 0) - Int(samples.min() ?? 0)) / 2
    }

    func stop() {
        headset.peer.stop()
        provider.stop()
        engine.stop()
        close(headset.descriptor)
    }
}

private func isEnded(_ event: AudioEngineEvent, _ id: UInt32) -> Bool { event == .playbackEnded(id) }

extension RealtimeTests {
    @Suite struct Playbacks {
        @Test func `a tone is heard with the call by the user, and never by the far end`() throws {
            let box = try PlaybackBench()
            defer { box.stop() }
            try box.engine.addPlayback(
                1, .tone(ToneSpecification([425], peak: 0.25)), PlaybackManner(), at: .routed)
            _ = box.hear(blocks: 20)
            let heard = box.hear(blocks: 50)
            // Amplitudes of 8000 and 8192: half of the power each.
            #expect((0.45...0.55).contains(toneShare(heard, hertz: 425, rate: 16_000)))
            #expect((0.45...0.55).contains(toneShare(heard, hertz: 1_000, rate: 16_000)))
            #expect(box.provider.received.suffix(8_000).allSatisfy { abs(Int($0)) < 200 })
            box.engine.endPlayback(1)
            #expect(box.bench.wait { isEnded($0, 1) } != nil)
            _ = box.hear(blocks: 20)
            #expect(toneShare(box.hear(blocks: 50), hertz: 1_000, rate: 16_000) > 0.99)
        }

        @Test func `the far end is lowered during an announcement, and restored after it`() throws {
            let box = try PlaybackBench()
            defer { box.stop() }
            let before = box.amplitude(box.hear(blocks: 10))
            var manner = PlaybackManner()
            manner.duckGain = 0.25
            // Silence shows the far end's remaining level.
            try box.engine.addPlayback(
                1, .samples([Int16](repeating: 0, count: 16_000), loops: false), manner, at: .routed)
            _ = box.hear(blocks: 30)
            let during = box.amplitude(box.hear(blocks: 20))
            #expect(abs(Double(during) / Double(before) - 0.25) < 0.01)
            #expect(box.bench.wait { isEnded($0, 1) } != nil)
            _ = box.hear(blocks: 20)
            #expect(abs(box.amplitude(box.hear(blocks: 10)) - before) <= before / 50)
            // By ramps: no step is steeper than the tone's own, 8000 times 2 π 1000 / 16000, and the ramp's.
            let heard = box.headset.peer.received.dropFirst(1_600)
            let steepest = zip(heard, heard.dropFirst()).map { abs(Int($1) - Int($0)) }.max() ?? 0
            #expect(steepest < 3_250)
        }

        @Test func `a higher priority silences a lower one, which continues in time; equal ones are mixed`() throws {
            let box = try PlaybackBench(farEnd: { _ in 0 })
            defer { box.stop() }
            func play(_ id: UInt32, _ hertz: Int, priority: Int, isMixable: Bool = true) throws {
                var manner = PlaybackManner()
                manner.priority = priority
                manner.isMixable = isMixable
                try box.engine.addPlayback(
                    id, .tone(ToneSpecification([hertz], peak: 0.25)), manner, at: .routed)
                _ = box.hear(blocks: 20)
            }
            func share(_ hertz: Double, _ heard: ArraySlice<Int16>) -> Double {
                toneShare(heard, hertz: hertz, rate: 16_000)
            }
            try play(1, 500, priority: 3)
            #expect(share(500, box.hear(blocks: 20)) > 0.99)
            try play(2, 700, priority: 3)
            var heard = box.hear(blocks: 20)
            #expect((0.4...0.6).contains(share(500, heard)) && (0.4...0.6).contains(share(700, heard)))
            try play(3, 900, priority: 4)
            #expect(share(900, box.hear(blocks: 20)) > 0.99)
            box.engine.endPlayback(3)
            #expect(box.bench.wait { isEnded($0, 3) } != nil)
            _ = box.hear(blocks: 20)
            heard = box.hear(blocks: 20)
            #expect((0.4...0.6).contains(share(500, heard)) && (0.4...0.6).contains(share(700, heard)))
            try play(4, 1_100, priority: 3, isMixable: false)
            #expect(share(1_100, box.hear(blocks: 20)) > 0.99)
        }

        @Test func `a stand-in for the remote party's audio ends when that is heard`() throws {
            let isTalking = Flag()
            let speech = tone(1_000, rate: 16_000)
            let box = try PlaybackBench(farEnd: { isTalking.isSet ? speech($0) : 0 })
            defer { box.stop() }
            var manner = PlaybackManner()
            manner.yieldsToCalls = true
            try box.engine.addPlayback(1, .tone(ToneSpecification([425])), manner, at: .routed)
            _ = box.hear(blocks: 20)
            #expect(toneShare(box.hear(blocks: 50), hertz: 425, rate: 16_000) > 0.99)
            isTalking.set()
            #expect(box.bench.wait { isEnded($0, 1) } != nil)
            _ = box.hear(blocks: 20)
            #expect(toneShare(box.hear(blocks: 20), hertz: 1_000, rate: 16_000) > 0.99)
        }

        @Test func `a terminal that plays alone has its own clock, and no other terminal hears it`() throws {
            let box = try PlaybackBench()
            defer { box.stop() }
            let ends = packetSocketPair()
            let ringer = PacedPeer(ends.theirs, .pcm16(rate: 48_000), packetBytes: 960, source: { _ in 0 })
            try box.engine.addTerminal(
                2, .link(descriptor: ends.ours, codec: .pcm(rate: 48_000), packetBytesHint: 960), isAlone: true)
            ringer.start()
            try box.engine.addPlayback(
                1, .tone(ToneSpecification([880], peak: 0.5)), PlaybackManner(), at: .terminal(2))
            #expect(box.bench.waitUntil { ringer.received.count > 48_000 })
            #expect(lowestToneShare(ringer.received.dropFirst(9_600), hertz: 880, rate: 48_000) > 0.98)
            #expect(toneShare(box.hear(blocks: 50), hertz: 880, rate: 16_000) < 0.01)
            // And moved to the call.
            box.engine.movePlayback(1, to: .routed)
            _ = box.hear(blocks: 20)
            #expect(toneShare(box.hear(blocks: 50), hertz: 880, rate: 16_000) > 0.5)
            box.engine.removeTerminal(2)
            #expect(box.bench.wait { $0 == .terminalRemoved(2) } != nil)
            ringer.stop()
            close(ends.ours)
        }

        @Test func `an inaudible playback ends at once when it is ended, or when its program is gone`() throws {
            let bench = try EngineBench()
            defer { bench.engine.stop() }
            try bench.engine.addPlayback(1, .tone(ToneSpecification([425])), PlaybackManner(), at: .nowhere)
            try bench.engine.addPlayback(2, .tone(ToneSpecification([425])), PlaybackManner(), at: .terminal(99))
            let ends = packetSocketPair()
            try bench.engine.addPlayback(
                3, .application(descriptor: ends.ours, rate: 16_000, layout: SampleLayout(), isStream: false),
                PlaybackManner(), at: .routed)
            bench.engine.endPlayback(1)
            bench.engine.endPlayback(2)
            close(ends.theirs)
            for id in UInt32(1)...3 { #expect(bench.waitUntil { !bench.engine.playbacks.keys.contains(id) }) }
        }

        @Test func `an application's playback is heard, and its end closes the socket`() throws {
            let box = try PlaybackBench(farEnd: { _ in 0 })
            defer { box.stop() }
            let ends = packetSocketPair()
            try box.engine.addPlayback(
                1, .application(descriptor: ends.ours, rate: 16_000, layout: SampleLayout(), isStream: false),
                PlaybackManner(), at: .routed)
            let source = tone(600, rate: 16_000)
            let before = box.headset.peer.received.count
            for block in 0..<50 {
                let samples = (0..<160).map { source(block * 160 + $0) }
                #expect(send(ends.theirs, samples, 320, 0) == 320)
            }
            shutdown(ends.theirs, Int32(SHUT_WR))
            #expect(box.bench.wait { isEnded($0, 1) } != nil)
            let heard = box.headset.peer.received[before...]
            #expect(heard.count { abs(Int($0)) > 7_500 } > 1_000)
            var byte: UInt8 = 0
            #expect(box.bench.waitUntil { recv(ends.theirs, &byte, 1, Int32(MSG_DONTWAIT)) == 0 })
            close(ends.theirs)
        }

        @Test func `a seventeenth is refused, and so is a number in use`() throws {
            let bench = try EngineBench()
            defer { bench.engine.stop() }
            for id in UInt32(1)...16 {
                try bench.engine.addPlayback(id, .samples([], loops: true), PlaybackManner(), at: .nowhere)
            }
            #expect(throws: AudioEngineError.duplicate(3)) {
                try bench.engine.addPlayback(3, .samples([], loops: true), PlaybackManner(), at: .nowhere)
            }
            #expect(throws: AudioEngineError.tooMany(limit: 16)) {
                try bench.engine.addPlayback(17, .samples([], loops: true), PlaybackManner(), at: .nowhere)
            }
        }
    }
}

private final class Flag: @unchecked Sendable {
    private let value = NSLock()
    private var state = false
    var isSet: Bool { value.withLock { state } }
    func set() { value.withLock { state = true } }
}
