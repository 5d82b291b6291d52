import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// A program that records a call.
private final class Recorder {
    let descriptor: Int32
    private(set) var bytes: [UInt8] = []

    init(
        _ engine: AudioEngine, id: UInt32 = 1, call: UInt32 = 7, _ side: TapSide, rate: Int = 16_000,
        layout: SampleLayout = SampleLayout(), isStream: Bool = false
    ) throws {
        var ends: [Int32] = [-1, -1]
        _ = socketpair(AF_UNIX, Int32((isStream ? SOCK_STREAM : SOCK_SEQPACKET).rawValue), 0, &ends)
        descriptor = ends[1]
        try engine.attachTap(
            id, ofCall: call, side, descriptor: ends[0], rate: rate, layout: layout, isStream: isStream)
    }

    /// Reads the waiting audio.
    func read() {
        var buffer = [UInt8](repeating: 0, count: 10_000)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count <= 0 { return }
            bytes += buffer[..<count]
        }
    }

    /// One channel of 16 bit, or every other sample of two.
    func samples(channel: Int = 0, of channels: Int = 1) -> [Int16] {
        bytes.withUnsafeBytes { raw in
            stride(from: 2 * channel, to: raw.count - 1, by: 2 * channels).map {
                raw.loadUnaligned(fromByteOffset: $0, as: Int16.self)
            }
        }
    }

    func isReleased() -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    deinit { close(descriptor) }
}

/// A headset whose microphone sends 500 Hz, and a call whose far end sends 1500 Hz.
private final class TapBench {
    let bench: EngineBench
    let provider: Provider
    private let headset: (peer: PacedPeer, descriptor: Int32)

    init() throws {
        bench = try EngineBench()
        headset = try bench.makeHeadset(
            1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(500, rate: 16_000))
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
        provider = try bench.makeCall(7, rate: 16_000, source: tone(1_500, rate: 16_000))
        #expect(bench.waitUntil { self.provider.blocks >= 20 })
    }

    func record(_ recorder: Recorder, bytes: Int) {
        #expect(
            bench.waitUntil {
                recorder.read()
                return recorder.bytes.count >= bytes
            })
    }

    func stop() {
        headset.peer.stop()
        provider.stop()
        bench.engine.stop()
        close(headset.descriptor)
    }
}

extension RealtimeTests {
    @Suite struct Taps {
        @Test func `A tap has the audio of each side, separate or mixed`() throws {
            let bench = try TapBench()
            let local = try Recorder(bench.bench.engine, id: 1, .local)
            let remote = try Recorder(bench.bench.engine, id: 2, .remote)
            let both = try Recorder(bench.bench.engine, id: 3, .both)
            let stereo = try Recorder(bench.bench.engine, id: 4, .stereo, layout: SampleLayout(channels: 2))
            for recorder in [local, remote, both] { bench.record(recorder, bytes: 20_000) }
            bench.record(stereo, bytes: 40_000)
            func share(_ samples: [Int16], _ hertz: Double) -> Double {
                toneShare(samples.suffix(4_800), hertz: hertz, rate: 16_000)
            }
            #expect(share(local.samples(), 500) > 0.95)
            #expect(share(remote.samples(), 1_500) > 0.95)
            #expect(share(both.samples(), 500) > 0.4)
            #expect(share(both.samples(), 1_500) > 0.4)
            #expect(share(stereo.samples(channel: 0, of: 2), 500) > 0.95)
            #expect(share(stereo.samples(channel: 1, of: 2), 1_500) > 0.95)
            // The far end's audio is recorded.
            let recorded = local.samples()[3_200..<4_800]
            #expect(
                bench.bench.waitUntil {
                    let heard = bench.provider.received
                    return heard.indices.contains { start in
                        heard[start] == recorded[3_200] && heard[start...].starts(with: recorded)
                    }
                })
            bench.stop()
        }

        @Test func `A recorder that does not read loses blocks, which are counted, but the call does not`() throws {
            let bench = try TapBench()
            let recorder = try Recorder(
                bench.bench.engine, .both, rate: 48_000, layout: SampleLayout(.f32, channels: 2))
            func counted() -> EngineCounters.Tap? { bench.bench.engine.counters().taps.first }
            #expect(bench.bench.waitUntil(seconds: 20) { (counted()?.blocksDropped ?? 0) >= 20 })
            #expect(bench.bench.call(7)?.blocksUnsent == 0)
            let sent = counted()?.blocksSent ?? 0
            #expect(sent > 0)
            // It receives the audio that follows when it reads again.
            recorder.read()
            #expect(
                bench.bench.waitUntil {
                    recorder.read()
                    return (counted()?.blocksSent ?? 0) > sent + 10
                })
            bench.stop()
        }

        @Test func `A stream loses whole blocks and is never cut within a frame`() throws {
            let bench = try TapBench()
            let recorder = try Recorder(bench.bench.engine, .local, isStream: true)
            #expect(
                bench.bench.waitUntil(seconds: 30) {
                    (bench.bench.engine.counters().taps.first?.blocksDropped ?? 0) >= 10
                })
            recorder.read()
            let before = recorder.bytes.count
            bench.record(recorder, bytes: before + 16_000)
            // Shifted by a byte it would be noise.
            #expect(toneShare(recorder.samples().suffix(4_800), hertz: 500, rate: 16_000) > 0.95)
            bench.stop()
        }

        @Test func `A tap ends with its descriptor, and on request`() throws {
            let bench = try TapBench()
            let asked = try Recorder(bench.bench.engine, id: 1, .local)
            let closed = try Recorder(bench.bench.engine, id: 2, .local)
            bench.bench.engine.detachTap(1)
            #expect(bench.bench.wait { $0 == .tapEnded(1) } != nil)
            #expect(
                bench.bench.waitUntil {
                    asked.read()
                    return asked.isReleased()
                })
            shutdown(closed.descriptor, Int32(SHUT_RDWR))
            #expect(bench.bench.wait { $0 == .tapEnded(2) } != nil)
            #expect(bench.bench.engine.counters().taps.isEmpty)
            bench.stop()
        }

        @Test func `A tap lasts while its call is detached, and hears nothing of another call`() throws {
            let bench = try TapBench()
            let recorder = try Recorder(bench.bench.engine, call: 9, .remote)
            let blocks = bench.provider.blocks
            #expect(bench.bench.waitUntil { bench.provider.blocks >= blocks + 20 })
            recorder.read()
            #expect(recorder.bytes.isEmpty)
            let other = try bench.bench.makeCall(9, rate: 16_000, source: tone(1_000, rate: 16_000))
            bench.record(recorder, bytes: 20_000)
            #expect(toneShare(recorder.samples().suffix(4_800), hertz: 1_000, rate: 16_000) > 0.95)
            other.stop()
            bench.stop()
        }

        @Test func `Impossible requests are refused`() throws {
            let bench = try EngineBench()
            #expect(throws: AudioEngineError.unsupportedFormat(rate: 16_000, channels: 1)) {
                _ = try Recorder(bench.engine, .stereo)
            }
            let held = try (1...8).map { try Recorder(bench.engine, id: $0, .both) }
            #expect(throws: AudioEngineError.tooMany(limit: 8)) { _ = try Recorder(bench.engine, id: 9, .both) }
            #expect(held.allSatisfy { !$0.isReleased() })
            bench.engine.stop()
        }
    }
}
