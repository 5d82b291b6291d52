import AudioDSP
import CBTCall
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

/// A CVSD headset that counts, and a call at 8 kHz that counts.
private final class CopyingBench {
    let bench: EngineBench
    let headset: (peer: PacedPeer, descriptor: Int32)
    let provider: Provider

    init(packetBytes: Int = 120) throws {
        bench = try EngineBench()
        headset = try bench.makeHeadset(1, .cvsd, .cvsd, packetBytes: packetBytes, source: counter)
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
        provider = try bench.makeCall(7, rate: 8_000, source: counter)
        #expect(bench.wait { $0 == .callStarted(7) } != nil)
        // The beginning is faded in.
        _ = hear(0.3)
    }

    var engine: AudioEngine { bench.engine }

    /// What the headset and the application get in the next part of a second.
    func hear(_ seconds: Double) -> (headset: ArraySlice<Int16>, application: ArraySlice<Int16>) {
        let frames = Int(8_000 * seconds)
        let (down, up) = (headset.peer.received.count, provider.received.count)
        #expect(
            bench.waitUntil {
                self.headset.peer.received.count >= down + frames && self.provider.received.count >= up + frames
            })
        return (headset.peer.received[down...].prefix(frames), provider.received[up...].prefix(frames))
    }

    /// Whether each gets the other's samples unchanged.
    func expectCopies() {
        let heard = hear(0.5)
        #expect(interruptions(heard.headset) == [])
        #expect(interruptions(heard.application) == [])
    }

    func stop() {
        headset.peer.stop()
        provider.stop()
        engine.stop()
        close(headset.descriptor)
    }
}

extension RealtimeTests {
    @Suite struct Copying {
        @Test(arguments: [48, 60, 120, 132])
        func `a link and a call of 8 kHz get each other's samples`(packetBytes: Int) throws {
            let box = try CopyingBench(packetBytes: packetBytes)
            defer { box.stop() }
            box.expectCopies()
            let counted = box.bench.terminal(1)
            #expect(counted?.underrunFrames == 0 && counted?.overrunFrames == 0 && counted?.packetsByTimer == 0)
        }

        @Test func `while a tone sounds the headset hears both, and afterwards the same samples again`() throws {
            let box = try CopyingBench()
            defer { box.stop() }
            try box.engine.addPlayback(
                1, .tone(ToneSpecification([1_000], peak: 0.25)), PlaybackManner(), at: .routed)
            _ = box.hear(0.1)
            let heard = box.hear(0.2)
            // Without the count, which moves by 160 in 20 ms.
            let tone = zip(heard.headset, heard.headset.dropFirst(4)).map { Int16(clamping: Int($1) - Int($0)) }
            #expect(toneShare(tone[...], hertz: 1_000, rate: 8_000) > 0.95)
            #expect(interruptions(heard.application) == [])
            box.engine.endPlayback(1)
            #expect(box.bench.wait { $0 == .playbackEnded(1) } != nil)
            _ = box.hear(0.1)
            box.expectCopies()
        }

        @Test func `a call at 16 kHz beside it is heard with it and gets the headset's samples, doubled`() throws {
            let box = try CopyingBench()
            defer { box.stop() }
            let other = try box.bench.makeCall(8, rate: 16_000, source: tone(3_000, rate: 16_000))
            #expect(box.bench.wait { $0 == .callStarted(8) } != nil)
            _ = box.hear(0.2)
            let before = other.received.count
            let heard = box.hear(0.2)
            #expect(!interruptions(heard.headset).isEmpty)
            #expect(interruptions(heard.application) == [])
            #expect(box.bench.waitUntil { other.received.count >= before + 1_600 })
            let doubled = other.received.dropFirst(before).prefix(1_600)
            #expect(interruptions(stride(from: before, to: before + 1_600, by: 2).map { doubled[$0] }) == [])
            other.stop()
            #expect(box.bench.wait { $0 == .callClosed(8, code: 0) } != nil)
            _ = box.hear(0.1)
            box.expectCopies()
        }

        @Test func `what a program adds to the microphone is heard, and then the same samples again`() throws {
            let box = try CopyingBench()
            defer { box.stop() }
            let ends = packetSocketPair()
            try box.engine.attachInjection(
                1, descriptor: ends.ours, rate: 16_000, layout: SampleLayout(), isStream: false)
            let said = (0..<160).map { tone(1_000, rate: 16_000)($0) }
            for _ in 0..<30 { _ = send(ends.theirs, said, 320, Int32(MSG_NOSIGNAL)) }
            let heard = box.hear(0.5)
            #expect(interruptions(heard.headset) == [])
            #expect(!interruptions(heard.application).isEmpty)
            close(ends.theirs)
            #expect(box.bench.wait { $0 == .injectionEnded(1) } != nil)
            _ = box.hear(0.1)
            box.expectCopies()
        }

        @Test func `a program on the PCM gets and gives the headset's samples, too`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .cvsd, .cvsd, packetBytes: 120, source: counter)
            defer {
                headset.peer.stop()
                bench.engine.stop()
                close(headset.descriptor)
            }
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let memories = try [false, true].map {
                try PCMMemory(rate: 8_000, layout: SampleLayout(), bufferFrames: 800, isCapture: $0)
            }
            let rings = try memories.map { memory in
                try #require(
                    PCMRing(
                        memory.descriptor, bytes: memory.bytes, samplesOffset: PCMMemory.samplesOffset,
                        bufferFrames: memory.bufferFrames))
            }
            defer { for ring in rings { ring.stop() } }
            rings[0].play(counter)
            rings[1].record()
            for (index, memory) in memories.enumerated() { try bench.engine.addPCM(UInt32(index + 1), memory) }
            bench.engine.setPCMCall(7)
            #expect(bench.waitUntil { rings[1].recorded.count >= 8_000 && headset.peer.received.count >= 12_000 })
            #expect(interruptions(rings[1].recorded.suffix(4_000)) == [])
            #expect(interruptions(headset.peer.received.suffix(4_000)) == [])
        }
    }
}
