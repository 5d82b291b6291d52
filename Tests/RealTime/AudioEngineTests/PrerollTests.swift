import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

@Suite struct PrerollTests {
    private static let block = 160

    /// Passes one block whose samples all have this value; nil: nothing replaces it.
    private func pass(_ preroll: inout Preroll, _ value: Int16, from id: UInt32?, isOpen: Bool) -> [Int16]? {
        var samples = [Int16](repeating: value, count: Self.block)
        return preroll.pass(&samples, from: id, isOpen: isOpen) ? samples : nil
    }

    private func begin(_ preroll: inout Preroll, _ id: UInt32, blocks: Range<Int>) {
        let samples = blocks.flatMap { [Int16](repeating: Int16($0), count: Self.block) }
        preroll.begin(id, samples, samples.count)
    }

    private func blocks(_ value: Int16) -> [Int16] { [Int16](repeating: value, count: Self.block) }

    @Test func `nothing is replaced without such a link`() {
        var preroll = Preroll(bus: 16_000)
        #expect(pass(&preroll, 1, from: 2, isOpen: true) == nil)
        #expect(pass(&preroll, 1, from: nil, isOpen: false) == nil)
    }

    @Test func `what came before the cut comes first, and what is left comes after the close`() {
        var preroll = Preroll(bus: 16_000)
        begin(&preroll, 2, blocks: 1..<4)
        #expect(pass(&preroll, 4, from: 2, isOpen: true) == blocks(1))
        #expect(pass(&preroll, 5, from: 2, isOpen: true) == blocks(2))
        // The link is closed, and another device follows.
        #expect(pass(&preroll, 90, from: nil, isOpen: true) == blocks(3))
        #expect(pass(&preroll, 91, from: 3, isOpen: true) == blocks(4))
        #expect(pass(&preroll, 92, from: 3, isOpen: true) == blocks(5))
        #expect(pass(&preroll, 93, from: 3, isOpen: true) == nil)
        #expect(pass(&preroll, 94, from: 2, isOpen: true) == nil)
    }

    @Test func `while nobody is heard the latest 300 ms wait`() {
        var preroll = Preroll(bus: 16_000)
        begin(&preroll, 2, blocks: 1..<3)
        for value in 3...40 { #expect(pass(&preroll, Int16(value), from: 2, isOpen: false) == blocks(0)) }
        #expect(pass(&preroll, 41, from: 2, isOpen: true) == blocks(11))
    }

    @Test func `what is left when the far end hears nobody any more is dropped`() {
        var preroll = Preroll(bus: 16_000)
        begin(&preroll, 2, blocks: 1..<9)
        #expect(pass(&preroll, 9, from: 2, isOpen: true) == blocks(1))
        #expect(pass(&preroll, 90, from: 3, isOpen: false) == nil)
        #expect(pass(&preroll, 91, from: 3, isOpen: true) == nil)
    }

    @Test func `nothing of the time before a muting is left after it`() {
        var preroll = Preroll(bus: 16_000)
        begin(&preroll, 2, blocks: 1..<9)
        let waitsBefore = preroll.isWaiting
        preroll.end()
        let waitsAfter = preroll.isWaiting
        #expect(waitsBefore && !waitsAfter)
        #expect(pass(&preroll, 9, from: 2, isOpen: true) == nil)
    }

    @Test func `more than 300 ms before the cut is shortened at its beginning`() {
        var preroll = Preroll(bus: 16_000)
        begin(&preroll, 2, blocks: 1..<41)
        #expect(pass(&preroll, 41, from: 2, isOpen: true) == blocks(11))
    }

    @Test func `300 ms and blocks of 10 ms follow the rate of the bus`() {
        var preroll = Preroll(bus: BusRates(16_000, others: [48_000]))
        let before = preroll.keptFrames
        preroll.setRate(48_000)
        let after = preroll.keptFrames
        #expect(before == 4_960 && after == 14_880)
        let samples = (0..<30).flatMap { [Int16](repeating: Int16($0), count: 480) }
        preroll.begin(2, samples, samples.count)
        for value in 30..<60 {
            var block = [Int16](repeating: Int16(value), count: 480)
            let isReplaced = preroll.pass(&block, from: 2, isOpen: true)
            #expect(isReplaced && block == [Int16](repeating: Int16(value - 30), count: 480))
        }
        let isWaiting = preroll.isWaiting
        #expect(isWaiting)
    }
}

extension RealtimeTests {
    @Suite struct LinksThatSpeakAtOnce {
        @Test func `every step of a word is heard, though its link is routed late and closed at once`() throws {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(3_500, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            bench.engine.setCallGates(7, hears: true, speaks: false)
            #expect(bench.waitUntil { provider.blocks >= 50 })
            let before = provider.received.count

            let headset = try bench.makeHeadset(
                2, .cvsd, .cvsd, packetBytes: 60, speaksAtOnce: true, source: countedTones(rate: 8_000))
            // 90 ms of the word have passed.
            #expect(bench.waitUntil { headset.peer.packetsSent >= 24 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } == .routed(2, gapMicroseconds: 0))
            bench.engine.setCallGates(7, hears: true, speaks: true)
            #expect(bench.waitUntil { headset.peer.packetsSent >= 270 })
            headset.peer.stop()
            #expect(bench.wait { if case .terminalFailed(2, _) = $0 { true } else { false } } != nil)
            let closedAt = provider.blocks
            bench.engine.route(to: 1)
            #expect(bench.waitUntil { provider.blocks >= closedAt + 20 })
            bench.engine.setCallGates(7, hears: true, speaks: false)

            let heard = Array(provider.received[before...])
            let sent = headset.peer.packetsSent
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(headset.descriptor)

            let steps = heardSteps(heard[...], rate: 16_000)
            #expect(steps.first?.step == 0)
            #expect(jumps(steps) == [])
            // 30 frames of 8 kHz in a packet, 20 ms in a step.
            #expect(abs(steps.count - sent * 30 / 160) <= 1)
        }

        @Test
        func `the bus changes its rate before a word is routed, not while it is heard late, and loses none of it`()
            throws
        {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 48_000), .pcm16(rate: 48_000), packetBytes: 960, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 50 })
            let headset = try bench.makeHeadset(
                2, .cvsd, .cvsd, packetBytes: 60, speaksAtOnce: true, source: countedTones(rate: 8_000))
            #expect(bench.waitUntil { headset.peer.packetsSent >= 80 })
            let second = try bench.makeCall(8, rate: 48_000, source: { _ in 0 })
            #expect(bench.waitUntil { bench.engine.counters().busRate == 48_000 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            let before = headset.peer.packetsSent
            // The link alone would make it 16 kHz.
            #expect(bench.waitUntil { headset.peer.packetsSent >= before + 200 })
            #expect(bench.engine.counters().busRate == 48_000)
            headset.peer.stop()
            #expect(bench.wait { if case .terminalFailed(2, _) = $0 { true } else { false } } != nil)
            let closedAt = provider.blocks
            bench.engine.route(to: 1)
            #expect(bench.waitUntil { provider.blocks >= closedAt + 40 })
            let sent = headset.peer.packetsSent
            card.peer.stop()
            provider.stop()
            second.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(headset.descriptor)

            let steps = heardSteps(provider.received[...], rate: 16_000)
            #expect(jumps(steps) == [])
            // Fifteen steps of 20 ms were captured before the cut; 30 frames of 8 kHz are in a packet.
            let stepsAfterCut: Int = (sent - before) * 30 / 160
            #expect(steps.count >= stepsAfterCut + 12)
        }

        @Test func `a link that is not known to speak at once is heard from the cut on`() throws {
            let bench = try EngineBench()
            let card = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: { _ in 0 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 50 })
            let headset = try bench.makeHeadset(
                2, .cvsd, .cvsd, packetBytes: 60, source: countedTones(rate: 8_000))
            // 60 ms of the word have passed. The steps are counted up to 160 ms.
            #expect(bench.waitUntil { headset.peer.packetsSent >= 16 })
            bench.engine.route(to: 2)
            #expect(bench.wait { isRouted($0, 2) } != nil)
            #expect(bench.waitUntil { headset.peer.packetsSent >= 80 })
            let steps = heardSteps(provider.received[...], rate: 16_000)
            headset.peer.stop()
            card.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(card.descriptor)
            close(headset.descriptor)
            #expect((steps.first?.step ?? 0) >= 2)
        }
    }
}
