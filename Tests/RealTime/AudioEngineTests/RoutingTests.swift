import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

extension RealtimeTests {
    @Suite struct Cuts {
        @Test func `a call moves from a card to a headset and back without losing a step or leaving a gap`() throws {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: tone(500, rate: 48_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: countedTones(rate: 16_000))
            #expect(bench.waitUntil { provider.blocks >= 100 })

            let headset = try bench.makeHeadset(
                2, .mSBC, .mSBC, packetBytes: 60, source: tone(1_500, rate: 16_000))
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } == .routed(2, gapMicroseconds: 0))
            #expect(bench.waitUntil { provider.blocks >= 250 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } == .routed(1, gapMicroseconds: 0))
            #expect(bench.waitUntil { provider.blocks >= 400 })
            bench.engine.removeTerminal(2)
            #expect(bench.wait { $0 == .terminalRemoved(2) } != nil)

            let counted = bench.call(7)
            let cardHeard = heardSteps(card.peer.received[...], rate: 48_000)
            let headsetHeard = heardSteps(headset.peer.received[...], rate: 16_000)
            headset.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(headset.descriptor)

            #expect(counted?.blocksMissing == 0)
            #expect(counted?.blocksDropped == 0)
            // The headset heard one piece, the card two with a jump where that piece belongs.
            #expect(jumps(headsetHeard) == [])
            #expect(headsetHeard.count > 60)
            let cardJumps = jumps(cardHeard)
            #expect(cardJumps.count <= 1)
            #expect(cardHeard.count > 100)
            // Together they heard every step: the ends of the pieces overlap or meet.
            let first = cardHeard.firstIndex { _ in true } ?? 0
            #expect(first == 0)
            let total = cardHeard.count + headsetHeard.count
            let steps = (counted?.blocksReceived ?? 0) / 2
            #expect(abs(total - steps) <= 12)
        }

        @Test func `a device removed while its successor is pending leaves the call to the successor`() throws {
            let bench = try EngineBench()
            let first = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let ends = packetSocketPair()
            let second = PacedPeer(ends.theirs, .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            try bench.engine.addTerminal(
                2, .link(descriptor: ends.ours, codec: .pcm(rate: 16_000), packetBytesHint: 320))
            bench.engine.route(to: 2)
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            second.start()
            #expect(bench.wait { isRouted($0, 2) } != nil)
            first.peer.stop()
            second.stop()
            bench.engine.stop()
            close(first.descriptor)
            close(ends.ours)
        }

        @Test func `the next device continues with the next block, and the old one has the faded copy`() throws {
            let bench = try EngineBench()
            let first = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            let second = try bench.makeHeadset(
                2, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            // A staircase: the value gives the block.
            let provider = try bench.makeCall(7, rate: 16_000) { Int16(($0 / 160 + 1) * 20) }
            #expect(bench.waitUntil { provider.blocks >= 60 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } == .routed(2, gapMicroseconds: 0))
            #expect(bench.waitUntil { provider.blocks >= 120 })
            let old = first.peer.received
            let new = second.peer.received
            first.peer.stop()
            second.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(first.descriptor)
            close(second.descriptor)

            // Full-height stairs; the faded ones are lower.
            let oldHighest = old.max() ?? 0
            let newSteps = new.filter { $0 > oldHighest }
            let lowestNew = newSteps.min() ?? 0
            // The old one ends in the middle of the fade's first block at the latest; the new one is complete from the
            // third.
            #expect(Int(lowestNew) - Int(oldHighest) <= 3 * 20)
            #expect(oldHighest >= 20 * 50)
            for value in stride(from: Int(oldHighest) / 20 * 20 + 60, to: Int(new.max() ?? 0) - 20, by: 20) {
                #expect(newSteps.count { Int($0) == value } == 160, "step \(value / 20)")
            }
        }

        @Test func `without a device the call stays clocked and hears comfort noise`() throws {
            let bench = try EngineBench()
            let provider = try bench.makeCall(7, rate: 8_000, source: tone(440, rate: 8_000))
            let elapsed = bench.quickest(within: 1_100) {
                let start = btcall_monotonic_nanoseconds()
                let blocks = provider.blocks
                #expect(bench.waitUntil { provider.blocks >= blocks + 105 })
                return (btcall_monotonic_nanoseconds() - start) / 1_000_000
            }
            #expect((950...1_100).contains(elapsed))
            let noise = provider.received.dropFirst(8_00)
            #expect(noise.contains { $0 != 0 })
            #expect(noise.allSatisfy { abs(Int32($0)) < 300 })
            let counted = bench.call(7)
            #expect(counted?.blocksMissing == 0)
            #expect(counted?.blocksDropped == 0)
            // As many as were requested first: more would delay the first device for the whole call.
            #expect((counted?.blocksQueued ?? 99) <= 5)
            provider.stop()
            #expect(bench.wait { $0 == .callClosed(7, code: 0) } != nil)
            #expect(bench.call(7) == nil)
        }

        @Test func `leaving a dead link is reported with the gap since its last packet`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.setSilentLimit(1, .milliseconds(100))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: countedTones(rate: 16_000))
            let card = try bench.makeHeadset(
                2, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 50 })
            let paused = btcall_monotonic_nanoseconds()
            headset.peer.pause()
            #expect(bench.wait { if case .linkSilent(1, _, _) = $0 { true } else { false } } != nil)
            bench.engine.route(to: 2)
            guard case .routed(2, let gap) = bench.wait({ isRouted($0, 2) }) else {
                Issue.record("no cut")
                return
            }
            let elapsed = (btcall_monotonic_nanoseconds() - paused) / 1_000
            // The last packet may have arrived up to two before the pause.
            #expect((90_000...elapsed + 20_000).contains(Int64(gap)))
            #expect(bench.waitUntil { card.peer.packetsReceived > 50 })
            headset.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
            close(card.descriptor)
        }

        @Test func `a device that dies just after the switch does not keep the previous one`() throws {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: { _ in 0 })
            let headset = try bench.makeHeadset(2, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 30 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            bench.engine.removeTerminal(1)
            // Within the 20 ms of the fade.
            shutdown(headset.peer.descriptor, Int32(SHUT_RDWR))
            #expect(bench.wait { if case .terminalFailed(2, _) = $0 { true } else { false } } != nil)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            headset.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(headset.descriptor)
        }

        @Test func `a routed terminal that is removed fades out and leaves the call without a device`() throws {
            let bench = try EngineBench()
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(440, rate: 16_000))
            let milliseconds = try bench.quickest(within: 150) {
                let headset = try bench.makeHeadset(1, .mSBC, .mSBC, packetBytes: 60, source: { _ in 0 })
                bench.engine.route(to: 1)
                #expect(bench.wait { isRouted($0, 1) } != nil)
                var blocks = provider.blocks
                #expect(bench.waitUntil { provider.blocks >= blocks + 30 })
                let start = btcall_monotonic_nanoseconds()
                bench.engine.removeTerminal(1)
                #expect(bench.wait { isRouted($0, nil) } != nil)
                #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
                let elapsed = (btcall_monotonic_nanoseconds() - start) / 1_000_000
                blocks = provider.blocks
                #expect(bench.waitUntil { provider.blocks >= blocks + 30 })
                headset.peer.stop()
                close(headset.descriptor)
                return elapsed
            }
            #expect(milliseconds <= 150)
            provider.stop()
        }
    }
}
