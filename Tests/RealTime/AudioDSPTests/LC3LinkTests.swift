import AudioDSP
import BTCallTrials
import Testing

#if LC3
    /// A link of LC3-SWB, with the codec of the package trait `LC3`.
    struct LC3LinkTests {
        private static func packets(_ audio: [Int16], of size: Int) -> [[UInt8]] {
            var transmitter = LinkTransmitter(.lc3SWB)
            var packets: [[UInt8]] = []
            var rest = audio[...]
            while true {
                let wanted = transmitter.framesNeeded(packetBytes: size)
                guard wanted <= rest.count else { return packets }
                var packet = [UInt8](repeating: 0, count: size)
                let missing = transmitter.makePacket(&packet, size, from: Array(rest.prefix(wanted)), wanted)
                precondition(missing == 0, "as many frames as it needs")
                rest = rest.dropFirst(wanted)
                packets.append(packet)
            }
        }

        private static func receive(
            _ packets: [[UInt8]], bad: Set<Int> = []
        ) -> (audio: [Int16], counters: LinkCounters) {
            var receiver = LinkReceiver(.lc3SWB)
            var buffer = [Int16](repeating: 0, count: 8_192)
            var audio: [Int16] = []
            for (index, packet) in packets.enumerated() {
                let made = receiver.receive(
                    packet, packet.count, status: bad.contains(index) ? 1 : 0, into: &buffer, capacity: buffer.count)
                audio += buffer[..<made]
            }
            let made = receiver.finish(into: &buffer, capacity: buffer.count)
            return (audio + buffer[..<made], receiver.counters)
        }

        private static let tone = Signals.tone(1_000, rate: 32_000, frames: 240 * 120)

        @Test(arguments: [24, 27, 30, 48, 60, 72, 120, 144])
        func `a tone arrives complete with packets of any size`(size: Int) {
            let packets = Self.packets(Self.tone, of: size)
            let (audio, counters) = Self.receive(packets)
            let whole = packets.count * size / 60
            #expect(audio.count == whole * 240)
            #expect(Signals.purity(audio[1_000...], hertz: 1_000, rate: 32_000) > 25)
            #expect(counters.frames == whole && counters.framesConcealed == 0 && counters.bytesSkipped == 0)
        }

        @Test func `frequencies beyond the wide band are heard`() {
            let (audio, _) = Self.receive(Self.packets(Signals.tone(12_000, rate: 32_000, frames: 24_000), of: 60))
            #expect(Signals.purity(audio[1_000...], hertz: 12_000, rate: 32_000) > 20)
        }

        @Test func `lost, bad and empty packets are concealed in their place`() {
            let packets = Self.packets(Self.tone, of: 60)
            var damaged = packets
            damaged[70] = [UInt8](repeating: 0, count: 60)
            damaged[90] = [UInt8](repeating: 0x55, count: 60)
            damaged.remove(at: 50)
            let (audio, counters) = Self.receive(damaged, bad: [29, 30])
            #expect(audio.count == packets.count * 240)
            #expect(counters.frames == packets.count && counters.framesConcealed == 5)
            #expect(counters.longestBurst == 2 && counters.sequenceGaps == 2 && counters.resyncs == 1)
            // The last good frames before the loss continue into it.
            let lost = audio[29 * 240..<30 * 240]
            #expect(lost.contains { abs(Int($0)) > 500 })
            #expect(Signals.purity(audio[1_000...], hertz: 1_000, rate: 32_000) > 10)
        }

        @Test(arguments: [24, 30, 48, 60])
        func `silence, which is encoded with many zeros, is no loss`(size: Int) {
            let (audio, counters) = Self.receive(Self.packets([Int16](repeating: 0, count: 240 * 60), of: size))
            #expect(counters.framesConcealed == 0 && counters.framesBefore == 0 && counters.resyncs == 0)
            #expect(audio.allSatisfy { abs(Int($0)) <= 1 })
        }

        @Test func `packets replaced by the timer are concealed in pieces`() {
            let packets = Self.packets(Self.tone, of: 60)
            var receiver = LinkReceiver(.lc3SWB)
            var buffer = [Int16](repeating: 0, count: 4_096)
            // The first codec frame waits for the next header, which confirms it.
            for (index, packet) in packets.prefix(20).enumerated() {
                let made = receiver.receive(packet, 60, status: 0, into: &buffer, capacity: buffer.count)
                #expect(made == [0, 480, 240][min(index, 2)])
            }
            var made = 0
            for _ in 0..<10 {
                let piece = receiver.conceal(bytes: 24, into: &buffer, capacity: buffer.count)
                #expect(piece == 96)
                made += piece
            }
            #expect(made == 960)
            let after = receiver.receive(packets[24], 60, status: 0, into: &buffer, capacity: buffer.count)
            #expect(after == 240)
        }

        @Test func `random packets never trap and keep the time`() {
            var random = SeededRandom(33)
            for _ in 0..<20 {
                let packets = (0..<100).map { _ in
                    (0..<Int.random(in: 0...144, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
                let (audio, _) = Self.receive(packets)
                let bytes = packets.map(\.count).reduce(0, +)
                #expect(abs(audio.count - bytes * 4) <= 480)
            }
        }
    }
#else
    struct LC3LinkTests {
        @Test func `without the trait the codec reports that`() {
            #expect(!LC3Codec.isAvailable)
            #expect(LC3Codec.howToBuild.hasSuffix("`--traits WebRTC,LC3`"))
        }
    }
#endif
