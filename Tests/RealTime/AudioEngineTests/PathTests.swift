import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// alsa-lib by name: the engine links it, and the tests do not import it.
private enum Library {
    static func function<T>(_ name: String, _ type: T.Type) -> T? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }

    /// A device at 48 kHz, mono, with 120 ms of buffer; 0 plays, 1 captures.
    static func open(_ device: String, _ direction: Int32) -> OpaquePointer? {
        typealias Open =
            @convention(c) (
                UnsafeMutablePointer<OpaquePointer?>, UnsafePointer<CChar>, Int32, Int32
            ) -> Int32
        typealias SetUp = @convention(c) (OpaquePointer, Int32, Int32, UInt32, UInt32, Int32, UInt32) -> Int32
        guard let open = function("snd_pcm_open", Open.self), let setUp = function("snd_pcm_set_params", SetUp.self)
        else { return nil }
        var pcm: OpaquePointer?
        // SND_PCM_NONBLOCK; S16_LE; RW_INTERLEAVED.
        guard open(&pcm, device, direction, 1) >= 0, let pcm, setUp(pcm, 2, 3, 1, 48_000, 0, 120_000) >= 0
        else { return nil }
        return pcm
    }

    static func close(_ pcm: OpaquePointer) {
        typealias Close = @convention(c) (OpaquePointer) -> Int32
        _ = function("snd_pcm_close", Close.self)?(pcm)
    }
}

extension RealtimeTests {
    @Suite struct Paths {
        @Test func `a device that is no clock is clocked by the timer and cannot occupy the processor`() throws {
            let bench = try EngineBench()
            let playback = try #require(Library.open("null", 0))
            let capture = try #require(Library.open("null", 1))
            try bench.engine.addTerminal(1, .path(ALSAPath(playback: playback, capture: capture)))
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let elapsed = bench.quickest(within: 1_100) {
                let blocks = provider.blocks
                let start = btcall_monotonic_nanoseconds()
                #expect(bench.waitUntil { provider.blocks >= blocks + 100 })
                return (btcall_monotonic_nanoseconds() - start) / 1_000_000
            }
            // The audio captured before detection amounts to a few hundred milliseconds.
            #expect((300...1_100).contains(elapsed))
            #expect(bench.engine.counters().wakeUps < 2_000)
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            provider.stop()
            bench.engine.stop()
            Library.close(playback)
            Library.close(capture)
        }

        @Test func `a path that only plays is clocked by the timer`() throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).raw").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let bench = try EngineBench()
            let playback = try #require(Library.open("file:FILE=\(file),FORMAT=raw", 0))
            try bench.engine.addTerminal(1, .path(ALSAPath(playback: playback)))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 150 })
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            provider.stop()
            bench.engine.stop()
            Library.close(playback)
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            let heard = samples.drop { $0 == 0 }
            #expect(heard.count > 48_000)
            #expect(lowestToneShare(heard.dropFirst(4_800).prefix(40_000), hertz: 1_000, rate: 48_000) > 0.98)
        }

        @Test(arguments: [0, 1])
        func `a path with one direction works without values for the other, and loses nothing`(stream: Int32) throws {
            let bench = try EngineBench()
            let pcm = try #require(Library.open("null", stream))
            var path = ALSAPath()
            if stream == 0 {
                path.playback = pcm
                path.captureRate = 0
                path.captureChannels = 0
                path.capturePeriodFrames = 0
                path.captureBufferFrames = 0
            } else {
                path.capture = pcm
                path.playbackRate = 0
                path.playbackChannels = 0
                path.playbackPeriodFrames = 0
                path.playbackBufferFrames = 0
            }
            try bench.engine.addTerminal(1, .path(path))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 60 })
            #expect(bench.engine.counters().terminals.map(\.overrunFrames) == [0])
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            provider.stop()
            bench.engine.stop()
            Library.close(pcm)
        }

        @Test(arguments: [false, true])
        func `a card that replaces a dead headset begins with audio that it did not play`(closes: Bool) throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).raw").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.setSilentLimit(1, .milliseconds(160))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: countedTones(rate: 16_000))
            let playback = try #require(Library.open("file:FILE=\(file),FORMAT=raw", 0))
            try bench.engine.addTerminal(2, .path(ALSAPath(playback: playback)))
            #expect(bench.waitUntil { provider.blocks >= 80 })
            if closes {
                headset.peer.stop()
                #expect(bench.wait { if case .terminalFailed(1, _) = $0 { true } else { false } } != nil)
                let blocks = provider.blocks
                // The call continues meanwhile, and nothing newer is dropped before the oldest audio.
                #expect(bench.waitUntil { provider.blocks >= blocks + 15 })
            } else {
                headset.peer.pause()
                #expect(bench.wait { if case .linkSilent(1, _, _) = $0 { true } else { false } } != nil)
            }
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 60 })
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            if !closes { headset.peer.stop() }
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
            Library.close(playback)
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            // 50 ms of queue precede the first block; all of it is heard, and the following audio continues it.
            let silent = samples.prefix { abs($0) < 100 }.count
            #expect(silent < 480)
            let steps = heardSteps(samples[...], rate: 48_000)
            #expect(steps.count > 25)
            #expect(jumps(steps) == [], "\(steps.map { "\($0.step):\($0.milliseconds)" })")
        }

        @Test func `a card that is routed after an orderly end does not begin with earlier audio`() throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).raw").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            let playback = try #require(Library.open("file:FILE=\(file),FORMAT=raw", 0))
            try bench.engine.addTerminal(2, .path(ALSAPath(playback: playback)))
            #expect(bench.waitUntil { provider.blocks >= 80 })
            bench.engine.route(to: nil)
            #expect(bench.wait { isRouted($0, nil) } != nil)
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 20 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            #expect(bench.waitUntil { provider.blocks >= blocks + 50 })
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
            Library.close(playback)
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            // The whole queue of 50 ms is silence.
            #expect(samples.prefix { $0 == 0 }.count >= 2_300)
            #expect(samples.contains { abs($0) > 4_000 })
        }
    }
}
