import AudioDSP
import CALSA
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

@Suite struct StandbyPathTests {
    @Test(arguments: [false, true])
    func `a card that slept with the machine while it stood by starts at the cut`(hasLead: Bool) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
        let bench = PathBench(playback: card)
        let lead = [Int16](repeating: 0, count: hasLead ? bench.path.pointee.leadFrames() : 0)
        card.isSuspended = true
        let code = bench.path.pointee.start(now: 0, lead: lead, lead.count)
        #expect(code == 0)
        #expect(!card.isSuspended && card.startedAt != nil)
        // The queue of 50 ms, but for the converter's delay.
        #expect(card.moved > card.rate / 25)
    }

    @Test func `a card that stands by fills its queue at the rate that the bus has at the cut`() throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
        let bench = PathBench(playback: card, bus: BusRates(16_000, others: [48_000]))
        bench.path.pointee.adoptBus(1)
        let lead = (0..<bench.path.pointee.leadFrames()).map(tone(1_000, rate: 48_000))
        #expect(lead.count == card.rate / 20)
        var played: [Int16] = []
        card.onPlayed = { samples, count in
            played += UnsafeBufferPointer(start: samples.assumingMemoryBound(to: Int16.self), count: count)
        }
        let code = bench.path.pointee.start(now: 0, lead: lead, lead.count)
        #expect(code == 0 && played.count == card.rate / 20)
        #expect(toneShare(played.suffix(card.rate / 25), hertz: 1_000, rate: card.rate) > 0.99)
    }
}

extension RealtimeTests {
    /// A card that is added before it is routed: it stands by for a headset.
    @Suite struct Standby {
        private func path(_ card: PacedCard) -> ALSAPath {
            ALSAPath(
                playback: card.pcm, playbackRate: PacedCard.rate, playbackPeriodFrames: PacedCard.periodFrames,
                playbackBufferFrames: PacedCard.bufferFrames)
        }

        @Test func `a card that stands by is not started, and the thread never wakes for it`() throws {
            let bench = try EngineBench()
            let speaker = try PacedCard()
            try bench.engine.addTerminal(1, .path(path(speaker)))
            var isAtRest = false
            for _ in 1...5 where !isAtRest {
                let before = bench.engine.counters().wakeUps
                isAtRest = !bench.waitUntil(seconds: 0.1) { bench.engine.counters().wakeUps != before }
            }
            #expect(isAtRest && speaker.starts == 0 && speaker.frames == 0)
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            bench.engine.stop()
            speaker.close()
        }

        @Test func `the cut to a card that stands by does not wait for its microphone, which joins it`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.setSilentLimit(1, .milliseconds(160))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let speaker = try PacedCard()
            try bench.engine.addTerminal(2, .path(path(speaker)))
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 80 })
            #expect(speaker.starts == 0)
            headset.peer.pause()
            #expect(bench.wait { if case .linkSilent(1, _, _) = $0 { true } else { false } } != nil)
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            // The queue begins with what the headset has not played.
            #expect(speaker.isRunning && speaker.played.contains { abs($0) > 4_000 })
            let microphone = try PacedCard(capturing: 8_000)
            let stream = ALSACapture(
                pcm: microphone.pcm, rate: PacedCard.rate, periodFrames: PacedCard.periodFrames,
                bufferFrames: PacedCard.bufferFrames)
            try bench.engine.addCapture(1, stream, runsAlone: false)
            bench.engine.attachCapture(1, to: 2)
            let isHeard = bench.waitUntil {
                let heard = provider.received.suffix(160)
                return heard.count == 160 && heard.allSatisfy { abs($0 - 8_000) < 20 }
            }
            #expect(isHeard)
            #expect(speaker.starts == 1 + speaker.xruns)
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
            microphone.close()
            speaker.close()
        }

        @Test func `a prepared switch is made and reported each time that the link falls silent, without a command`()
            throws
        {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.setSilentLimit(1, .milliseconds(120))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let card = try bench.makeHeadset(
                2, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: { _ in 0 })
            bench.engine.setStandIn(StandIn(link: 1, terminal: 2))
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 50 })
            for _ in 1...2 {
                headset.peer.pause()
                #expect(bench.wait { if case .linkSilent(1, _, 2) = $0 { true } else { false } } != nil)
                #expect(bench.wait { isRouted($0, 2) } != nil)
                let heard = card.peer.packetsReceived
                #expect(bench.waitUntil { card.peer.packetsReceived > heard + 20 })
                #expect(card.peer.received.suffix(4_800).contains { abs($0) > 4_000 })
                headset.peer.resume()
                bench.engine.route(to: 1)
                #expect(bench.wait { isRouted($0, 1) } != nil)
            }
            bench.engine.setStandIn(nil)
            headset.peer.pause()
            #expect(bench.wait { if case .linkSilent(1, _, nil) = $0 { true } else { false } } != nil)
            headset.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
            close(card.descriptor)
        }
    }
}
