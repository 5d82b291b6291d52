import AudioDSP
import BTCallTrials
import Testing

/// A receiver with its buffer.
private final class Receiving {
    var receiver: LinkReceiver
    var audio: [Int16] = []
    private var buffer = [Int16](repeating: 0, count: 2_048)
    var isSynchronized: Bool { receiver.isSynchronized }
    var counters: LinkCounters { receiver.counters }

    init(_ format: LinkFormat) { receiver = LinkReceiver(format) }

    @discardableResult
    func receive(_ packet: some Collection<UInt8>, status: Int32 = 0) -> Int {
        let bytes = Array(packet)
        let made = receiver.receive(bytes, bytes.count, status: status, into: &buffer, capacity: buffer.count)
        audio += buffer[0..<made]
        return made
    }

    func conceal(bytes: Int) {
        let made = receiver.conceal(bytes: bytes, into: &buffer, capacity: buffer.count)
        audio += buffer[0..<made]
    }

    /// All of `bytes` in packets of one size.
    func receive(_ bytes: [UInt8], size: Int) {
        for start in stride(from: 0, to: bytes.count, by: size) {
            receive(bytes[start..<min(start + size, bytes.count)])
        }
    }
}

private func linear(_ audio: [Int16]) -> [UInt8] {
    audio.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
}

struct LinkReceiverTests {
    private let coded = H2Stream.encode(Signals.tone(1_000, rate: 16_000, frames: 16_000))

    @Test(arguments: [24, 27, 30, 48, 60, 72, 120, 144])
    func `a tone over mSBC arrives complete with packets of any size`(size: Int) {
        let receiving = Receiving(.mSBC)
        receiving.receive(coded.flatMap { $0 }, size: size)
        let audio = receiving.audio
        let counters = receiving.counters
        #expect(audio.count == coded.count * 120)
        #expect(Signals.purity(audio[240...], hertz: 1_000, rate: 16_000) > 25)
        #expect(counters.frames == coded.count)
        #expect(counters.framesConcealed == 0 && counters.sequenceGaps == 0 && counters.bytesSkipped == 0)
    }

    @Test(arguments: [24, 27, 60, 144])
    func `linear audio arrives bit by bit with packets of any size`(size: Int) {
        for format in [LinkFormat.cvsd, .pcm16(rate: 48_000)] {
            let clean = Signals.voice(rate: 8_000, frames: 4_320)
            let receiving = Receiving(format)
            receiving.receive(linear(clean), size: size)
            let audio = receiving.audio
            #expect(audio == clean)
        }
    }

    @Test func `missing packets are filled in from the sequence numbers`() {
        for missing in 1...3 {
            let receiving = Receiving(.mSBC)
            for (index, packet) in coded.enumerated() where !(50..<50 + missing).contains(index) {
                receiving.receive(packet)
            }
            let counters = receiving.counters
            let frames = receiving.audio.count
            #expect(frames == coded.count * 120)
            #expect(counters.sequenceGaps == 1)
            #expect(counters.framesMissed == missing)
            #expect(counters.framesConcealed == missing)
        }
    }

    @Test func `packets with a bad status are concealed in their place, whatever they hold`() {
        for content in [UInt8(0), 0x55, 0xFF] {
            let receiving = Receiving(.mSBC)
            for (index, packet) in coded.enumerated() {
                let isBad = index % 20 == 10
                let bytes = isBad ? [UInt8](repeating: content, count: 60) : packet
                let made = receiving.receive(bytes, status: isBad ? 1 : 0)
                #expect(made == 120)
            }
            let counters = receiving.counters
            let bad = coded.indices.filter { $0 % 20 == 10 }.count
            #expect(counters.damagedPackets == bad)
            #expect(counters.framesConcealed == bad)
            #expect(counters.frames == coded.count)
            let purity = Signals.purity(receiving.audio[240...], hertz: 1_000, rate: 16_000)
            #expect(purity > 12)
        }
    }

    @Test func `bad packets that codec frames straddle keep the time too`() {
        for size in [24, 48, 72, 144] {
            let bytes = coded.flatMap { $0 }
            let receiving = Receiving(.mSBC)
            for (turn, start) in stride(from: 0, to: bytes.count, by: size).enumerated() {
                let end = min(start + size, bytes.count)
                let isBad = turn % 17 == 8
                receiving.receive(
                    isBad ? [UInt8](repeating: 0, count: end - start) : Array(bytes[start..<end]), status: isBad ? 2 : 0
                )
                let behind = end * 2 - receiving.audio.count
                #expect((0...360).contains(behind), "\(size) bytes, packet \(turn)")
            }
            let frames = receiving.audio.count
            #expect(frames == coded.count * 120)
        }
    }

    @Test func `an all-zero packet of mSBC counts as damaged, silence of CVSD does not`() {
        let wide = Receiving(.mSBC)
        wide.receive([UInt8](repeating: 0, count: 60))
        #expect(wide.counters.damagedPackets == 1)
        let narrow = Receiving(.cvsd)
        narrow.receive([UInt8](repeating: 0, count: 60))
        #expect(narrow.counters.damagedPackets == 0)
        let audio = narrow.audio
        #expect(audio == [Int16](repeating: 0, count: 30))
    }

    @Test func `a codec frame that the decoder rejects is concealed`() {
        let receiving = Receiving(.mSBC)
        for (index, packet) in coded.enumerated() {
            var bytes = packet
            if index == 40 { bytes[6] ^= 0xFF }
            receiving.receive(bytes)
        }
        #expect(receiving.counters.decodeErrors == 1)
        #expect(receiving.counters.framesConcealed == 1)
        let frames = receiving.audio.count
        #expect(frames == coded.count * 120)
    }

    @Test func `before the first codec frame there is silence in time with the packets`() {
        let receiving = Receiving(.mSBC)
        for _ in 0..<40 { receiving.receive([UInt8](repeating: 0, count: 60)) }
        let start = receiving.audio
        #expect(start.count >= 39 * 120 && start.count <= 40 * 120)
        #expect(start.allSatisfy { $0 == 0 })
        #expect(!receiving.isSynchronized)
        #expect(receiving.counters.framesConcealed == 0)
        receiving.receive(coded.flatMap { $0 }, size: 60)
        #expect(receiving.isSynchronized)
        let frames = receiving.audio.count
        #expect(frames == (40 + coded.count) * 120)
    }

    @Test func `after garbage it is in step again and has kept the time`() {
        var random = SeededRandom(9)
        for length in [7, 60, 100, 333, 600] {
            let receiving = Receiving(.mSBC)
            receiving.receive(coded[0..<20].flatMap { $0 }, size: 48)
            let garbage = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Meanwhile as many codec frames were sent as the garbage was long.
            let gone = (length + 30) / 60
            receiving.receive(garbage + coded[(20 + gone)..<60].flatMap { $0 }, size: 48)
            #expect(receiving.counters.resyncs == 1)
            let frames = receiving.audio.count
            #expect(abs(frames - 60 * 120) <= 120, "\(length)")
        }
    }

    @Test func `time filled by the timer is not filled again by the sequence numbers`() {
        for late in [false, true] {
            let receiving = Receiving(.mSBC)
            for packet in coded[0..<30] { receiving.receive(packet) }
            for _ in 0..<7 { receiving.conceal(bytes: 60) }
            let before = receiving.audio.count
            for packet in coded[(late ? 30 : 37)..<60] { receiving.receive(packet) }
            let made = receiving.audio.count - before
            #expect(made == (late ? 30 : 23) * 120)
        }
    }

    @Test func `a lost packet of CVSD is concealed`() {
        let clean = Signals.voice(rate: 8_000, frames: 8_000)
        let receiving = Receiving(.cvsd)
        let bytes = linear(clean)
        for (turn, start) in stride(from: 0, to: bytes.count, by: 48).enumerated() {
            let packet = Array(bytes[start..<min(start + 48, bytes.count)])
            receiving.receive(turn % 25 == 20 ? packet.map { _ in 0xAA } : packet, status: turn % 25 == 20 ? 3 : 0)
        }
        let audio = receiving.audio
        #expect(audio.count == 8_000)
        #expect(Signals.ratio(audio, to: clean) > 15)
        #expect(receiving.counters.framesConcealed > 100)
    }

    @Test func `concealing by bytes carries odd ones over`() {
        let receiving = Receiving(.cvsd)
        for _ in 0..<4 { receiving.conceal(bytes: 27) }
        let frames = receiving.audio.count
        #expect(frames == 54)
    }

    @Test func `too little room drops audio but never writes beyond it`() {
        var receiver = LinkReceiver(.mSBC)
        var output = [Int16](repeating: 77, count: 400)
        let bytes = Array(coded[0..<3].flatMap { $0 }.prefix(144))
        let made = receiver.receive(bytes, bytes.count, status: 0, into: &output, capacity: 150)
        #expect(made == 120)
        #expect(output[150...].allSatisfy { $0 == 77 })
        let concealed = receiver.conceal(frames: 500, into: &output, capacity: 100)
        #expect(concealed == 100)
        #expect(output[150...].allSatisfy { $0 == 77 })
        var narrow = LinkReceiver(.cvsd)
        let few = narrow.receive(bytes, bytes.count, status: 0, into: &output, capacity: 10)
        #expect(few == 10)
        #expect(output[150...].allSatisfy { $0 == 77 })
    }

    @Test func `random packets never trap and keep the time`() {
        var random = SeededRandom(10)
        let bytes = coded.flatMap { $0 }
        for format in [LinkFormat.cvsd, .mSBC] {
            for _ in 0..<30 {
                let receiving = Receiving(format)
                var total = 0
                var offset = 0
                for _ in 0..<100 {
                    let size = Int.random(in: 0...144, using: &random)
                    var packet = Array(bytes[offset..<offset + size])
                    offset = (offset + size) % (bytes.count - 200)
                    if Int.random(in: 0..<4, using: &random) == 0, size > 0 {
                        packet[Int.random(in: 0..<size, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
                    }
                    receiving.receive(packet, status: Int32.random(in: 0...20, using: &random) / 18)
                    total += size
                }
                let expected = format == .mSBC ? total * 2 : total / 2
                let frames = receiving.audio.count
                #expect(abs(frames - expected) <= 480)
            }
        }
    }
}
