import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

extension RealtimeTests {
    @Suite struct Calls {
        @Test func `mute makes the uplink digital silence within 20 ms and is undone`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(1_000, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 50 })
            // Two blocks for 20 ms, one in flight; more where the provider had not read yet.
            let blocks = bench.quickest(within: 3) {
                bench.engine.setMuting(.everything)
                let muted = provider.received.count
                #expect(bench.waitUntil { provider.received.count >= muted + 160 * 15 })
                let rest = provider.received[muted..<(muted + 160 * 15)]
                bench.engine.setMuting(.off)
                let unmuted = provider.received.count
                #expect(bench.waitUntil { provider.received.count >= unmuted + 160 * 20 })
                let heard = provider.received[(unmuted + 160 * 6)...]
                #expect(lowestToneShare(heard, hertz: 1_000, rate: 16_000) > 0.98)
                return Int64(((rest.lastIndex { $0 != 0 } ?? muted - 1) - muted + 160) / 160)
            }
            #expect(blocks <= 3)
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }

        @Test func `a new call starts with the last requested number of blocks in flight`() throws {
            let bench = try EngineBench()
            let queues: [(UInt32, Int?)] = [(7, 2), (8, 6), (9, nil)]
            for (id, wanted) in queues {
                bench.engine.setCallQueue(wanted)
                // A queue that adapts begins with three.
                let blocks = wanted ?? 3
                let ends = packetSocketPair()
                try bench.engine.attachCall(id, descriptor: ends.ours, rate: 8_000, active: true)
                // A call without answers is clocked no further: the blocks received were sent at its start.
                #expect(bench.waitUntil { bench.call(id)?.blocksSent == blocks }, "\(id)")
                var count = 0
                var block = [Int16](repeating: 0, count: 960)
                while recv(ends.theirs, &block, 1920, Int32(MSG_DONTWAIT)) > 0 { count += 1 }
                #expect(count == blocks, "\(id)")
                bench.engine.detachCall(id)
                close(ends.theirs)
            }
            bench.engine.stop()
        }

        @Test func `active calls are mixed for the headset and all receive the microphone`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(
                1, .mSBC, .mSBC, packetBytes: 60, source: tone(2_000, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let low = try bench.makeCall(7, rate: 8_000, source: tone(500, rate: 8_000))
            let high = try bench.makeCall(8, rate: 48_000, source: tone(1_000, rate: 48_000))
            let held = try bench.makeCall(9, rate: 16_000, active: false, source: tone(3_000, rate: 16_000))
            #expect(bench.waitUntil { low.blocks >= 120 && high.blocks >= 120 })
            let heard = headset.peer.received.suffix(8_000)
            #expect(toneShare(heard, hertz: 500, rate: 16_000) > 0.4)
            #expect(toneShare(heard, hertz: 1_000, rate: 16_000) > 0.4)
            #expect(toneShare(heard, hertz: 3_000, rate: 16_000) < 0.01)
            #expect(lowestToneShare(low.received.suffix(4_000), hertz: 2_000, rate: 8_000) > 0.98)
            #expect(lowestToneShare(high.received.suffix(24_000), hertz: 2_000, rate: 48_000) > 0.98)
            #expect(held.blocks == 0)

            bench.engine.setCallActive(8, false)
            bench.engine.setCallActive(9, true)
            #expect(bench.wait { $0 == .callStarted(9) } != nil)
            #expect(bench.waitUntil { held.blocks >= 100 })
            let later = headset.peer.received.suffix(8_000)
            #expect(toneShare(later, hertz: 1_000, rate: 16_000) < 0.01)
            #expect(toneShare(later, hertz: 3_000, rate: 16_000) > 0.3)
            let counters = bench.engine.counters()
            #expect(counters.calls.allSatisfy { $0.blocksMissing == 0 && $0.blocksDropped == 0 })
            headset.peer.stop()
            for provider in [low, high, held] { provider.stop() }
            bench.engine.stop()
            close(headset.descriptor)
        }

        @Test func `a provider that closes is reported once, a detached call not at all`() throws {
            let bench = try EngineBench()
            let first = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            let second = try bench.makeCall(8, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { first.blocks > 10 && second.blocks > 10 })
            first.stop()
            #expect(bench.wait { $0 == .callClosed(7, code: 0) } != nil)
            bench.engine.detachCall(8)
            // The engine closes its end: the provider's thread ends then.
            #expect(bench.waitUntil { bench.engine.counters().calls.isEmpty })
            second.stop()
            #expect(bench.wait(seconds: 0.1) { if case .callClosed = $0 { true } else { false } } == nil)
            // The number is free again.
            let third = try bench.makeCall(8, rate: 16_000, source: { _ in 0 })
            #expect(bench.wait { $0 == .callStarted(8) } != nil)
            third.stop()
        }

        @Test func `a provider that stops answering is replaced by comfort noise and counted`() throws {
            let bench = try EngineBench()
            let ends = packetSocketPair()
            try bench.engine.attachCall(7, descriptor: ends.ours, rate: 16_000, active: true)
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            // Answers to the five blocks that fill the pipe, then nothing.
            let block = [Int16](repeating: 5_000, count: 160)
            for _ in 0..<5 { _ = send(ends.theirs, block, 320, 0) }
            #expect(bench.wait { $0 == .callStarted(7) } != nil)
            #expect(bench.waitUntil { (bench.call(7)?.blocksMissing ?? 0) >= 10 })
            #expect(bench.waitUntil { headset.peer.received.suffix(1_600).allSatisfy { abs(Int32($0)) < 300 } })
            #expect(headset.peer.received.count { $0 == 5_000 } >= 480)
            headset.peer.stop()
            bench.engine.stop()
            close(ends.theirs)
            close(headset.descriptor)
        }

        @Test func `bad arguments are refused without side effects`() throws {
            let bench = try EngineBench()
            let ends = packetSocketPair()
            #expect(throws: AudioEngineError.unsupportedFormat(rate: 11_025, channels: 1)) {
                try bench.engine.attachCall(1, descriptor: ends.ours, rate: 11_025, active: true)
            }
            var byte: UInt8 = 0
            #expect(recv(ends.theirs, &byte, 1, 0) == 0)
            close(ends.theirs)
            let provider = try bench.makeCall(1, rate: 16_000, source: { _ in 0 })
            let other = packetSocketPair()
            #expect(throws: AudioEngineError.duplicate(1)) {
                try bench.engine.attachCall(1, descriptor: other.ours, rate: 16_000, active: true)
            }
            close(other.theirs)
            bench.engine.route(to: 99)
            bench.engine.removeTerminal(99)
            bench.engine.setCallActive(99, true)
            bench.engine.detachCall(99)
            #expect(throws: AudioEngineError.unsupportedFormat(rate: 22_050, channels: 1)) {
                try bench.engine.addTerminal(
                    1, .link(descriptor: 0, codec: .pcm(rate: 22_050), packetBytesHint: 60))
            }
            provider.stop()
        }

        @Test func `an idle engine does not wake up`() throws {
            let bench = try EngineBench()
            #expect(bench.waitUntil { bench.engine.counters().wakeUps == 0 })
            let provider = try bench.makeCall(1, rate: 16_000, active: false, source: { _ in 0 })
            #expect(bench.waitUntil { bench.engine.counters().wakeUps == 1 })
            #expect(!bench.waitUntil(seconds: 0.3) { bench.engine.counters().wakeUps > 1 })
            provider.stop()
        }
    }
}
