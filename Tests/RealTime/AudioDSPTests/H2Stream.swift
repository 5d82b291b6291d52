import AudioDSP

/// Bytes of a transparent link as sent by a headset.
enum H2Stream {
    static let numbers: [UInt8] = [0x08, 0x38, 0xC8, 0xF8]

    /// `audio` as codec frames of 60 bytes; an incomplete last codec frame is left out.
    static func encode(_ audio: [Int16]) -> [[UInt8]] {
        var codec = MSBCCodec()
        var frames: [[UInt8]] = []
        var offset = 0
        while offset + 120 <= audio.count {
            var body = [UInt8](repeating: 0, count: 57)
            let piece = Array(audio[offset..<offset + 120])
            let isCoded = codec.encode(piece, into: &body)
            precondition(isCoded, "libsbc refused a whole frame")
            frames.append([0x01, numbers[frames.count % 4]] + body + [0])
            offset += 120
        }
        return frames
    }

    /// Codec frames that a synchronizer finds in `bytes`, passed in pieces of these sizes in turn.
    static func frames(
        in bytes: [UInt8], sizes: [Int], synchronizer: inout H2Synchronizer
    ) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var offset = 0
        var turn = 0
        while offset < bytes.count {
            let packet = Array(bytes[offset..<min(offset + sizes[turn % sizes.count], bytes.count)])
            turn += 1
            offset += packet.count
            var taken = 0
            while taken < packet.count {
                taken += packet.withUnsafeBufferPointer { buffer in
                    guard let base = buffer.baseAddress else { return 0 }
                    return synchronizer.consume(base + taken, packet.count - taken, isDamaged: false)
                }
                if synchronizer.hasFrame {
                    found.append(Array(UnsafeBufferPointer(start: synchronizer.frame, count: 57)))
                }
            }
        }
        return found
    }
}
