import AudioDSP
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

extension RealtimeTests {
    @Suite struct Captures {
        private func stream(_ card: PacedCard) -> ALSACapture {
            ALSACapture(
                pcm: card.pcm, rate: PacedCard.rate, periodFrames: PacedCard.periodFrames,
                bufferFrames: PacedCard.bufferFrames)
        }

        private func path(_ card: PacedCard) -> ALSAPath {
            ALSAPath(
                playback: card.pcm, playbackRate: PacedCard.rate, playbackPeriodFrames: PacedCard.periodFrames,
                playbackBufferFrames: PacedCard.bufferFrames)
        }

        /// A routed path that only plays, with a call that sends a tone.
        private func begin(_ bench: EngineBench, _ card: PacedCard) throws -> Provider {
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            try bench.engine.addTerminal(1, .path(path(card)))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            return provider
        }

        private func hears(_ bench: EngineBench, _ provider: Provider, _ sample: Int16) -> Bool {
            bench.waitUntil {
                let heard = provider.received.suffix(160)
                return heard.count == 160 && heard.allSatisfy { abs($0 - sample) < 20 }
            }
        }

        @Test func `a capture stream is attached to a playing path and detached, and the playback continues`() throws {
            let bench = try EngineBench()
            let speaker = try PacedCard()
            let provider = try begin(bench, speaker)
            #expect(hears(bench, provider, 0))
            for round in 1...3 {
                let microphone = try PacedCard(capturing: 8_000)
                let id = UInt32(round)
                try bench.engine.addCapture(id, stream(microphone), runsAlone: false)
                #expect(!microphone.isRunning)
                bench.engine.attachCapture(id, to: 1)
                #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
                #expect(hears(bench, provider, 8_000))
                let blocks = provider.blocks
                #expect(bench.waitUntil { provider.blocks >= blocks + 20 })
                bench.engine.removeCapture(id)
                #expect(bench.wait { $0 == .captureRemoved(id) } != nil)
                #expect(!microphone.isRunning)
                microphone.close()
                #expect(bench.wait { $0 == .microphoneLive(false) } != nil)
                #expect(hears(bench, provider, 0))
            }
            // The number is free, the device still plays, without an underrun.
            #expect(bench.terminal(1)?.playbackXruns == 0 && speaker.xruns == 0 && speaker.starts == 1)
            #expect(bench.terminal(1)?.overrunFrames == 0)
            let played = speaker.played.drop { $0 == 0 }
            // In 20 ms: a millisecond without it is a twentieth, and 1000 ppm to hold the queue are 0.1 %.
            let share = lowestToneShare(
                played.dropFirst(4_800).dropLast(4_800), hertz: 1_000, rate: 48_000, windowsPerSecond: 50)
            #expect(share > 0.98)
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            provider.stop()
            bench.engine.stop()
            speaker.close()
        }

        @Test func `after a dozen attached and detached microphones the loudspeaker's queue is unchanged`() throws {
            let bench = try EngineBench()
            let speaker = try PacedCard()
            let provider = try begin(bench, speaker)
            /// Maximum over a tenth of a second: when a tick is late, the queue is lower just before it.
            func queued() -> Int {
                (0..<20).reduce(0) { most, _ in
                    usleep(5_000)
                    return max(most, bench.terminal(1)?.queuedMilliseconds ?? 0)
                }
            }
            #expect(hears(bench, provider, 0))
            let before = queued()
            for id in UInt32(1)...12 {
                let microphone = try PacedCard(capturing: 8_000)
                try bench.engine.addCapture(id, stream(microphone), runsAlone: false)
                bench.engine.attachCapture(id, to: 1)
                #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
                #expect(hears(bench, provider, 8_000))
                // At a different time between two ticks each time.
                usleep(id * 1_700)
                bench.engine.removeCapture(id)
                #expect(bench.wait { $0 == .captureRemoved(id) } != nil)
                microphone.close()
            }
            let after = queued()
            #expect(abs(after - before) <= 5, "\(before) ms before, \(after) ms after")
            #expect(bench.terminal(1)?.playbackXruns == 0 && speaker.xruns == 0 && speaker.starts == 1)
            provider.stop()
            bench.engine.stop()
            speaker.close()
        }

        @Test func `a shared stream, readable until it is asked, wakes the thread once per period`() throws {
            let bench = try EngineBench()
            let speaker = try PacedCard()
            let provider = try begin(bench, speaker)
            let microphone = try PacedCard(capturing: 8_000, restsWhenAsked: true)
            try bench.engine.addCapture(1, stream(microphone), runsAlone: true)
            #expect(bench.wait { $0 == .captureReady(1) } != nil)
            /// Number of wake-ups while it read this many periods: also for the call and for a tick, but limited.
            func wakeUps(_ periods: Int) -> Int {
                let (before, read) = (bench.engine.counters().wakeUps, microphone.frames)
                #expect(bench.waitUntil { microphone.frames >= read + periods * PacedCard.periodFrames })
                return bench.engine.counters().wakeUps - before
            }
            #expect(wakeUps(50) < 50 * 8)
            bench.engine.attachCapture(1, to: 1)
            #expect(hears(bench, provider, 8_000))
            #expect(wakeUps(50) < 50 * 8)
            provider.stop()
            bench.engine.stop()
            for card in [speaker, microphone] { card.close() }
        }

        @Test func `a stream that runs alone is attached to one path after the other, and started once`() throws {
            let bench = try EngineBench()
            let microphone = try PacedCard(capturing: 8_000)
            try bench.engine.addCapture(9, stream(microphone), runsAlone: true)
            #expect(bench.wait { $0 == .captureReady(9) } != nil)
            for _ in 1...2 {
                let speaker = try PacedCard()
                let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
                try bench.engine.addTerminal(1, .path(path(speaker)))
                bench.engine.attachCapture(9, to: 1)
                bench.engine.route(to: 1)
                #expect(bench.wait { isRouted($0, 1) } != nil)
                #expect(hears(bench, provider, 8_000))
                bench.engine.setMuting(.everything)
                #expect(bench.wait { $0 == .microphoneLive(false) } != nil)
                bench.engine.setMuting(.off)
                #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
                bench.engine.removeTerminal(1)
                #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
                provider.stop()
                bench.engine.detachCall(7)
                speaker.close()
                let frames = microphone.frames
                #expect(bench.waitUntil { microphone.frames > frames + 4_800 })
            }
            #expect(microphone.starts == 1 && microphone.xruns == 0 && microphone.isRunning)
            bench.engine.setCaptureAlone(9, false)
            #expect(bench.waitUntil { !microphone.isRunning })
            bench.engine.removeCapture(9)
            #expect(bench.wait { $0 == .captureRemoved(9) } != nil)
            microphone.close()
            bench.engine.stop()
        }

        @Test func `a stream is not attached to a path that has one, nor is an unknown one`() throws {
            let bench = try EngineBench()
            let speaker = try PacedCard()
            let microphones = try (PacedCard(capturing: 1_000), PacedCard(capturing: 2_000))
            let provider = try begin(bench, speaker)
            try bench.engine.addCapture(1, stream(microphones.0), runsAlone: false)
            try bench.engine.addCapture(2, stream(microphones.1), runsAlone: false)
            #expect(throws: AudioEngineError.self) {
                try bench.engine.addCapture(2, stream(microphones.1), runsAlone: false)
            }
            bench.engine.attachCapture(1, to: 1)
            bench.engine.attachCapture(2, to: 1)
            bench.engine.attachCapture(3, to: 1)
            bench.engine.attachCapture(1, to: 5)
            #expect(hears(bench, provider, 1_000))
            bench.engine.removeCapture(1)
            #expect(bench.wait { $0 == .captureRemoved(1) } != nil)
            bench.engine.attachCapture(2, to: 1)
            #expect(hears(bench, provider, 2_000))
            provider.stop()
            bench.engine.stop()
            for card in [speaker, microphones.0, microphones.1] { card.close() }
        }

        @Test func `a running microphone is heard with the next block after unmuting`() throws {
            let bench = try EngineBench()
            let microphone = try PacedCard(capturing: 8_000)
            try bench.engine.addCapture(9, stream(microphone), runsAlone: true)
            #expect(bench.wait { $0 == .captureReady(9) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            try bench.engine.addTerminal(1, .path(ALSAPath()))
            bench.engine.attachCapture(9, to: 1)
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            #expect(hears(bench, provider, 8_000))
            // Steps taken until this thread has looked as well.
            let steps = (0..<5).map { _ in
                bench.engine.setMuting(.everything)
                #expect(bench.wait { $0 == .microphoneLive(false) } != nil)
                let ticks = bench.engine.counters().ticks
                bench.engine.setMuting(.off)
                #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
                return bench.engine.counters().ticks - ticks
            }
            #expect(try #require(steps.min()) <= 2, "\(steps)")
            provider.stop()
            bench.engine.stop()
            microphone.close()
        }

        @Test func `S1.27 a microphone muted alone stays live, unless it is denied`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .cvsd, .cvsd, packetBytes: 48, source: { _ in 1_000 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
            let reported = bench.events.count
            bench.engine.setMuting(.microphone)
            #expect(hears(bench, provider, 0))
            #expect(!bench.events.dropFirst(reported).contains(.microphoneLive(false)))
            for muting in [Muting.deniedMicrophone, .everything] {
                bench.engine.setMuting(muting)
                #expect(bench.wait { $0 == .microphoneLive(false) } != nil, "\(muting)")
                bench.engine.setMuting(.microphone)
                #expect(bench.wait { $0 == .microphoneLive(true) } != nil, "\(muting)")
            }
            provider.stop()
            headset.peer.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }

        @Test func `a microphone is not live without a call, and the end of the call is reported`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .cvsd, .cvsd, packetBytes: 48, source: { _ in 1_000 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let ticks = bench.engine.counters().ticks
            #expect(bench.waitUntil { bench.engine.counters().ticks > ticks + 10 })
            #expect(!bench.events.contains(.microphoneLive(true)))
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.wait { $0 == .microphoneLive(true) } != nil)
            provider.stop()
            #expect(bench.wait { $0 == .microphoneLive(false) } != nil)
            headset.peer.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }
    }
}
