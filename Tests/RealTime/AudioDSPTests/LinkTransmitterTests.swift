import AudioDSP
import Testing

struct LinkTransmitterTests {
    @Test(arguments: [24, 27, 30, 48, 60, 72, 120, 144])
    func `sent audio is received complete with packets of any size`(size: Int) {
        var transmitter = LinkTransmitter(.mSBC)
        var receiver = LinkReceiver(.mSBC)
        let tone = Signals.tone(1_000, rate: 16_000, frames: 16_000)
        var used = 0
        var audio: [Int16] = []
        var packet = [UInt8](repeating: 0xEE, count: size + 1)
        var buffer = [Int16](repeating: 0, count: 1_024)
        while true {
            let wanted = transmitter.framesNeeded(packetBytes: size)
            if used + wanted > tone.count { break }
            let missing = transmitter.makePacket(&packet, size, from: Array(tone[used..<used + wanted]), wanted)
            used += wanted
            #expect(missing == 0)
            #expect(packet[size] == 0xEE)
            let made = receiver.receive(packet, size, status: 0, into: &buffer, capacity: buffer.count)
            audio += buffer[0..<made]
        }
        #expect(audio.count >= used - 240)
        #expect(Signals.purity(audio[240...], hertz: 1_000, rate: 16_000) > 25)
        #expect(receiver.counters.sequenceGaps == 0 && receiver.counters.framesConcealed == 0)
    }

    @Test func `codec frames are sent as header, 57 bytes and padding with cyclic numbers`() {
        var transmitter = LinkTransmitter(.mSBC)
        var packet = [UInt8](repeating: 0xEE, count: 60)
        for number in 0..<9 {
            #expect(transmitter.framesNeeded(packetBytes: 60) == 120)
            _ = transmitter.makePacket(&packet, 60, from: [Int16](repeating: 0, count: 120), 120)
            #expect(packet.prefix(5) == [0x01, H2Stream.numbers[number % 4], 0xAD, 0, 0])
            #expect(packet[59] == 0)
        }
    }

    @Test func `a packet requests audio only when the rest does not fill it`() {
        var transmitter = LinkTransmitter(.mSBC)
        var packet = [UInt8](repeating: 0, count: 144)
        var wanted: [Int] = []
        for _ in 0..<6 {
            let frames = transmitter.framesNeeded(packetBytes: 24)
            wanted.append(frames)
            _ = transmitter.makePacket(&packet, 24, from: [Int16](repeating: 0, count: 120), frames)
        }
        #expect(wanted == [120, 0, 120, 0, 0, 120])
        #expect(transmitter.framesNeeded(packetBytes: 144) == 240)
    }

    @Test(arguments: [24, 27, 60, 480])
    func `linear audio is sent bit by bit`(size: Int) {
        var transmitter = LinkTransmitter(.cvsd)
        let clean = Signals.voice(rate: 8_000, frames: 4_000)
        var ring = SampleRing(capacity: 4_000)
        _ = ring.write(clean, clean.count)
        var bytes: [UInt8] = []
        var packet = [UInt8](repeating: 0, count: size)
        while ring.available >= transmitter.framesNeeded(packetBytes: size), ring.available > 0 {
            let missing = transmitter.makePacket(&packet, size, from: &ring)
            #expect(missing == 0)
            bytes += packet
        }
        let expected = clean.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        #expect(bytes == Array(expected.prefix(bytes.count)))
        #expect(bytes.count > expected.count - size - 2)
    }

    @Test func `audio that runs out fades into silence and resumes without a step`() {
        var transmitter = LinkTransmitter(.cvsd)
        var ring = SampleRing(capacity: 1_000)
        let tone = Signals.tone(200, rate: 8_000, frames: 400)
        var audio: [Int16] = []
        var missing = 0
        var packet = [UInt8](repeating: 0, count: 120)
        for turn in 0..<12 {
            if turn < 4 || turn > 7 { _ = ring.write(Array(tone[10..<65]), turn == 3 ? 47 : 55) }
            if turn == 8 { _ = ring.write(Array(tone[65..<400]), 335) }
            missing += transmitter.makePacket(&packet, 120, from: &ring)
            for index in stride(from: 0, to: 120, by: 2) {
                audio.append(Int16(truncatingIfNeeded: Int(packet[index]) | Int(packet[index + 1]) << 8))
            }
        }
        #expect(missing > 200)
        // No click where the audio ends within a packet and where it resumes.
        let start = 4 * 60
        #expect(Signals.largestStep(Array(audio[(start - 1)..<(start + 240 + 30)])) < 2_500)
        #expect(audio[(start + 10)..<(start + 230)].allSatisfy { $0 == 0 })
    }

    @Test func `without any audio silence is sent and counted`() {
        var transmitter = LinkTransmitter(.mSBC)
        var receiver = LinkReceiver(.mSBC)
        var ring = SampleRing(capacity: 10)
        var packet = [UInt8](repeating: 0, count: 60)
        var buffer = [Int16](repeating: 1, count: 120)
        for _ in 0..<5 {
            let missing = transmitter.makePacket(&packet, 60, from: &ring)
            let made = receiver.receive(packet, 60, status: 0, into: &buffer, capacity: 120)
            #expect(missing == 120 && made == 120)
            #expect(buffer.allSatisfy { abs($0) <= 2 })
        }
        #expect(receiver.counters.framesConcealed == 0)
    }
}
