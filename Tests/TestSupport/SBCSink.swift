import CSBC

/// The headset's end of a stream over A2DP: parses the packets (RFC 3550 §5.1, A2DP 1.4 §4.3.4) independently, and decodes
/// their content with libsbc.
package final class SBCSink {
    /// Received audio; a mono stream is on the left.
    package private(set) var left: [Int16] = []
    package private(set) var right: [Int16] = []
    package private(set) var packets = 0
    package private(set) var codecFrames = 0
    /// Size of the longest packet.
    package private(set) var packetBytes = 0
    package private(set) var bitpools: [Int] = []
    /// Packets missing by their sequence numbers.
    package private(set) var lostPackets = 0
    /// Audio frames missing by the timestamps.
    package private(set) var skippedFrames = 0
    /// Errors in packets, in words.
    package private(set) var faults: [String] = []
    private let state: UnsafeMutablePointer<sbc_t>
    private var sequence: UInt16?
    private var timestamp: UInt32 = 0
    private var samples = [Int16](repeating: 0, count: 512)

    package init() {
        state = .allocate(capacity: 1)
        state.initialize(to: sbc_t())
        let code = sbc_init(state, 0)
        precondition(code == 0, "libsbc is out of memory")
        state.pointee.endian = UInt8(UInt16(1).littleEndian == 1 ? SBC_LE : SBC_BE)
    }

    deinit {
        sbc_finish(state)
        state.deallocate()
    }

    /// Receives one packet.
    package func receive(_ packet: [UInt8]) {
        guard packet.count > 13, packet[0] == 0x80, packet[1] == 96 else {
            faults.append("no RTP packet of version 2 and payload type 96: \(packet.prefix(13))")
            return
        }
        func number(_ range: Range<Int>) -> UInt32 { packet[range].reduce(0) { $0 << 8 | UInt32($1) } }
        let (number, time) = (UInt16(number(2..<4)), number(4..<8))
        if let sequence {
            lostPackets += Int(number &- sequence &- 1)
            skippedFrames += Int(Int32(bitPattern: time &- timestamp))
        }
        sequence = number
        packets += 1
        packetBytes = max(packetBytes, packet.count)
        let before = left.count
        decode(packet[13...], frames: packet[12])
        timestamp = time &+ UInt32(left.count - before)
    }

    private func decode(_ payload: ArraySlice<UInt8>, frames: UInt8) {
        var rest = payload
        if frames == 0 || frames > 15 { faults.append("a payload header of \(frames)") }
        for _ in 0..<frames & 0xF {
            var written = 0
            let used = rest.withUnsafeBufferPointer {
                sbc_decode(state, $0.baseAddress, $0.count, &samples, samples.count * 2, &written)
            }
            guard used > 0 else {
                faults.append("no codec frame: \(used)")
                return
            }
            rest = rest.dropFirst(used)
            codecFrames += 1
            let bitpool = Int(state.pointee.bitpool)
            if bitpools.last != bitpool { bitpools.append(bitpool) }
            let isMono = state.pointee.mode == UInt8(SBC_MODE_MONO)
            for index in stride(from: 0, to: written / 2, by: isMono ? 1 : 2) {
                left.append(samples[index])
                if !isMono { right.append(samples[index + 1]) }
            }
        }
        if !rest.isEmpty { faults.append("\(rest.count) bytes behind the codec frames") }
    }
}
