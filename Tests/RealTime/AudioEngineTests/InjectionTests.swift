import AudioDSP
import CBTCall
import Foundation
import Synchronization
import Testing

@testable import AudioEngine

/// A program that adds audio to the microphone.
private final class Application: Sendable {
    let descriptor: Int32
    private let rate: Int
    private let isFloat: Bool
    private let channels: Int
    private let isStream: Bool

    init(
        _ engine: AudioEngine, id: UInt32 = 1, rate: Int = 16_000, isFloat: Bool = false, channels: Int = 1,
        isStream: Bool = false
    ) throws {
        self.rate = rate
        self.isFloat = isFloat
        self.channels = channels
        self.isStream = isStream
        var ends: [Int32] = [-1, -1]
        let type = isStream ? SOCK_STREAM : SOCK_SEQPACKET
        _ = socketpair(AF_UNIX, Int32(type.rawValue), 0, &ends)
        descriptor = ends[1]
        try engine.attachInjection(
            id, descriptor: ends[0], rate: rate, layout: SampleLayout(isFloat ? .f32 : .s16, channels: channels),
            isStream: isStream)
    }

    /// A source's audio for this long, in blocks of 10 ms, or of a stream in parts of any size. Made before the first write,
    /// which may take seconds on an emulated processor: late audio is silence.
    func words(milliseconds: Int, _ source: (Int) -> Int16) -> [[UInt8]] {
        let frames = rate / 100
        var bytes: [UInt8] = []
        var blocks: [[UInt8]] = []
        for block in 0..<milliseconds / 10 {
            for frame in 0..<frames {
                let sample = source(block * frames + frame)
                for _ in 0..<channels {
                    if isFloat {
                        withUnsafeBytes(of: Float(sample) / 32_768) { bytes += $0 }
                    } else {
                        withUnsafeBytes(of: sample) { bytes += $0 }
                    }
                }
            }
            if isStream { continue }
            blocks.append(bytes)
            bytes = []
        }
        // A stream may be cut anywhere.
        while !bytes.isEmpty {
            blocks.append(Array(bytes.prefix(1_001)))
            bytes.removeFirst(min(1_001, bytes.count))
        }
        return blocks
    }

    /// Writes them; waits while there is no room.
    func say(_ words: [[UInt8]]) {
        for block in words { write(block) }
    }

    func say(milliseconds: Int, _ source: (Int) -> Int16) { say(words(milliseconds: milliseconds, source)) }

    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if sent <= 0 { return }
            rest = rest.dropFirst(sent)
        }
    }

    /// Ends the audio.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The engine has closed its end, which it does when its events are taken.
    func isReleased() -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    deinit { close(descriptor) }
}

/// A headset with a microphone, and a call on it.
private final class InjectionBench {
    let bench: EngineBench
    let provider: Provider
    private let headset: (peer: PacedPeer, descriptor: Int32)

    init(microphone: @escaping @Sendable (Int) -> Int16 = { _ in 0 }) throws {
        bench = try EngineBench()
        headset = try bench.makeHeadset(
            1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: microphone)
        bench.engine.route(to: 1)
        #expect(bench.wait { isRouted($0, 1) } != nil)
        provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
        #expect(bench.waitUntil { self.provider.blocks >= 20 })
    }

    /// The far end's audio of the next blocks.
    func hear(blocks: Int) -> ArraySlice<Int16> {
        let before = provider.received.count
        #expect(bench.waitUntil { self.provider.received.count >= before + 160 * blocks })
        return provider.received[before...]
    }

    func counted(_ id: UInt32 = 1) -> EngineCounters.Injection? {
        bench.engine.counters().injections.first { $0.id == id }
    }

    func stop() {
        headset.peer.stop()
        provider.stop()
        bench.engine.stop()
        close(headset.descriptor)
    }
}

private struct InjectionFormat: Sendable {
    let rate: Int
    let isFloat: Bool
    let channels: Int
    let isStream: Bool

    static let all = AudioEngine.rates.flatMap { rate in
        [false, true].flatMap { isFloat in
            [1, 2].flatMap { channels in
                [false, true].map { InjectionFormat(rate: rate, isFloat: isFloat, channels: channels, isStream: $0) }
            }
        }
    }
}

extension RealtimeTests {
    @Suite struct Injections {
        @Test(arguments: InjectionFormat.all)
        fileprivate
            func `S1.17 A sine injected at -12 dBFS is heard at -12 dBFS by the far end, from every format`(
                format: InjectionFormat
            ) throws
        {
            let bench = try InjectionBench()
            let application = try Application(
                bench.bench.engine, rate: format.rate, isFloat: format.isFloat, channels: format.channels,
                isStream: format.isStream)
            let amplitude = 32_768 * pow(10, -12.0 / 20)
            application.say(milliseconds: 400, tone(1_000, rate: format.rate, amplitude: amplitude))
            application.finish()
            #expect(bench.bench.wait { $0 == .injectionEnded(1) } != nil)
            #expect(application.isReleased())
            // The last block is still in flight.
            _ = bench.hear(blocks: 4)
            let heard = bench.provider.received
            let loud = heard.indices.filter { abs(Int(heard[$0])) > 1_000 }
            let first = try #require(loud.first)
            let last = try #require(loud.last)
            // All of it, and nothing twice.
            #expect(abs(last - first - 6_400) < 40, "\(last - first)")
            let middle = heard[(first + 800)..<(last - 800)]
            #expect(lowestToneShare(middle, hertz: 1_000, rate: 16_000) > 0.999)
            let power = middle.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(middle.count)
            let decibels = 10 * log10(2 * power / 32_768 / 32_768)
            #expect(abs(decibels + 12) < 0.2, "\(decibels)")
            bench.stop()
        }

        @Test func `S1.17 It is mixed with the microphone, and so are several`() throws {
            let bench = try InjectionBench(microphone: tone(500, rate: 16_000))
            let first = try Application(bench.bench.engine, id: 1)
            let second = try Application(bench.bench.engine, id: 2, rate: 48_000)
            let words = first.words(milliseconds: 600, tone(1_000, rate: 16_000))
            let more = second.words(milliseconds: 600, tone(2_000, rate: 48_000))
            first.say(words)
            second.say(more)
            let heard = bench.hear(blocks: 40).suffix(3_200)
            for hertz in [500.0, 1_000, 2_000] {
                #expect(toneShare(heard, hertz: hertz, rate: 16_000) > 0.25, "\(hertz)")
            }
            bench.stop()
        }

        @Test func `S1.15 With the microphone muted applications' audio is still heard`() throws {
            let bench = try InjectionBench(microphone: tone(500, rate: 16_000))
            let application = try Application(bench.bench.engine)
            let words = application.words(milliseconds: 3_000, tone(1_000, rate: 16_000))
            _ = startThread { [application] in application.say(words) }
            _ = bench.hear(blocks: 30)
            bench.bench.engine.setMuting(.microphone)
            let muted = bench.hear(blocks: 50).dropFirst(160 * 8)
            #expect(toneShare(muted, hertz: 1_000, rate: 16_000) > 0.999)
            #expect(toneShare(muted, hertz: 500, rate: 16_000) < 1e-4)
            // The microphone does not slip through while one kind of muting replaces the other.
            bench.bench.engine.setMuting(.everything)
            let closing = bench.hear(blocks: 20)
            #expect(toneShare(closing.prefix(160 * 8), hertz: 500, rate: 16_000) < 1e-3)
            #expect(closing.dropFirst(160 * 8).allSatisfy { $0 == 0 })
            bench.bench.engine.setMuting(.microphone)
            let opening = bench.hear(blocks: 20)
            #expect(toneShare(opening, hertz: 1_000, rate: 16_000) > 0.5)
            #expect(toneShare(opening, hertz: 500, rate: 16_000) < 1e-3)
            bench.bench.engine.setMuting(.off)
            let both = bench.hear(blocks: 40).dropFirst(160 * 8)
            #expect(toneShare(both, hertz: 500, rate: 16_000) > 0.4)
            #expect(toneShare(both, hertz: 1_000, rate: 16_000) > 0.4)
            bench.stop()
        }

        @Test func `S1.24 A volume of 0 is digital zero, 1 is unity, and more is louder, for both`() throws {
            let bench = try InjectionBench(microphone: tone(500, rate: 16_000))
            let application = try Application(bench.bench.engine)
            let words = application.words(milliseconds: 6_000, tone(1_000, rate: 16_000))
            _ = startThread { [application] in application.say(words) }
            _ = bench.hear(blocks: 20)
            func level(_ samples: ArraySlice<Int16>, _ hertz: Double) -> Double {
                let energy = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)
                return (2 * energy * toneShare(samples, hertz: hertz, rate: 16_000)).squareRoot()
            }
            var before = -1.0
            for volume in [Float(0), 0.25, 0.5, 0.75, 1] {
                bench.bench.engine.setMicrophoneVolume(volume)
                bench.bench.engine.setApplicationVolume(1)
                let heard = bench.hear(blocks: 30).dropFirst(160 * 10)
                let microphone = level(heard, 500)
                #expect(abs(microphone - 8_000 * Double(volume)) < 200, "\(volume): \(microphone)")
                #expect(microphone > before)
                before = microphone
                #expect(abs(level(heard, 1_000) - 8_000) < 200)
            }
            before = -1
            for volume in [Float(0), 0.25, 0.5, 0.75, 1] {
                bench.bench.engine.setMicrophoneVolume(0)
                bench.bench.engine.setApplicationVolume(volume)
                let heard = bench.hear(blocks: 30).dropFirst(160 * 10)
                if volume == 0 { #expect(heard.allSatisfy { $0 == 0 }) }
                let added = level(heard, 1_000)
                #expect(abs(added - 8_000 * Double(volume)) < 200, "\(volume): \(added)")
                #expect(added > before)
                before = added
            }
            bench.stop()
        }

        @Test func `S1.21 Late audio is replaced by silence and counted, and continues`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine)
            application.say(milliseconds: 100, tone(1_000, rate: 16_000))
            #expect(bench.bench.waitUntil { bench.counted()?.blocksMissing == 1 })
            let pause = bench.hear(blocks: 30).dropFirst(160 * 5)
            #expect(pause.allSatisfy { $0 == 0 })
            // A pause is counted once.
            #expect(bench.counted()?.blocksMissing == 1)
            application.say(milliseconds: 300, tone(1_000, rate: 16_000))
            #expect(bench.bench.waitUntil { bench.counted()?.blocksTaken == 40 })
            bench.stop()
        }

        @Test func `A message of a wrong size is ignored and counted; a shorter one at the end is heard`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine)
            application.write([UInt8](repeating: 0x40, count: 322))
            application.write([UInt8](repeating: 0x40, count: 319))
            #expect(bench.bench.waitUntil { bench.counted()?.blocksBad == 2 })
            application.write([UInt8](repeating: 0x40, count: 100))
            application.finish()
            #expect(bench.bench.wait { $0 == .injectionEnded(1) } != nil)
            #expect(application.isReleased())
            _ = bench.hear(blocks: 4)
            #expect(bench.provider.received.filter { $0 > 10_000 }.count >= 40)
            bench.stop()
        }

        @Test func `An incomplete block is heard as well, and not kept for later`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine, isStream: true)
            application.write([UInt8](repeating: 0x40, count: 320 * 3 + 100))
            #expect(bench.bench.waitUntil { bench.counted()?.blocksTaken == 4 })
            _ = bench.hear(blocks: 20)
            #expect(bench.provider.received.filter { $0 > 10_000 }.count == 160 * 3 + 50)
            bench.stop()
        }

        @Test func `A writer of tiny messages does not delay the thread`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine)
            let isOver = Mutex(false)
            for _ in 0..<2 {
                _ = startThread { [application] in
                    while !isOver.withLock({ $0 }) { application.write([0]) }
                }
            }
            let late = bench.bench.engine.counters().lateWakeUps
            _ = bench.hear(blocks: 50)
            #expect(bench.bench.engine.counters().lateWakeUps - late < 5)
            #expect(bench.counted()?.blocksBad ?? 0 > 100)
            isOver.withLock { $0 = true }
            bench.stop()
        }

        @Test func `While no call is active a ticking device hears nothing of it, nor does the next call`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine)
            bench.bench.engine.setCallActive(7, false)
            let before = bench.bench.engine.counters().ticks
            #expect(bench.bench.waitUntil { bench.bench.engine.counters().ticks > before + 5 })
            let ticks = bench.bench.engine.counters().ticks
            var written = 0
            let block = [UInt8](repeating: 0x40, count: 320)
            while send(application.descriptor, block, 320, Int32(MSG_DONTWAIT)) > 0 { written += 1 }
            #expect(written > 0)
            #expect(bench.bench.waitUntil { bench.bench.engine.counters().ticks > ticks + 20 })
            #expect(bench.counted()?.blocksReceived == 0)
            bench.stop()
        }

        @Test func `Audio that one call has not heard is not heard by the next one`() throws {
            let bench = try InjectionBench()
            let application = try Application(bench.bench.engine)
            let block = [UInt8](repeating: 0x40, count: 320)
            for _ in 0..<100 { application.write(block) }
            #expect(bench.bench.waitUntil { bench.counted()?.blocksTaken ?? 0 >= 1 })
            bench.bench.engine.detachCall(7)
            #expect(bench.bench.waitUntil { bench.counted()?.blocksReceived == 100 })
            let other = try bench.bench.makeCall(8, rate: 16_000, source: { _ in 0 })
            #expect(bench.bench.waitUntil { other.blocks >= 40 })
            #expect(other.received.allSatisfy { $0 == 0 })
            #expect(bench.counted()?.blocksTaken ?? 100 < 100)
            other.stop()
            bench.stop()
        }

        @Test func `Without a call the application waits, and its end is detected`() throws {
            let bench = try EngineBench()
            var application: Application? = try Application(bench.engine)
            let descriptor = try #require(application?.descriptor)
            let block = [UInt8](repeating: 0, count: 320)
            var written = 0
            while send(descriptor, block, block.count, Int32(MSG_DONTWAIT)) > 0 { written += 1 }
            #expect(written > 0 && errno == EAGAIN)
            let wakeUps = bench.engine.counters().wakeUps
            usleep(200_000)
            #expect(bench.engine.counters().wakeUps - wakeUps < 3)
            #expect(bench.engine.counters().injections.first?.blocksReceived == 0)
            application = nil
            #expect(bench.wait { $0 == .injectionEnded(1) } != nil)
            #expect(bench.engine.counters().injections.isEmpty)
            bench.engine.stop()
        }

        @Test func `Eight at once, not nine; the place of an ended one is free again`() throws {
            let bench = try EngineBench()
            var applications: [Application] = []
            for id in 1...8 { applications.append(try Application(bench.engine, id: UInt32(id))) }
            #expect(throws: AudioEngineError.tooMany(limit: 8)) { try Application(bench.engine, id: 9) }
            #expect(throws: AudioEngineError.duplicate(8)) { try Application(bench.engine, id: 8) }
            applications.remove(at: 2)
            #expect(bench.wait { $0 == .injectionEnded(3) } != nil)
            applications.append(try Application(bench.engine, id: 9))
            bench.engine.stop()
        }
    }
}
