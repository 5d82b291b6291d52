import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

extension RealtimeTests {
    @Suite struct Levels {
        @Test func `Levels are measured on request, separately for each direction`() throws {
            let bench = try EngineBench()
            #expect(bench.engine.levels() == nil)
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(1_000, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 50 })
            // The far end is silent, the microphone is not.
            #expect(bench.waitUntil { (bench.engine.levels()?.said.rms ?? -96) > -40 })
            let levels = try #require(bench.engine.levels())
            #expect(levels.heard == .init(peak: 0, power: 0))
            #expect(levels.said.peak > levels.said.rms && levels.said.peak <= 0)
            bench.engine.setMuting(.everything)
            // By 14 dB a second.
            #expect(bench.waitUntil { (bench.engine.levels()?.said.rms ?? 0) < levels.said.rms - 20 })
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }
    }
}

struct EngineLevelsTests {
    @Test func `Decibels are below full scale, and digital silence is the minimum`() {
        let silence = EngineLevels.Level(peak: 0, power: 0)
        #expect(silence.peak == -96 && silence.rms == -96)
        let loudest = EngineLevels.Level(peak: 32_768, power: 1 << 30)
        #expect(loudest.peak == 0 && loudest.rms == 0)
        let half = EngineLevels.Level(peak: 16_384, power: 1 << 29)
        #expect(abs(half.peak + 6.02) < 0.01 && abs(half.rms + 3.01) < 0.01)
    }
}
