import AudioDSP
import CBTCall
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

extension PCMMemory {
    /// The client's view.
    fileprivate func makeRing() throws -> PCMRing {
        try #require(
            PCMRing(descriptor, bytes: bytes, samplesOffset: Self.samplesOffset, bufferFrames: bufferFrames))
    }
}

/// Number of wake-ups that the client receives.
private func wakeUps(_ memory: PCMMemory) -> Int {
    var count = 0
    var message: UInt64 = 0
    while recv(memory.clientWakeDescriptor, &message, 8, Int32(MSG_DONTWAIT)) == 8 { count += 1 }
    return count
}

private func makeMemory(isCapture: Bool = false, rate: Int = 16_000) throws -> PCMMemory {
    try PCMMemory(rate: rate, layout: SampleLayout(), bufferFrames: rate / 10, isCapture: isCapture)
}

@Suite struct PCMPortTests {
    @Test(
        arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000],
        [SampleLayout(.s16), SampleLayout(.s16, channels: 2), SampleLayout(.f32), SampleLayout(.f32, channels: 2)])
    func `a program's playback and recording are the same in every format, across the end of the ring`(
        rate: Int, layout: SampleLayout
    ) throws {
        // No whole number of blocks, so that they straddle the end.
        let frames = rate / 100 * 7 / 2
        let playback = try PCMMemory(rate: rate, layout: layout, bufferFrames: frames, isCapture: false)
        let capture = try PCMMemory(rate: rate, layout: layout, bufferFrames: frames, isCapture: true)
        var player = PCMPort(id: 1, playback, bus: 16_000)
        var recorder = PCMPort(id: 2, capture, bus: 16_000)
        let source = tone(1_000, rate: rate)
        var heard: [Int16] = []
        var recorded: [Int16] = []
        var block = [Int16](repeating: 0, count: 160)
        for tick in 0..<100 {
            for frame in tick * (rate / 100)..<(tick + 1) * (rate / 100) {
                var sample = source(frame)
                layout.write(&sample, 1, to: playback.samples + frame % frames * layout.frameBytes)
            }
            playback.ring.pointee.application = UInt64((tick + 1) * (rate / 100))
            #expect(player.takeBlock(&block, 160))
            heard += block
            recorder.giveBlock(block, 160)
            for frame in tick * (rate / 100)..<(tick + 1) * (rate / 100) {
                var sample: Int16 = 0
                layout.read(capture.samples + frame % frames * layout.frameBytes, 1, into: &sample)
                recorded.append(sample)
            }
        }
        #expect(playback.ring.pointee.hardware == UInt64(rate))
        #expect(capture.ring.pointee.hardware == UInt64(rate))
        #expect(playback.ring.pointee.missing == 0)
        #expect(toneShare(heard.dropFirst(1_600), hertz: 1_000, rate: 16_000) > 0.999)
        #expect(toneShare(recorded.dropFirst(rate / 10), hertz: 1_000, rate: rate) > 0.999)
        #expect(abs(Int(heard.dropFirst(1_600).max() ?? 0) - 8_000) < 200)
    }

    @Test func `missing audio is silence and counted, and the time advances`() throws {
        let memory = try makeMemory()
        var port = PCMPort(id: 1, memory, bus: 16_000)
        var block = [Int16](repeating: 1, count: 160)
        memory.ring.pointee.application = 200
        for frame in 0..<200 { (memory.samples + frame * 2).storeBytes(of: 5, as: Int16.self) }
        #expect(port.takeBlock(&block, 160))
        #expect(block.allSatisfy { $0 == 5 })
        #expect(port.takeBlock(&block, 160))
        #expect(block.prefix(40).allSatisfy { $0 == 5 } && block.dropFirst(40).allSatisfy { $0 == 0 })
        #expect(!port.takeBlock(&block, 160))
        #expect(memory.ring.pointee.hardware == 480)
        #expect(memory.ring.pointee.missing == 280)
    }

    @Test func `every change of the clock's owner is reported`() throws {
        let memory = try makeMemory()
        var port = PCMPort(id: 1, memory, bus: 16_000)
        #expect(memory.ring.pointee.engagement == 0)
        port.engage()
        port.engage()
        #expect(memory.ring.pointee.engagement == 1)
        #expect(wakeUps(memory) == 1)
        port.disengage()
        port.disengage()
        #expect(memory.ring.pointee.engagement == 2)
        #expect(wakeUps(memory) == 1)
    }

    @Test func `a program that plays is woken once in its period, when it has room for one, and when it runs dry`()
        throws
    {
        // A period of 60 ms, of which the buffer has two.
        let memory = try PCMMemory(
            rate: 16_000, layout: SampleLayout(), bufferFrames: 1_920, periodFrames: 960, isCapture: false)
        var port = PCMPort(id: 1, memory, bus: 16_000)
        var block = [Int16](repeating: 0, count: 160)
        var woken: [Int] = []
        memory.ring.pointee.application = 1_920
        for _ in 0..<15 {
            _ = port.takeBlock(&block, 160)
            woken.append(wakeUps(memory))
        }
        // At first because the clock changes; from the twelfth block on because nothing is left.
        #expect(woken == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1])
        // Less than a period can be written at first, and after the second block more.
        memory.ring.pointee.application = memory.ring.pointee.hardware + 1_200
        woken = []
        for _ in 0..<4 {
            _ = port.takeBlock(&block, 160)
            woken.append(wakeUps(memory))
        }
        #expect(woken == [0, 1, 0, 0])
        #expect(memory.ring.pointee.hardware == 19 * 160)
    }

    @Test func `a program that records is woken for each block, whatever its period`() throws {
        let memory = try PCMMemory(
            rate: 16_000, layout: SampleLayout(), bufferFrames: 1_920, periodFrames: 960, isCapture: true)
        var port = PCMPort(id: 1, memory, bus: 16_000)
        var woken: [Int] = []
        for _ in 0..<3 {
            port.giveBlock([Int16](repeating: 0, count: 160), 160)
            woken.append(wakeUps(memory))
        }
        #expect(woken == [2, 1, 1])
    }

    @Test(arguments: [(nil, 160), (10, 160), (320, 320), (900, 800), (Int.max, 800)] as [(Int?, Int)])
    func `a period is at least 10 ms and at most half of the buffer`(given: Int?, taken: Int) throws {
        let memory = try PCMMemory(
            rate: 16_000, layout: SampleLayout(), bufferFrames: 1_600, periodFrames: given, isCapture: false)
        #expect(memory.periodFrames == taken)
    }

    @Test func `a client that makes its end blocking and does not read delays nothing`() throws {
        let memory = try makeMemory()
        var port = PCMPort(id: 1, memory, bus: 16_000)
        let flags = fcntl(memory.clientWakeDescriptor, F_GETFL)
        #expect(fcntl(memory.clientWakeDescriptor, F_SETFL, flags & ~O_NONBLOCK) == 0)
        var block = [Int16](repeating: 0, count: 160)
        for _ in 0..<10_000 { _ = port.takeBlock(&block, 160) }
        #expect(memory.ring.pointee.hardware == 1_600_000)
        #expect((1..<64).contains(wakeUps(memory)))
        #expect(wakeUps(memory) == 0)
        _ = port.takeBlock(&block, 160)
        #expect(wakeUps(memory) == 1)
    }

    @Test func `a client can neither send to the thread's end nor end the thread by closing its own`() throws {
        let memory = try makeMemory()
        var port = PCMPort(id: 1, memory, bus: 16_000)
        var byte: UInt8 = 0
        #expect(send(memory.clientWakeDescriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == -1 && errno == EPIPE)
        #expect(shutdown(memory.clientWakeDescriptor, Int32(SHUT_RDWR)) == 0)
        var block = [Int16](repeating: 0, count: 160)
        _ = port.takeBlock(&block, 160)
        #expect(memory.ring.pointee.hardware == 160)
    }

    @Test func `the memory keeps its size whatever its client does`() throws {
        let memory = try makeMemory()
        #expect(ftruncate(memory.descriptor, 0) == -1)
        #expect(ftruncate(memory.descriptor, off_t(memory.bytes) * 2) == -1)
    }

    @Test(arguments: [(22_050, 1, 2_205), (16_000, 3, 1_600), (16_000, 1, 319)])
    func `a stream that the thread could not serve is not created`(rate: Int, channels: Int, frames: Int) {
        #expect(throws: AudioEngineError.unsupportedFormat(rate: rate, channels: channels)) {
            try PCMMemory(
                rate: rate, layout: SampleLayout(.s16, channels: channels), bufferFrames: frames, isCapture: false)
        }
    }
}

/// A headset that sends 700 Hz, and streams of the PCM.
private final class PCMBench {
    let bench: EngineBench
    let headset: (peer: PacedPeer, descriptor: Int32)

    init() throws {
        bench = try EngineBench()
        headset = try bench.makeHeadset(
            1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(700, rate: 16_000))
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
    }

    var engine: AudioEngine { bench.engine }

    /// The headset's audio of the next blocks.
    func hear(blocks: Int) -> ArraySlice<Int16> {
        let before = headset.peer.received.count
        #expect(bench.waitUntil { self.headset.peer.received.count >= before + 160 * blocks })
        return headset.peer.received[before...].prefix(160 * blocks)
    }

    func stop() {
        headset.peer.stop()
        engine.stop()
        close(headset.descriptor)
    }
}

extension RealtimeTests {
    @Suite struct PCMs {
        @Test func `all playback is mixed, and all recorders hear the user`() throws {
            let box = try PCMBench()
            defer { box.stop() }
            let memories = try [
                makeMemory(), makeMemory(rate: 48_000), makeMemory(isCapture: true), makeMemory(isCapture: true),
            ]
            let rings = try memories.map { try $0.makeRing() }
            defer { for ring in rings { ring.stop() } }
            rings[0].play(tone(500, rate: 16_000))
            rings[1].play(tone(900, rate: 48_000))
            rings[2].record()
            rings[3].record()
            for (index, memory) in memories.enumerated() { try box.engine.addPCM(UInt32(index + 1), memory) }
            box.engine.setPCMCall(7)
            _ = box.hear(blocks: 30)
            let heard = box.hear(blocks: 100)
            #expect((0.47...0.53).contains(toneShare(heard, hertz: 500, rate: 16_000)))
            #expect((0.47...0.53).contains(toneShare(heard, hertz: 900, rate: 16_000)))
            for ring in rings[2...] {
                #expect(box.bench.waitUntil { ring.recorded.count >= 16_000 })
                #expect(toneShare(ring.recorded.suffix(8_000), hertz: 700, rate: 16_000) > 0.99)
            }
            #expect(box.bench.waitUntil { rings.allSatisfy { $0.latency < 48_000 / 5 } && rings[1].latency > 0 })
        }

        @Test func `the thread clocks a call's streams, with a device and without, and no others`() throws {
            let bench = try EngineBench()
            defer { bench.engine.stop() }
            let (playback, capture) = (try makeMemory(), try makeMemory(isCapture: true))
            let rings = [try playback.makeRing(), try capture.makeRing()]
            try bench.engine.addPCM(1, playback)
            try bench.engine.addPCM(2, capture)
            bench.engine.setPCMCall(3)
            #expect(bench.waitUntil { rings.allSatisfy { $0.isEngaged && $0.hardware >= 1_600 } })
            bench.engine.setPCMCall(nil)
            #expect(bench.waitUntil { rings.allSatisfy { $0.engagement == 2 } })
            let stopped = rings.map(\.hardware)
            let wakeUps = bench.engine.counters().wakeUps
            bench.engine.setPCMCall(4)
            #expect(bench.waitUntil { rings[0].hardware >= stopped[0] + 800 && rings[1].hardware >= stopped[1] + 800 })
            #expect(bench.engine.counters().wakeUps > wakeUps)
            bench.engine.removePCM(1)
            #expect(bench.waitUntil { rings[0].engagement == 4 })
            let left = rings[0].hardware
            let before = rings[1].hardware
            #expect(bench.waitUntil { rings[1].hardware >= before + 1_600 })
            #expect(rings[0].hardware == left && rings[1].isEngaged)
        }

        @Test func `the streams of a call follow the call's directions`() throws {
            let box = try PCMBench()
            defer { box.stop() }
            let memories = try [makeMemory(), makeMemory(isCapture: true)]
            let rings = try memories.map { try $0.makeRing() }
            defer { for ring in rings { ring.stop() } }
            rings[0].play(tone(500, rate: 16_000))
            rings[1].record()
            for (index, memory) in memories.enumerated() { try box.engine.addPCM(UInt32(index + 1), memory) }
            box.engine.setPCMCall(7)
            box.engine.setCallGates(7, hears: false, speaks: true)
            #expect(box.bench.wait { $0 == .microphoneLive(true) } != nil)
            _ = box.hear(blocks: 30)
            #expect(box.hear(blocks: 50).allSatisfy { $0 == 0 })
            #expect(box.bench.waitUntil { rings[1].recorded.count >= 8_000 })
            #expect(toneShare(rings[1].recorded.suffix(1_600), hertz: 700, rate: 16_000) > 0.99)
            box.engine.setCallGates(7, hears: true, speaks: false)
            #expect(box.bench.wait { $0 == .microphoneLive(false) } != nil)
            _ = box.hear(blocks: 30)
            #expect(toneShare(box.hear(blocks: 50), hertz: 500, rate: 16_000) > 0.99)
            #expect(rings[1].recorded.suffix(1_600).allSatisfy { $0 == 0 })
            // The next call has both directions.
            box.engine.setPCMCall(8)
            #expect(box.bench.wait { $0 == .microphoneLive(true) } != nil)
        }

        @Test func `shared memory is released when its stream ends, and when the engine does`() throws {
            let bench = try EngineBench()
            weak var first: PCMMemory?
            weak var second: PCMMemory?
            weak var third: PCMMemory?
            do {
                let memories = try [makeMemory(), makeMemory(), makeMemory()]
                (first, second, third) = (memories[0], memories[1], memories[2])
                try bench.engine.addPCM(1, memories[0])
                try bench.engine.addPCM(2, memories[1])
                try bench.engine.addPlayback(1, .stream(memories[2]), PlaybackManner(), at: .nowhere)
            }
            #expect(first != nil && second != nil && third != nil)
            bench.engine.removePCM(1)
            #expect(bench.waitUntil { first == nil })
            bench.engine.endPlayback(1)
            #expect(bench.waitUntil { third == nil })
            bench.engine.stop()
            #expect(second == nil)
        }

        @Test func `a paging stream is heard with the calls, and clocks itself where it is not heard`() throws {
            let box = try PCMBench()
            defer { box.stop() }
            let memory = try makeMemory()
            let ring = try memory.makeRing()
            defer { ring.stop() }
            ring.play(tone(500, rate: 16_000))
            try box.engine.addPlayback(1, .stream(memory), PlaybackManner(), at: .routed)
            _ = box.hear(blocks: 20)
            #expect(toneShare(box.hear(blocks: 50), hertz: 500, rate: 16_000) > 0.99)
            #expect(ring.isEngaged)
            box.engine.movePlayback(1, to: .nowhere)
            #expect(box.bench.waitUntil { ring.engagement == 2 })
            let before = ring.hardware
            _ = box.hear(blocks: 20)
            #expect(ring.hardware == before)
        }

        @Test func `nothing that a client writes into its ring disturbs the thread or others`() throws {
            let box = try PCMBench()
            defer { box.stop() }
            let memories = try [makeMemory(), makeMemory(isCapture: true), makeMemory(rate: 44_100), makeMemory()]
            let rings = try memories.map { try $0.makeRing() }
            defer { for ring in rings { ring.stop() } }
            for (index, ring) in rings.prefix(3).enumerated() { ring.scribble(seed: UInt64(index)) }
            rings[3].play(tone(500, rate: 16_000))
            for (index, memory) in memories.enumerated() { try box.engine.addPCM(UInt32(index + 1), memory) }
            box.engine.setPCMCall(7)
            _ = box.hear(blocks: 200)
            for id in UInt32(1)...3 { box.engine.removePCM(id) }
            _ = box.hear(blocks: 30)
            #expect(toneShare(box.hear(blocks: 50), hertz: 500, rate: 16_000) > 0.99)
        }

        @Test func `a number in use is refused, and so is a stream too many`() throws {
            let bench = try EngineBench()
            defer { bench.engine.stop() }
            let memory = try makeMemory()
            for id in UInt32(1)...32 { try bench.engine.addPCM(id, memory) }
            #expect(throws: AudioEngineError.duplicate(3)) { try bench.engine.addPCM(3, memory) }
            #expect(throws: AudioEngineError.tooMany(limit: 32)) { try bench.engine.addPCM(33, memory) }
        }
    }
}
