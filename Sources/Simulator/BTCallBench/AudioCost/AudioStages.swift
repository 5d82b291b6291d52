import AudioDSP
import AudioEngine
import BluetoothTypes
import Glibc

/// Benchmarks of the audio path's stages, one at a time, on the daemon's own code: no thread, no sockets.
package enum AudioStages {
    /// The stage that others are compared with, because it is libsbc's work: one mSBC codec frame encoded and decoded, for
    /// 10 ms.
    package static let reference = "libsbc, both ways"

    /// - Parameter runs: runs of each stage in each of seven series, of which the shortest counts.
    package static func measure(runs: Int = 1_000) -> [StageCost] {
        let signal = Signal(runs: runs)
        return [
            codec(signal), receiveMSBC(signal, losing: false), receiveMSBC(signal, losing: true),
            receiveCVSD(signal), send(.mSBC, signal, packetBytes: 60), send(.cvsd, signal, packetBytes: 48),
            halve("halve, 16 to 8 kHz", signal, isDoubled: false), double(signal),
            halve("halve what was doubled", signal, isDoubled: true),
            toCard(signal), fromCard(signal), mix(signal), gain(signal), fade(signal), noise(signal), ring(signal),
            catchUp(signal), stream("encode A2DP, stereo", .standard, signal),
            stream("encode A2DP, SBC XQ", .xq, signal),
        ] + pcm(signal) + music(signal) + voices(signal)
    }

    /// Voice processing at the bus's 16 kHz with a playing loudspeaker: this build's preferred processor with every stage,
    /// bypassed, and speexdsp; and listening in a muted call without any.
    private static func voices(_ signal: Signal) -> [StageCost] {
        let choices: [(String, VoiceProcessingKind, VoiceStages, Bool)] = [
            ("voice processing", .preferred, .all, false), ("voice processing, bypassed", .preferred, .all, true),
            ("voice processing, switched off", .preferred, [], false),
            ("voice processing, speexdsp", .speex, .all, false),
            ("listening while muted", .none, [], false),
        ]
        return choices.compactMap { name, kind, stages, isBypassed in
            // Both are built in, or the preferred one differs: only lack of memory can fail here.
            guard var processor = try? VoiceProcessor(kind, rate: 16_000, stages: stages) else { return nil }
            processor.setBypassed(isBypassed)
            var number = 0
            return .measure(name, runs: signal.runs, milliseconds: 10) {
                // The microphone is processed in place; the loudspeaker is ahead of it.
                let place = number % 24 * 160
                Mixer.copy(signal.samples + place, 160, to: signal.output)
                processor.process(signal.output, far: signal.samples + (place + 16))
                number += 1
            }
        }
    }

    /// A program on the ALSA PCM that plays and records in the most expensive format, including system calls.
    private static func pcm(_ signal: Signal) -> [StageCost] {
        let layout = SampleLayout(.f32, channels: 2)
        // Fails only for lack of descriptors or memory.
        guard var exchange = try? PCMExchange(rate: 48_000, layout: layout, busRate: 16_000) else { return [] }
        let cost = StageCost.measure("PCM, played and recorded", runs: signal.runs, milliseconds: 10) {
            exchange.pass(signal.samples, signal.output, 160)
        }
        return [cost]
    }

    /// Programs on the ALSA PCM that play to a headset over A2DP, in stereo at 48 kHz, including system calls: one alone, and
    /// two that are mixed.
    private static func music(_ signal: Signal) -> [StageCost] {
        // All capabilities at that rate, so that the selection cannot fail; the rest fails only for lack of descriptors or
        // memory.
        guard let configuration = try? SBCCapabilities([0x1F, 0xFF, 2, 53]).select(),
            let one = try? StreamExchange(configuration),
            let two = try? StreamExchange(configuration, programs: 2)
        else { return [] }
        return [
            .measure("PCM, played over A2DP", runs: signal.runs, milliseconds: 10) { one.pass() },
            .measure("two programs, mixed over A2DP", runs: signal.runs, milliseconds: 10) { two.pass() },
        ]
    }

    private static func codec(_ signal: Signal) -> StageCost {
        var codec = MSBCCodec()
        return .measure(reference, runs: signal.runs, milliseconds: 7.5) {
            _ = codec.encode(signal.samples, into: signal.bytes)
            _ = codec.decode(signal.bytes, into: signal.output)
        }
    }

    /// A packet of 60 bytes; with `losing`, every tenth one is damaged.
    private static func receiveMSBC(_ signal: Signal, losing: Bool) -> StageCost {
        var transmitter = LinkTransmitter(.mSBC)
        // As many packets as there are sequence numbers, so that they never jump.
        let packets = UnsafeMutablePointer<UInt8>.allocate(capacity: 240)
        defer { packets.deallocate() }
        for number in 0..<4 {
            _ = transmitter.makePacket(packets + number * 60, 60, from: signal.samples + number * 120, 120)
        }
        var receiver = LinkReceiver(.mSBC)
        var number = 0
        return .measure(losing ? "receive mSBC, a tenth lost" : "receive mSBC", runs: signal.runs, milliseconds: 7.5) {
            _ = receiver.receive(
                packets + number % 4 * 60, 60, status: losing && number % 10 == 9 ? 1 : 0, into: signal.output,
                capacity: Signal.frames)
            number += 1
        }
    }

    private static func receiveCVSD(_ signal: Signal) -> StageCost {
        var receiver = LinkReceiver(.cvsd)
        let bytes = UnsafeRawPointer(signal.samples).assumingMemoryBound(to: UInt8.self)
        return .measure("receive CVSD", runs: signal.runs, milliseconds: 3) {
            _ = receiver.receive(bytes, 48, status: 0, into: signal.output, capacity: Signal.frames)
        }
    }

    private static func send(_ format: LinkFormat, _ signal: Signal, packetBytes: Int) -> StageCost {
        var transmitter = LinkTransmitter(format)
        let name = if format == .mSBC { "send mSBC" } else { "send CVSD" }
        let milliseconds = Double(packetBytes) * 1000 / Double(format.bytesPerSecond)
        return .measure(name, runs: signal.runs, milliseconds: milliseconds) {
            let frames = transmitter.framesNeeded(packetBytes: packetBytes)
            _ = transmitter.makePacket(signal.bytes, packetBytes, from: signal.samples, frames)
        }
    }

    /// A block of the bus for a link or call of 8 kHz.
    ///
    /// - Parameter isDoubled: the block holds the other end's samples as its even frames, which are copied, as in a CVSD call
    ///   at 8 kHz; otherwise the half-band filter runs.
    private static func halve(_ name: String, _ signal: Signal, isDoubled: Bool) -> StageCost {
        var resampler = Resampler(from: 16_000, to: 8_000)
        return .measure(name, runs: signal.runs, milliseconds: 10) {
            _ = resampler.process(signal.samples, 160, signal.output, Signal.frames, isDoubled: isDoubled)
        }
    }

    /// A block of the bus from a link or call of 8 kHz.
    private static func double(_ signal: Signal) -> StageCost {
        var resampler = Resampler(from: 8_000, to: 16_000)
        return .measure("double, 8 to 16 kHz", runs: signal.runs, milliseconds: 10) {
            _ = resampler.process(signal.samples, 80, signal.output, Signal.frames)
        }
    }

    private static func toCard(_ signal: Signal) -> StageCost {
        var resampler = AdaptiveResampler(from: 16_000, to: 48_000)
        resampler.setDrift(ppm: 123)
        return .measure("to a card, 16 to 48 kHz", runs: signal.runs, milliseconds: 10) {
            _ = resampler.process(signal.samples, 160, signal.output, Signal.frames)
        }
    }

    private static func fromCard(_ signal: Signal) -> StageCost {
        var resampler = Resampler(from: 48_000, to: 16_000)
        return .measure("from a card, 48 to 16 kHz", runs: signal.runs, milliseconds: 10) {
            _ = resampler.process(signal.samples, 480, signal.output, Signal.frames)
        }
    }

    private static func mix(_ signal: Signal) -> StageCost {
        .measure("mix two calls", runs: signal.runs, milliseconds: 10) {
            Mixer.copy(signal.samples, 160, to: signal.output)
            Mixer.add(signal.samples + 160, 160, to: signal.output)
        }
    }

    private static func gain(_ signal: Signal) -> StageCost {
        var gain = Gain(rate: 16_000, gain: 0.5)
        return .measure("volume", runs: signal.runs, milliseconds: 10) {
            Mixer.copy(signal.samples, 160, to: signal.output)
            gain.apply(signal.output, 160)
        }
    }

    private static func fade(_ signal: Signal) -> StageCost {
        var fade = CrossFade(rate: 16_000)
        return .measure("cross-fade", runs: signal.runs, milliseconds: 10) {
            if !fade.isRunning { fade.start() }
            fade.blend(from: signal.samples, to: signal.samples + 160, into: signal.output, 160)
        }
    }

    private static func noise(_ signal: Signal) -> StageCost {
        var noise = ComfortNoise(rate: 16_000)
        return .measure("comfort noise", runs: signal.runs, milliseconds: 10) { noise.fill(signal.output, 160) }
    }

    /// After a loss, in audio without pauses or periods, so that each block searches for both.
    private static func catchUp(_ signal: Signal) -> StageCost {
        var history = DownlinkHistory(rate: 16_000)
        let blocks = Signal.frames / 160 - 1
        let hiss = signal.output + 160
        var generator = SystemRandomNumberGenerator()
        for sample in 0..<blocks * 160 { hiss[sample] = .random(in: -4_000...4_000, using: &generator) }
        for number in 0..<50 { history.pass(hiss + number % blocks * 160, 160, unheard: -1) }
        _ = history.resume(signal.output, 0)
        var number = 0
        return .measure("catch up after a loss", runs: signal.runs, milliseconds: 10) {
            Mixer.copy(hiss + number % blocks * 160, 160, to: signal.output)
            history.pass(signal.output, 160, unheard: 0)
            number += 1
        }
    }

    /// Stereo at 44.1 kHz, one codec frame at a time.
    private static func stream(_ name: String, _ quality: SBCQuality, _ signal: Signal) -> StageCost {
        let rate = 44_100
        // All capabilities at that rate, so that the selection cannot fail.
        guard let configuration = try? SBCCapabilities([0x2F, 0xFF, 2, 53]).select(quality) else {
            return StageCost(name: name, microseconds: .infinity, allocations: nil)
        }
        var encoder = SBCEncoder(configuration, bitpool: configuration.bitpool(quality))
        let samples = encoder.codecFrameSamples
        var number = 0
        return .measure(name, runs: signal.runs, milliseconds: Double(samples * 1_000) / Double(rate)) {
            // Two adjacent pieces of the voice serve as two channels.
            let place = signal.samples + number % 12 * 2 * samples
            _ = encoder.encode(place, into: signal.bytes, Signal.frames)
            number += 1
        }
    }

    private static func ring(_ signal: Signal) -> StageCost {
        let ring = SampleRing(capacity: 4_800)
        return .measure("queue, in and out", runs: signal.runs, milliseconds: 10) {
            _ = ring.write(signal.samples, 160)
            _ = ring.read(signal.output, 160)
        }
    }
}

/// Input of the stages, with the spectrum of a voice, and room for results.
private final class Signal {
    static let frames = 4_096
    let samples: UnsafeMutablePointer<Int16>
    let output: UnsafeMutablePointer<Int16>
    let bytes: UnsafeMutablePointer<UInt8>
    let runs: Int

    init(runs: Int) {
        self.runs = runs
        samples = .allocate(capacity: Self.frames)
        output = .allocate(capacity: Self.frames)
        output.initialize(repeating: 0, count: Self.frames)
        bytes = .allocate(capacity: Self.frames)
        bytes.initialize(repeating: 0, count: Self.frames)
        for index in 0..<Self.frames {
            let time = Double(index) / 16_000
            let voice = (1...20).reduce(0.0) { $0 + sin(2 * .pi * 130 * Double($1) * time) / Double($1) }
            (samples + index).initialize(to: Int16(4_000 * voice))
        }
    }

    deinit {
        samples.deallocate()
        output.deallocate()
        bytes.deallocate()
    }
}
