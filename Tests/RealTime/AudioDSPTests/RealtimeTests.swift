import AudioDSP
import Testing

/// Everything that the real-time thread uses, called where the compiler allows neither allocation nor locks: the test is
/// that this file compiles.
private struct Processing: ~Copyable {
    var receiver = LinkReceiver(.mSBC)
    var transmitter = LinkTransmitter(.mSBC)
    var ring = SampleRing(capacity: 4_800)
    var concealment = PacketLossConcealment(rate: 16_000)
    var synchronizer = H2Synchronizer()
    var codec = MSBCCodec()
    var up = Resampler(from: 16_000, to: 48_000)
    var adaptive = AdaptiveResampler(from: 48_000, to: 16_000)
    var drift = DriftController(target: 800, rate: 16_000)
    var gain = Gain(rate: 16_000)
    var fade = CrossFade(rate: 16_000)
    var noise = ComfortNoise(rate: 16_000)
    var toBus = ToBus(from: 16_000, bus: BusRates(16_000, others: [32_000, 48_000]))
    var fromBus = FromBus(to: 16_000, bus: BusRates(16_000, others: [32_000, 48_000]))
    var toCard = AdaptiveFromBus(to: 48_000, bus: BusRates(16_000, others: [32_000, 48_000]))
    var history = DownlinkHistory(bus: BusRates(16_000, others: [32_000, 48_000]))
    var tone = ToneGenerator(ToneSpecification([425]), bus: BusRates(16_000, others: [32_000, 48_000]))

    /// As the audio thread does when the rate of the bus changes.
    @_noLocks
    mutating func changeBus(_ narrow: UnsafeMutablePointer<Int16>, _ wide: UnsafeMutablePointer<Int16>) -> Int {
        toBus.prepare(2)
        var made = toBus.process(narrow, 160, wide, 480).made
        made += toBus.convert(narrow, 10, wide, 480) + toBus.convertComing(narrow, 10, wide, 480)
        toBus.change(to: 2)
        made += toBus.process(narrow, 160, wide, 480).made
        fromBus.change(to: 2, after: narrow, 160)
        made += fromBus.process(wide, 480, narrow, 160).made
        toCard.change(to: 2, after: narrow, 160)
        toCard.setDrift(ppm: 0)
        made += toCard.process(wide, 480, narrow, 480)
        history.setBus(2)
        history.pass(wide, 480, unheard: -1)
        tone.setBus(2)
        tone.fill(wide, 480)
        gain.setRate(48_000)
        fade.setLength(960)
        noise.setRate(48_000)
        toBus.set(0)
        fromBus.set(0)
        toCard.set(0)
        toCard.reset()
        history.setBus(0)
        tone.setBus(0)
        return made + toBus.busRate + toBus.comingShift + fromBus.delayFrames + toCard.busRate
    }

    @_noLocks
    mutating func run(
        _ bytes: UnsafeMutablePointer<UInt8>, _ narrow: UnsafeMutablePointer<Int16>, _ wide: UnsafeMutablePointer<Int16>
    ) -> Int {
        noise.fill(narrow, 120)
        noise.add(narrow, 120)
        gain.set(0.5)
        gain.setMuted(false)
        gain.apply(narrow, 120)
        fade.start()
        fade.fadeIn(narrow, 120)
        fade.fadeOut(narrow, 120)
        fade.blend(from: narrow, to: narrow, into: narrow, 120)
        fade.advance(10)
        Mixer.add(narrow, 120, to: narrow)
        Mixer.copy(narrow, 60, to: narrow + 60)
        _ = ring.write(narrow, 120)
        _ = ring.write(silence: 60)
        _ = ring.peek(narrow, 10, offset: 1)
        _ = transmitter.framesNeeded(packetBytes: 60)
        _ = transmitter.makePacket(bytes, 60, from: &ring)
        _ = synchronizer.consume(bytes, 60, isDamaged: false)
        if synchronizer.hasFrame { _ = codec.decode(synchronizer.frame, into: narrow) }
        _ = codec.encode(narrow, into: bytes + 60)
        var frames = receiver.receive(bytes, 60, status: 0, into: narrow, capacity: 480)
        frames += receiver.conceal(bytes: 60, into: narrow, capacity: 480)
        frames += receiver.conceal(frames: 120, into: narrow, capacity: 480)
        concealment.good(narrow, 120)
        concealment.lost(narrow, 120)
        if concealment.foretell() { concealment.learn(narrow, 36) }
        concealment.wave(from: -47, 120, into: narrow)
        codec.follow(&concealment)
        _ = codec.recover(&concealment, into: narrow)
        codec.forget()
        let result = up.process(narrow, 120, wide, 360)
        adaptive.setDrift(ppm: drift.update(level: ring.available))
        let back = adaptive.process(wide, result.made, narrow, 480)
        Mixer.clear(narrow, 120)
        _ = ring.discard(ring.available + ring.free)
        let concealed = receiver.counters.framesConcealed
        _ = drift.excess(level: back.made)
        drift.reset()
        transmitter.reset()
        receiver.reset()
        adaptive.reset()
        up.reset()
        synchronizer.reset()
        concealment.reset()
        return frames + concealed + result.made + back.made + up.delayFrames + adaptive.delayFrames
    }
}

struct RealtimeTests {
    @Test func `all processing runs where neither allocation nor locks are allowed`() {
        var processing = Processing()
        var bytes = [UInt8](repeating: 0, count: 120)
        var narrow = [Int16](repeating: 0, count: 480)
        var wide = [Int16](repeating: 0, count: 480)
        for _ in 0..<10 {
            let changed = processing.changeBus(&narrow, &wide)
            #expect(changed > 16_000 + 480)
            let sum = processing.run(&bytes, &narrow, &wide)
            #expect(sum > 360 + 360)
        }
    }
}
