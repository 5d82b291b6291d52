import AudioDSP
import Foundation
import Testing

@testable import AudioEngine

@Suite struct QualityReadingTests {
    private func terminal(
        isLink: Bool, rate: Int, isFramed: Bool = false, _ change: (inout EngineCounters.Terminal) -> Void
    ) -> LinkQuality {
        var terminal = EngineCounters.Terminal(id: 1, isLink: isLink)
        terminal.rate = rate
        terminal.isFramed = isFramed
        change(&terminal)
        return terminal.quality
    }

    @Test func `no counts give no loss`() {
        #expect(terminal(isLink: true, rate: 16_000) { _ in } == LinkQuality())
        #expect(terminal(isLink: false, rate: 48_000) { _ in } == LinkQuality())
        // A terminal without a known rate gives no time.
        #expect(terminal(isLink: false, rate: 0) { $0.underrunFrames = 480 } == LinkQuality())
    }

    @Test func `a codec frame of mSBC is a packet and 7.5 ms`() {
        let quality = terminal(isLink: true, rate: 16_000, isFramed: true) {
            $0.packetsReceived = 95
            $0.framesConcealed = 5
        }
        #expect(quality.packetsReceived == 95 && quality.packetsLost == 5)
        #expect(quality.concealed == .microseconds(37_500))
        #expect(quality.lostShare == 0.05)
    }

    @Test func `packets with a bad status are lost, and their samples concealed`() {
        let quality = terminal(isLink: true, rate: 8_000) {
            $0.packetsReceived = 100
            $0.packetsDamaged = 2
            $0.framesConcealed = 120
        }
        #expect(quality.packetsLost == 2)
        #expect(quality.concealed == .milliseconds(15))
    }

    @Test func `audio replaced by the timer is concealed, and lost unless it came later`() {
        let quality = terminal(isLink: true, rate: 8_000) {
            $0.packetsByTimer = 10
            $0.packetsBalanced = 4
            $0.samplesByTimer = 600
            $0.silences = 1
        }
        #expect(quality.packetsLost == 6)
        #expect(quality.concealed == .milliseconds(75))
        #expect(quality.gaps == 1)
    }

    @Test func `of a sound card xruns, drift and dropped audio count`() {
        let quality = terminal(isLink: false, rate: 48_000) {
            $0.playbackXruns = 2
            $0.captureXruns = 1
            $0.underrunFrames = 480
            $0.overrunFrames = 960
            $0.driftPPM = 12.5
        }
        #expect(quality.xruns == 3 && quality.driftPPM == 12.5)
        #expect(quality.dropped == .milliseconds(30))
        #expect(quality.packetsLost == 0 && quality.concealed == .zero)
    }
}

extension RealtimeTests {
    @Suite struct Jitter {
        @Test func `the deviations of the packet intervals are added up`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: tone(1_000, rate: 16_000))
            #expect(bench.waitUntil { (bench.terminal(1)?.packetsReceived ?? 0) >= 20 })
            let before = try #require(bench.terminal(1)).quality
            // Five are held back and arrive with the sixth: a gap of six periods, then five of none.
            headset.peer.stall(packets: 5)
            // All except the first packet and those that end a silence, once the counters are of the same moment.
            var counted = try #require(bench.terminal(1))
            #expect(
                bench.waitUntil {
                    counted = bench.terminal(1) ?? counted
                    return counted.packetsReceived >= before.packetsReceived + 20
                        && counted.intervals == counted.packetsReceived - 1 - counted.silences
                })
            headset.peer.stop()
            bench.engine.stop()
            close(headset.descriptor)

            let quality = counted.quality.since(before)
            #expect(quality.deviation > .milliseconds(60))
            #expect(quality.jitter > .zero)
        }
    }
}
