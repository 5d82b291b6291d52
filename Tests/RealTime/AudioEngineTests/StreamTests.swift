import AudioDSP
import BluetoothTypes
import CBTCall
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

/// Six seconds of a program that plays 1000 Hz on the left and 440 Hz on the right, written in advance.
private func makePage(rate: Int, periodFrames: Int? = nil) throws -> PCMMemory {
    let layout = SampleLayout(.s16, channels: 2)
    let memory = try PCMMemory(
        rate: rate, layout: layout, bufferFrames: 6 * rate, periodFrames: periodFrames, isCapture: false)
    let (left, right) = (tone(1_000, rate: rate), tone(440, rate: rate))
    let samples = memory.samples.assumingMemoryBound(to: Int16.self)
    for frame in 0..<6 * rate {
        samples[2 * frame] = left(frame)
        samples[2 * frame + 1] = right(frame)
    }
    memory.ring.pointee.application = UInt64(6 * rate)
    return memory
}

private func isFailed(_ event: AudioEngineEvent, _ id: UInt32) -> Bool {
    if case .terminalFailed(id, _) = event { true } else { false }
}

extension RealtimeTests {
    @Suite struct Streams {
        /// The headset's audio of the next milliseconds.
        private func hear(
            _ bench: EngineBench, _ peer: SinkPeer, milliseconds: Int, rate: Int = 44_100
        ) -> (left: ArraySlice<Int16>, right: ArraySlice<Int16>) {
            let before = peer.frames
            let count = rate * milliseconds / 1_000
            #expect(bench.waitUntil { peer.frames >= before + count })
            let all = peer.look { ($0.left, $0.right) }
            return (all.0[before...].prefix(count), all.1[before...].prefix(count))
        }

        private func isWhole(_ peer: SinkPeer) -> Bool {
            peer.look { $0.faults == [] && $0.lostPackets == 0 && $0.skippedFrames == 0 }
        }

        @Test func `a page in stereo is heard on both sides while a call is routed elsewhere, and not in the call`()
            throws
        {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(2_000, rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 20 })
            let sink = try bench.makeSink(2, isAlone: true)
            for (id, rate) in [(UInt32(1), 44_100), (2, 48_000)] {
                try bench.engine.addPlayback(id, .stream(makePage(rate: rate)), PlaybackManner(), at: .terminal(2))
                _ = hear(bench, sink.peer, milliseconds: 200)
                let heard = hear(bench, sink.peer, milliseconds: 1_000)
                #expect(lowestToneShare(heard.left, hertz: 1_000, rate: 44_100) > 0.999)
                #expect(lowestToneShare(heard.right, hertz: 440, rate: 44_100) > 0.999)
                #expect(abs(Int(heard.left.max() ?? 0) - 8_000) < 200)
                #expect(abs(Int(heard.right.max() ?? 0) - 8_000) < 200)
                bench.engine.endPlayback(id)
                #expect(bench.wait { $0 == .playbackEnded(id) } != nil)
                _ = hear(bench, sink.peer, milliseconds: 200)
            }
            #expect(hear(bench, sink.peer, milliseconds: 100).left.allSatisfy { abs(Int($0)) < 4 })
            #expect(lowestToneShare(headset.peer.received.suffix(16_000), hertz: 2_000, rate: 16_000) > 0.99)
            let counted = bench.terminal(2)
            #expect(counted?.bitpool == 53 && counted?.rate == 44_100 && (counted?.packetsSent ?? 0) > 100)
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            #expect(isWhole(sink.peer))
            sink.peer.stop()
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(sink.descriptor)
            close(headset.descriptor)
        }

        @Test func `playback beside calls is lowered as configured, and restored when they have ended`() throws {
            let bench = try EngineBench()
            let sink = try bench.makeSink(2, isAlone: true)
            var manner = PlaybackManner()
            manner.gainBesideCalls = 0.25
            try bench.engine.addPlayback(
                1, .tone(ToneSpecification([600], peak: 0.5)), manner, at: .terminal(2))
            try bench.engine.addPlayback(2, .stream(makePage(rate: 48_000)), manner, at: .terminal(2))
            func level() -> Double {
                _ = hear(bench, sink.peer, milliseconds: 250)
                let heard = hear(bench, sink.peer, milliseconds: 200).left
                return (heard.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(heard.count)).squareRoot()
            }
            let before = level()
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            // A device alone is no call.
            #expect(abs(level() / before - 1) < 0.05)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.wait { $0 == .callStarted(7) } != nil)
            #expect(abs(level() / before - 0.25) < 0.02)
            bench.engine.detachCall(7)
            #expect(abs(level() / before - 1) < 0.05)
            sink.peer.stop()
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(sink.descriptor)
            close(headset.descriptor)
        }

        @Test func `a listener hears both sides of the calls, without a gap when they begin and end`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(
                1, .mSBC, .mSBC, packetBytes: 60, source: tone(1_500, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let sink = try bench.makeSink(2, isAlone: true)
            bench.engine.setListening(2, true)
            _ = hear(bench, sink.peer, milliseconds: 200)
            #expect(hear(bench, sink.peer, milliseconds: 100).left.allSatisfy { abs(Int($0)) < 4 })
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(500, rate: 16_000))
            #expect(bench.wait { $0 == .callStarted(7) } != nil)
            _ = hear(bench, sink.peer, milliseconds: 400)
            var heard = hear(bench, sink.peer, milliseconds: 500).left
            #expect((0.45...0.55).contains(toneShare(heard, hertz: 500, rate: 44_100)))
            #expect((0.45...0.55).contains(toneShare(heard, hertz: 1_500, rate: 44_100)))
            // Audio that the far end does not hear is not heard by a listener either.
            bench.engine.setMuting(.microphone)
            _ = hear(bench, sink.peer, milliseconds: 100)
            #expect(toneShare(hear(bench, sink.peer, milliseconds: 300).left, hertz: 500, rate: 44_100) > 0.99)
            bench.engine.setMuting(.off)
            bench.engine.setListening(2, false)
            _ = hear(bench, sink.peer, milliseconds: 200)
            #expect(hear(bench, sink.peer, milliseconds: 200).left.allSatisfy { abs(Int($0)) < 4 })
            bench.engine.setListening(2, true)
            _ = hear(bench, sink.peer, milliseconds: 200)
            bench.engine.detachCall(7)
            _ = hear(bench, sink.peer, milliseconds: 200)
            heard = hear(bench, sink.peer, milliseconds: 200).left
            #expect(heard.allSatisfy { abs(Int($0)) < 4 })
            #expect(isWhole(sink.peer))
            sink.peer.stop()
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(sink.descriptor)
            close(headset.descriptor)
        }

        @Test func `a call moves from a card to a stream and back without losing a step or leaving a gap`() throws {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: tone(500, rate: 48_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: countedTones(rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 100 })
            let sink = try bench.makeSink(2)
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } == .routed(2, gapMicroseconds: 0))
            #expect(bench.waitUntil { provider.blocks >= 250 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } == .routed(1, gapMicroseconds: 0))
            #expect(bench.waitUntil { provider.blocks >= 400 })
            let counted = bench.call(7)
            let cardHeard = heardSteps(card.peer.received[...], rate: 48_000)
            let sinkHeard = sink.peer.look { ($0.left, $0.right) }
            let steps = heardSteps(sinkHeard.0[...], rate: 44_100)
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            #expect(isWhole(sink.peer))
            sink.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(sink.descriptor)

            #expect(counted?.blocksMissing == 0 && counted?.blocksDropped == 0)
            #expect(jumps(steps) == [] && steps.count > 60)
            #expect(jumps(heardSteps(sinkHeard.1[...], rate: 44_100)) == [])
            #expect(jumps(cardHeard).count <= 1 && cardHeard.count > 100)
            let total = cardHeard.count + steps.count
            #expect(abs(total - (counted?.blocksReceived ?? 0) / 2) <= 12)
        }

        @Test func `an attached microphone is the clock of a routed stream, and is detached again`() throws {
            let bench = try EngineBench()
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            let sink = try bench.makeSink(1)
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let microphone = try PacedCard(capturing: 8_000)
            try bench.engine.addCapture(
                3,
                ALSACapture(
                    pcm: microphone.pcm, rate: PacedCard.rate, periodFrames: PacedCard.periodFrames,
                    bufferFrames: PacedCard.bufferFrames), runsAlone: false)
            bench.engine.attachCapture(3, to: 1)
            #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
            #expect(
                bench.waitUntil {
                    let said = provider.received.suffix(160)
                    return said.count == 160 && said.allSatisfy { abs($0 - 8_000) < 20 }
                })
            bench.engine.setStreamDelay(1, milliseconds: 180)
            let heard = hear(bench, sink.peer, milliseconds: 1_000)
            #expect(lowestToneShare(heard.left, hertz: 1_000, rate: 44_100) > 0.99)
            bench.engine.removeCapture(3)
            #expect(bench.wait { $0 == .captureRemoved(3) } != nil)
            #expect(bench.wait { $0 == .microphoneLive(false) } != nil)
            _ = hear(bench, sink.peer, milliseconds: 100)
            #expect(
                lowestToneShare(hear(bench, sink.peer, milliseconds: 500).left, hertz: 1_000, rate: 44_100) > 0.99)
            #expect(isWhole(sink.peer))
            #expect(bench.call(7)?.blocksDropped == 0)
            microphone.close()
            sink.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(sink.descriptor)
        }

        @Test func `a program receives the delay to the ear, including the headset's own`() throws {
            let bench = try EngineBench()
            let sink = try bench.makeSink(2, isAlone: true)
            bench.engine.setStreamDelay(2, milliseconds: 200)
            let page = try makePage(rate: 48_000)
            try bench.engine.addPlayback(1, .stream(page), PlaybackManner(), at: .terminal(2))
            // It changes by a tenth of the elapsed time.
            #expect(bench.waitUntil { page.ring.pointee.latency >= 48 * 200 })
            #expect(page.ring.pointee.latency < 48 * 240)
            sink.peer.stop()
            bench.engine.stop()
            close(sink.descriptor)
        }

        @Test func `a program that plays alone wakes the thread once a packet`() throws {
            let bench = try EngineBench()
            // Packets of 23 ms.
            let sink = try bench.makeSink(2, mtu: 1_000, isAlone: true)
            try bench.engine.addPlayback(
                1, .stream(makePage(rate: 48_000, periodFrames: 2_880)), PlaybackManner(), at: .terminal(2))
            _ = hear(bench, sink.peer, milliseconds: 200)
            let (before, sent) = (bench.engine.counters().wakeUps, bench.terminal(2)?.packetsSent ?? 0)
            #expect(bench.waitUntil { (bench.terminal(2)?.packetsSent ?? 0) >= sent + 50 })
            let packets = (bench.terminal(2)?.packetsSent ?? 0) - sent
            // With a tick in each turn it would be 2.3 times as often.
            #expect(Double(bench.engine.counters().wakeUps - before) < 1.6 * Double(packets))
            #expect(lowestToneShare(sink.peer.look { $0.left.suffix(22_050) }, hertz: 1_000, rate: 44_100) > 0.999)
            #expect(isWhole(sink.peer))
            sink.peer.stop()
            bench.engine.stop()
            close(sink.descriptor)
        }

        @Test func `a headset that stops reading for a while is played to again when it resumes`() throws {
            let bench = try EngineBench()
            let sink = try bench.makeSink(2, isAlone: true)
            try bench.engine.addPlayback(
                1, .tone(ToneSpecification([600], peak: 0.5)), PlaybackManner(), at: .terminal(2))
            _ = hear(bench, sink.peer, milliseconds: 300)
            sink.peer.pause()
            #expect(bench.waitUntil { (bench.terminal(2)?.overrunFrames ?? 0) > 4_410 })
            // A full socket does not occupy the thread: each tick drops its audio.
            let (wakeUps, before) = (bench.engine.counters().wakeUps, bench.terminal(2)?.overrunFrames ?? 0)
            #expect(bench.waitUntil { (bench.terminal(2)?.overrunFrames ?? 0) > before + 20 * 441 })
            let ticks = ((bench.terminal(2)?.overrunFrames ?? 0) - before) / 441
            #expect(bench.engine.counters().wakeUps - wakeUps < 2 * ticks + 20)
            sink.peer.resume()
            _ = hear(bench, sink.peer, milliseconds: 500)
            #expect(
                lowestToneShare(hear(bench, sink.peer, milliseconds: 500).left, hertz: 600, rate: 44_100) > 0.99)
            let counted = bench.terminal(2)
            #expect((counted?.packetsWaited ?? 0) > 0 && (counted?.bitpool ?? 53) < 53)
            #expect(sink.peer.look { $0.faults == [] && $0.lostPackets == 0 })
            #expect(sink.peer.look { $0.skippedFrames } == counted?.overrunFrames)
            sink.peer.stop()
            bench.engine.stop()
            close(sink.descriptor)
        }

        @Test func `a headset that hangs up ends its terminal in order, routed, alone and waiting`() throws {
            let bench = try EngineBench()
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            for id in UInt32(1)...3 {
                let sink = try bench.makeSink(id, isAlone: id == 2)
                if id == 1 {
                    bench.engine.route(to: 1)
                    #expect(bench.wait { isRouted($0, 1) } != nil)
                    _ = hear(bench, sink.peer, milliseconds: 100)
                }
                shutdown(sink.peer.descriptor, Int32(SHUT_RDWR))
                #expect(bench.wait { isFailed($0, id) } == .terminalFailed(terminal: id, code: 0))
                bench.engine.removeTerminal(id)
                #expect(bench.wait { $0 == .terminalRemoved(id) } != nil)
                sink.peer.stop()
                close(sink.descriptor)
            }
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 30 })
            provider.stop()
            bench.engine.stop()
        }

        @Test func `a stream that is removed fades out, sends its queue, and is released`() throws {
            let bench = try EngineBench()
            let sink = try bench.makeSink(2, isAlone: true)
            try bench.engine.addPlayback(
                1, .tone(ToneSpecification([600], peak: 0.5)), PlaybackManner(), at: .terminal(2))
            _ = hear(bench, sink.peer, milliseconds: 300)
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            let sent = bench.engine.counters().terminals.count
            #expect(sent == 0)
            #expect(bench.waitUntil { sink.peer.look { $0.left.suffix(16).allSatisfy { abs(Int($0)) < 40 } } })
            let heard = sink.peer.look { $0.left }
            // A tone of 600 Hz at half of full scale moves by 1400 per sample, and by no more in the fade.
            let steepest = zip(heard, heard.dropFirst()).map { abs(Int($1) - Int($0)) }.max() ?? 0
            #expect(steepest < 1_600)
            #expect(isWhole(sink.peer))
            sink.peer.stop()
            bench.engine.stop()
            close(sink.descriptor)
        }

        @Test func `a packet without room for a codec frame is refused with the sizes`() throws {
            let bench = try EngineBench()
            let ends = packetSocketPair()
            let configuration = try streamConfiguration([0x21, 0x15, 40, 53])
            let stream = MediaStream(descriptor: ends.ours, configuration: configuration, bitpool: 53, writeMTU: 100)
            do {
                try bench.engine.addTerminal(1, .stream(stream))
                Issue.record("it was taken")
            } catch {
                #expect(error == .packetTooSmall(writeMTU: 100, codecFrameBytes: 93))
                #expect(
                    "\(error)" == "a codec frame of 93 bytes does not fit into a packet of 100, of which 13 are headers"
                )
            }
            let closed = MediaStream(descriptor: -1, configuration: configuration, bitpool: 53, writeMTU: 672)
            #expect(throws: AudioEngineError.failed(call: "setsockopt", code: EBADF)) {
                try bench.engine.addTerminal(1, .stream(closed))
            }
            bench.engine.stop()
            close(ends.ours)
            close(ends.theirs)
        }
    }
}
