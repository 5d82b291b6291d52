import CBTCall

/// The sending half of one synchronous link: audio at the link's rate in, packets of any size out (HFP 1.9, wide band
/// speech: a codec frame of mSBC is sent as header H2, 57 bytes and a byte of padding, one of LC3 as header and 58 bytes).
///
/// Codec frames may straddle packets: the rest of one begins the next packet.
package struct LinkTransmitter: ~Copyable {
    /// Length of the fade when audio runs out, and when it resumes.
    private static let edgeFrames = 32

    package let format: LinkFormat
    private var codec = MSBCCodec()
    private var superWide = LC3Codec()
    private let samples: UnsafeMutablePointer<Int16>
    /// Encoded bytes; the first `sent` of `filled` have been sent.
    private let pending: UnsafeMutablePointer<UInt8>
    private var filled = 0
    private var sent = 0
    private var sequence = 0
    private var isStarved = false

    package init(_ format: LinkFormat) {
        self.format = format
        samples = UnsafeMutablePointer<Int16>.allocate(capacity: LC3Codec.frameSamples)
        samples.initialize(repeating: 0, count: LC3Codec.frameSamples)
        pending = UnsafeMutablePointer<UInt8>.allocate(capacity: MSBCCodec.frameSamples * 2)
        pending.initialize(repeating: 0, count: MSBCCodec.frameSamples * 2)
    }

    deinit {
        samples.deallocate()
        pending.deallocate()
    }

    /// Audio frames needed for the next packet of this size: often 0 or a codec frame.
    @_noLocks
    package func framesNeeded(packetBytes: Int) -> Int {
        let missing = packetBytes &- (filled &- sent)
        if missing <= 0 { return 0 }
        switch format {
        case .mSBC, .lc3SWB:
            let codecFrames = (missing &+ H2Synchronizer.frameBytes &- 1) / H2Synchronizer.frameBytes
            return codecFrames &* format.codecFrameSamples
        case .cvsd, .pcm16:
            return (missing &+ 1) / 2
        }
    }

    /// Makes the next packet, of exactly `packetBytes` bytes, from `ring`.
    ///
    /// Returns the number of missing frames; they are sent as silence, with a soft edge.
    @_noLocks
    package mutating func makePacket(
        _ packet: UnsafeMutablePointer<UInt8>, _ packetBytes: Int, from ring: inout SampleRing
    ) -> Int {
        var written = 0
        var missing = 0
        while written < packetBytes {
            if sent == filled {
                let wanted = nextFrames(bytes: packetBytes &- written)
                let frames = ring.read(samples, wanted)
                missing &+= wanted &- frames
                code(frames: frames, of: wanted)
            }
            written &+= drain(packet + written, packetBytes &- written)
        }
        return missing
    }

    /// Makes the next packet, of exactly `packetBytes` bytes, from `frames` frames of `audio`.
    ///
    /// Pass the number from `framesNeeded`: more are not used. Returns the number of missing frames; they are sent as
    /// silence, with a soft edge.
    @_noLocks
    package mutating func makePacket(
        _ packet: UnsafeMutablePointer<UInt8>, _ packetBytes: Int, from audio: UnsafePointer<Int16>, _ frames: Int
    ) -> Int {
        var written = 0
        var missing = 0
        var used = 0
        while written < packetBytes {
            if sent == filled {
                let wanted = nextFrames(bytes: packetBytes &- written)
                let left = frames &- used
                let given = wanted < left ? wanted : left
                btcall_move(samples, audio + used, given &* 2)
                used &+= given
                missing &+= wanted &- given
                code(frames: given, of: wanted)
            }
            written &+= drain(packet + written, packetBytes &- written)
        }
        return missing
    }

    /// Discards unsent audio, as for a new link.
    @_noLocks
    package mutating func reset() {
        filled = 0
        sent = 0
        sequence = 0
        isStarved = false
    }

    /// Frames to encode at once when a packet lacks this many bytes.
    @_noLocks
    private func nextFrames(bytes: Int) -> Int {
        switch format {
        case .mSBC, .lc3SWB: return format.codecFrameSamples
        case .cvsd, .pcm16:
            let frames = (bytes &+ 1) / 2
            return frames < MSBCCodec.frameSamples ? frames : MSBCCodec.frameSamples
        }
    }

    /// Encodes the first `wanted` of `samples`, of which `frames` are real, to `pending`.
    @_noLocks
    private mutating func code(frames: Int, of wanted: Int) {
        soften(frames: frames, of: wanted)
        sent = 0
        switch format {
        case .mSBC:
            header()
            pending[H2Synchronizer.frameBytes &- 1] = 0
            // It never refuses a whole frame; if it did, the peer's decoder would find no syncword and conceal.
            if !codec.encode(samples, into: pending + 2) { pending[2] = 0 }
            filled = H2Synchronizer.frameBytes
        case .lc3SWB:
            header()
            // It never refuses either; otherwise the previous bytes would be repeated.
            _ = superWide.encode(samples, into: pending + 2)
            filled = H2Synchronizer.frameBytes
        case .cvsd, .pcm16:
            // Constants, so that the compiler need not fear that a byte written is part of one.
            let (bytes, values) = (pending, samples)
            var index = 0
            while index < wanted {
                let value = UInt16(bitPattern: values[index])
                bytes[2 &* index] = UInt8(truncatingIfNeeded: value)
                bytes[2 &* index &+ 1] = UInt8(truncatingIfNeeded: value >> 8)
                index &+= 1
            }
            filled = wanted &* 2
        }
    }

    /// Starts a codec frame.
    @_noLocks
    private mutating func header() {
        pending[0] = 0x01
        pending[1] = H2Synchronizer.headerByte(sequence: sequence)
        sequence = (sequence &+ 1) & 3
    }

    /// Fills up with silence; fades out before it and in after it.
    @_noLocks
    private mutating func soften(frames: Int, of wanted: Int) {
        let edge = frames < Self.edgeFrames ? frames : Self.edgeFrames
        var index = 0
        if isStarved {
            while index < edge {
                samples[index] = Int16(truncatingIfNeeded: Int(samples[index]) &* index / edge)
                index &+= 1
            }
        }
        if frames == wanted {
            if frames > 0 { isStarved = false }
            return
        }
        isStarved = true
        index = 0
        while index < edge {
            let place = frames &- 1 &- index
            samples[place] = Int16(truncatingIfNeeded: Int(samples[place]) &* index / edge)
            index &+= 1
        }
        index = frames
        while index < wanted {
            samples[index] = 0
            index &+= 1
        }
    }

    @_noLocks
    private mutating func drain(_ packet: UnsafeMutablePointer<UInt8>, _ room: Int) -> Int {
        let left = filled &- sent
        let bytes = left < room ? left : room
        btcall_move(packet, pending + sent, bytes)
        sent &+= bytes
        return bytes
    }
}

extension H2Synchronizer {
    /// Second byte of a header for a sequence number, of which the lowest two bits count.
    @_noLocks
    static func headerByte(sequence: Int) -> UInt8 {
        switch sequence & 3 {
        case 0: 0x08
        case 1: 0x38
        case 2: 0xC8
        default: 0xF8
        }
    }
}
