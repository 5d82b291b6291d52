import CBTCall

/// The receiving half of one synchronous link: packets in, audio at the link's rate out, losses concealed (HFP 1.9, wide
/// band speech; packet status: BlueZ `doc/sco-protocol.rst`).
///
/// Lost is what came in a packet with a bad status, what the decoder refuses, and what the sequence numbers say is
/// missing; for mSBC also a packet of zeros. Bytes in which no codec frame is found stand for concealed audio too
/// (silence before the first one), so that the audio keeps time with the packets. After `conceal` sequence numbers add
/// nothing: the time is already filled.
package struct LinkReceiver: ~Copyable {
    package let format: LinkFormat
    private var synchronizer = H2Synchronizer()
    private var codec = MSBCCodec()
    private var concealment: PacketLossConcealment

    /// The first byte of a 16-bit frame whose second one comes in the next packet; -1 for none.
    private var halfFrame = -1
    private var halfIsDamaged = false
    /// Half frames that `conceal(bytes:)` owes.
    private var owedBytes = 0
    /// Codec frames made up since the last one that was found.
    private var madeUp = 0
    private var isTimeFilled = false
    private var hasHeard = false

    private var counts = LinkCounters()

    package init(_ format: LinkFormat) {
        self.format = format
        concealment = PacketLossConcealment(rate: format.rate)
    }

    package var counters: LinkCounters {
        @_noLocks get {
            var result = counts
            result.sequenceGaps = synchronizer.sequenceGaps
            result.framesMissed = synchronizer.framesMissed
            result.resyncs = synchronizer.resyncs
            result.bytesSkipped = synchronizer.bytesSkipped
            return result
        }
    }

    /// Something was decoded; until then the output is silence.
    package var isSynchronized: Bool {
        @_noLocks get { hasHeard }
    }

    /// Takes one packet from the controller and returns how many frames of audio it gave.
    ///
    /// - Parameters:
    ///   - packet: `count` bytes as received, 24 to 144; codec frames and audio frames may straddle packets.
    ///   - status: the packet status, 0 for correctly received.
    ///   - output: room for `capacity` frames, signed 16 bit. A packet of mSBC gives at most 2 × `count` + 600 frames,
    ///     others `count` / 2 + 1; what has no room is dropped.
    @_noLocks
    package mutating func receive(
        _ packet: UnsafePointer<UInt8>, _ count: Int, status: Int32, into output: UnsafeMutablePointer<Int16>,
        capacity: Int
    ) -> Int {
        counts.packets &+= 1
        var isDamaged = status != 0
        switch format {
        case .mSBC:
            if !isDamaged { isDamaged = Self.isZero(packet, count) }
            if isDamaged { counts.damagedPackets &+= 1 }
            return receiveTransparent(packet, count, isDamaged: isDamaged, output, capacity)
        case .cvsd, .pcm16:
            if isDamaged { counts.damagedPackets &+= 1 }
            return receiveLinear(packet, count, isDamaged: isDamaged, output, capacity)
        }
    }

    /// Makes up the audio of packets that did not come; returns `frames`, or `capacity` when that is less.
    @_noLocks
    package mutating func conceal(frames: Int, into output: UnsafeMutablePointer<Int16>, capacity: Int) -> Int {
        let made = frames < capacity ? frames : capacity
        if made <= 0 { return 0 }
        isTimeFilled = true
        concealment.lost(output, made)
        switch format {
        case .mSBC:
            // Rounded up: counted is how often it happened, not for how long.
            count(made: (made &+ MSBCCodec.frameSamples &- 1) / MSBCCodec.frameSamples)
        case .cvsd, .pcm16:
            count(made: made)
        }
        return made
    }

    /// Makes up the audio that a packet of so many bytes stands for; odd bytes are carried over.
    @_noLocks
    package mutating func conceal(bytes: Int, into output: UnsafeMutablePointer<Int16>, capacity: Int) -> Int {
        switch format {
        case .mSBC:
            return conceal(frames: bytes &* 2, into: output, capacity: capacity)
        case .cvsd, .pcm16:
            owedBytes &+= bytes
            let frames = owedBytes / 2
            owedBytes &-= frames &* 2
            return conceal(frames: frames, into: output, capacity: capacity)
        }
    }

    /// Forgets everything but the counters, as for a new link.
    @_noLocks
    package mutating func reset() {
        synchronizer.reset()
        concealment.reset()
        halfFrame = -1
        owedBytes = 0
        madeUp = 0
        isTimeFilled = false
        hasHeard = false
    }

    // MARK: Transparent

    @_noLocks
    private mutating func receiveTransparent(
        _ packet: UnsafePointer<UInt8>, _ count: Int, isDamaged: Bool, _ output: UnsafeMutablePointer<Int16>,
        _ capacity: Int
    ) -> Int {
        var made = 0
        var taken = 0
        while taken < count {
            taken &+= synchronizer.consume(packet + taken, count &- taken, isDamaged: isDamaged)
            while synchronizer.skippedBeforeFrame >= (madeUp &+ 1) &* H2Synchronizer.frameBytes {
                madeUp &+= 1
                made &+= concealCodecFrame(output + made, capacity &- made)
            }
            if synchronizer.hasFrame { made &+= finishCodecFrame(output + made, capacity &- made) }
        }
        return made
    }

    @_noLocks
    private mutating func finishCodecFrame(_ output: UnsafeMutablePointer<Int16>, _ capacity: Int) -> Int {
        var made = 0
        if hasHeard && !isTimeFilled {
            // The numbers count modulo 4; one made up too many is skipped bytes that were no codec frame.
            var missing = (synchronizer.framesMissedBefore &- madeUp) & 3
            if missing == 3 && madeUp > 0 { missing = 0 }
            while missing > 0 {
                missing &-= 1
                made &+= concealCodecFrame(output + made, capacity &- made)
            }
        }
        madeUp = 0
        isTimeFilled = false
        if capacity &- made < MSBCCodec.frameSamples { return made }
        if synchronizer.frameIsDamaged { return made &+ concealCodecFrame(output + made, capacity &- made) }
        if !codec.decode(synchronizer.frame, into: output + made) {
            counts.decodeErrors &+= 1
            return made &+ concealCodecFrame(output + made, capacity &- made)
        }
        hasHeard = true
        counts.frames &+= 1
        concealment.good(output + made, MSBCCodec.frameSamples)
        return made &+ MSBCCodec.frameSamples
    }

    @_noLocks
    private mutating func concealCodecFrame(_ output: UnsafeMutablePointer<Int16>, _ capacity: Int) -> Int {
        if capacity < MSBCCodec.frameSamples { return 0 }
        concealment.lost(output, MSBCCodec.frameSamples)
        count(made: 1)
        return MSBCCodec.frameSamples
    }

    // MARK: Linear

    @_noLocks
    private mutating func receiveLinear(
        _ packet: UnsafePointer<UInt8>, _ count: Int, isDamaged: Bool, _ output: UnsafeMutablePointer<Int16>,
        _ capacity: Int
    ) -> Int {
        var made = 0
        var taken = 0
        if halfFrame >= 0 && count > 0 && capacity > 0 {
            output[0] = Self.sample(UInt8(truncatingIfNeeded: halfFrame), packet[0])
            finishLinear(output, 1, isDamaged: isDamaged || halfIsDamaged)
            made = 1
            taken = 1
            halfFrame = -1
        }
        let start = made
        while taken &+ 1 < count && made < capacity {
            output[made] = Self.sample(packet[taken], packet[taken &+ 1])
            made &+= 1
            taken &+= 2
        }
        finishLinear(output + start, made &- start, isDamaged: isDamaged)
        if taken &+ 1 == count {
            halfFrame = Int(packet[taken])
            halfIsDamaged = isDamaged
        }
        return made
    }

    @_noLocks
    private mutating func finishLinear(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int, isDamaged: Bool) {
        if frames == 0 { return }
        if isDamaged {
            concealment.lost(samples, frames)
            count(made: frames)
        } else {
            hasHeard = true
            counts.frames &+= frames
            concealment.good(samples, frames)
        }
    }

    @_noLocks
    private mutating func count(made units: Int) {
        counts.frames &+= units
        if hasHeard { counts.framesConcealed &+= units }
    }

    @_noLocks
    private static func sample(_ low: UInt8, _ high: UInt8) -> Int16 {
        Int16(truncatingIfNeeded: Int(low) | Int(high) << 8)
    }

    @_noLocks
    private static func isZero(_ packet: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 0
        while index < count {
            if packet[index] != 0 { return false }
            index &+= 1
        }
        return true
    }
}
