import CBTCall

/// The receiving half of one synchronous link: packets in, audio at the link's rate out, losses concealed (HFP 1.9, wide
/// band speech; packet status: BlueZ `doc/sco-protocol.rst`).
///
/// Losses are packets with a bad status, codec frames rejected by the decoder, and frames missing according to the sequence
/// numbers; with a codec also packets of zeros too long to be part of a codec frame. A lost packet keeps its place: the
/// search continues after it. Bytes without a codec frame are replaced by concealed audio too (silence before the first
/// codec frame), so that the audio keeps time with the packets. After `conceal` sequence numbers add nothing: the time is
/// already filled.
package struct LinkReceiver: ~Copyable {
    package let format: LinkFormat
    private var synchronizer: H2Synchronizer
    private var codec = MSBCCodec()
    private var superWide = LC3Codec()
    private var concealment: PacketLossConcealment
    /// Concealment output of liblc3 for a lost codec frame; never played.
    private let unheard: UnsafeMutablePointer<Int16>

    /// First byte of a 16-bit frame whose second byte is in the next packet; -1 for none.
    private var halfFrame = -1
    private var halfIsDamaged = false
    /// Half frames still owed by `conceal(bytes:)`.
    private var owedBytes = 0
    /// Codec frames concealed since the last one found.
    private var madeUp = 0
    private var isTimeFilled = false
    private var hasHeard = false
    /// Units concealed or silent since the last good one.
    private var burst = 0

    private var counts = LinkCounters()

    /// A shorter packet of zeros may be part of a codec frame: reserved bytes of mSBC, silence of LC3 (50 bytes of it).
    private static func shortestZeros(_ format: LinkFormat) -> Int {
        switch format {
        case .mSBC, .cvsd, .pcm16: 8
        case .lc3SWB: H2Synchronizer.frameBytes
        }
    }
    private let shortestZeros: Int

    package init(_ format: LinkFormat) {
        self.format = format
        concealment = PacketLossConcealment(rate: format.rate)
        synchronizer = H2Synchronizer(hasSyncword: format != .lc3SWB)
        shortestZeros = Self.shortestZeros(format)
        unheard = UnsafeMutablePointer<Int16>.allocate(capacity: LC3Codec.frameSamples)
        unheard.initialize(repeating: 0, count: LC3Codec.frameSamples)
    }

    deinit { unheard.deallocate() }

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

    /// A codec frame has been decoded; until then the output is silence.
    package var isSynchronized: Bool {
        @_noLocks get { hasHeard }
    }

    /// Processes one packet from the controller and returns the number of audio frames produced.
    ///
    /// - Parameters:
    ///   - packet: `count` bytes as received, usually 24 to 144; codec frames and audio frames may straddle packets.
    ///   - status: the packet status, 0 for correctly received.
    ///   - output: room for `capacity` frames, signed 16 bit; frames beyond it are dropped. A packet of mSBC of up to 144
    ///     bytes that follows others without a gap gives at most 2 × `count` + 600 frames, one of PCM `count` / 2 + 1; one
    ///     of LC3 twice as many as mSBC; ``mostFrames(_:of:)`` is the worst case.
    @_noLocks
    package mutating func receive(
        _ packet: UnsafePointer<UInt8>, _ count: Int, status: Int32, into output: UnsafeMutablePointer<Int16>,
        capacity: Int
    ) -> Int {
        counts.packets &+= 1
        var isDamaged = status != 0
        switch format {
        case .mSBC, .lc3SWB:
            if !isDamaged { isDamaged = isZero(packet, count) }
            if isDamaged { counts.damagedPackets &+= 1 }
            return receiveTransparent(packet, count, isDamaged: isDamaged, output, capacity)
        case .cvsd, .pcm16:
            if isDamaged { counts.damagedPackets &+= 1 }
            return receiveLinear(packet, count, isDamaged: isDamaged, output, capacity)
        }
    }

    /// Maximum frames from a packet of this size: with a codec, three codec frames missing before each one, and each
    /// beginning with the last four bytes of the previous one.
    package static func mostFrames(_ format: LinkFormat, of packetBytes: Int) -> Int {
        switch format {
        case .mSBC, .lc3SWB: (packetBytes / (H2Synchronizer.frameBytes - 4) + 2) * 4 * format.codecFrameSamples
        case .cvsd, .pcm16: packetBytes / 2 + 1
        }
    }

    /// Ends the link: produces the audio for its remaining bytes; returns the frames.
    @_noLocks
    package mutating func finish(into output: UnsafeMutablePointer<Int16>, capacity: Int) -> Int {
        if synchronizer.finish() { return finishCodecFrame(output, capacity) }
        let bytes = synchronizer.skippedBeforeFrame &+ synchronizer.pendingBytes
        if synchronizer.hasFrame || bytes < (madeUp &+ 1) &* H2Synchronizer.frameBytes { return 0 }
        madeUp &+= 1
        return concealCodecFrame(output, capacity)
    }

    /// Conceals packets that did not arrive; returns `frames`, or `capacity` if lower.
    @_noLocks
    package mutating func conceal(frames: Int, into output: UnsafeMutablePointer<Int16>, capacity: Int) -> Int {
        let made = frames < capacity ? frames : capacity
        if made <= 0 { return 0 }
        isTimeFilled = true
        makeUp(output, made)
        switch format {
        case .mSBC, .lc3SWB:
            // Rounded up: counts events, not their duration.
            count(made: (made &+ format.codecFrameSamples &- 1) / format.codecFrameSamples)
        case .cvsd, .pcm16:
            count(made: made)
        }
        return made
    }

    /// Conceals a packet of this size; odd bytes are carried over.
    @_noLocks
    package mutating func conceal(bytes: Int, into output: UnsafeMutablePointer<Int16>, capacity: Int) -> Int {
        switch format {
        case .mSBC, .lc3SWB:
            let frames = bytes &* format.codecFrameSamples / H2Synchronizer.frameBytes
            return conceal(frames: frames, into: output, capacity: capacity)
        case .cvsd, .pcm16:
            owedBytes &+= bytes
            let frames = owedBytes / 2
            owedBytes &-= frames &* 2
            return conceal(frames: frames, into: output, capacity: capacity)
        }
    }

    /// Resets everything but the counters and the codec's own memory (10 ms), as for a new link.
    @_noLocks
    package mutating func reset() {
        synchronizer.reset()
        concealment.reset()
        codec.forget()
        halfFrame = -1
        owedBytes = 0
        madeUp = 0
        isTimeFilled = false
        hasHeard = false
        burst = 0
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
            // The numbers count modulo 4. Where bytes have filled the time, they only determine the rounding.
            var missing = synchronizer.framesMissedBefore
            if madeUp > 0 {
                missing = synchronizer.isNumbered ? (missing &- madeUp) & 3 : 0
                if missing > 1 { missing = 0 }
            }
            while missing > 0 {
                missing &-= 1
                made &+= concealCodecFrame(output + made, capacity &- made)
            }
        }
        madeUp = 0
        isTimeFilled = false
        if capacity &- made < format.codecFrameSamples { return made }
        if synchronizer.frameIsDamaged { return made &+ concealCodecFrame(output + made, capacity &- made) }
        if !decodeCodecFrame(output + made) {
            counts.decodeErrors &+= 1
            return made &+ concealCodecFrame(output + made, capacity &- made, isRefused: true)
        }
        hasHeard = true
        burst = 0
        counts.frames &+= 1
        return made &+ format.codecFrameSamples
    }

    /// Decodes the complete codec frame; false when it is unusable.
    @_noLocks
    private mutating func decodeCodecFrame(_ output: UnsafeMutablePointer<Int16>) -> Bool {
        switch format {
        case .mSBC:
            if !codec.decode(synchronizer.frame, into: output) { return false }
            concealment.good(output, MSBCCodec.frameSamples)
            return true
        case .lc3SWB:
            if !superWide.decode(synchronizer.frame, into: output) { return false }
            concealment.good(output, LC3Codec.frameSamples)
            return true
        case .cvsd, .pcm16:
            return false
        }
    }

    @_noLocks
    private mutating func concealCodecFrame(
        _ output: UnsafeMutablePointer<Int16>, _ capacity: Int, isRefused: Bool = false
    ) -> Int {
        if capacity < format.codecFrameSamples { return 0 }
        // In liblc3 the next codec frame overlaps this one, so liblc3 is told about the loss unless it reported it. Its own
        // concealment is noisier than a continued waveform: by 5 dB in and after single lost codec frames of speech.
        switch format {
        case .lc3SWB: if !isRefused { superWide.conceal(into: unheard) }
        case .mSBC, .cvsd, .pcm16: break
        }
        makeUp(output, format.codecFrameSamples)
        count(made: 1)
        return format.codecFrameSamples
    }

    /// Conceals a lost mSBC frame: the last received one still determines its beginning, and the decoder is given the
    /// concealed frame, so that the next one joins on.
    @_noLocks
    private mutating func makeUp(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        switch format {
        case .mSBC:
            if frames < MSBCCodec.frameSamples {
                concealment.lost(output, frames)
                return
            }
            let told = codec.recover(&concealment, into: output)
            concealment.lost(output + told, frames &- told)
            codec.follow(&concealment)
        case .lc3SWB, .cvsd, .pcm16:
            concealment.lost(output, frames)
        }
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
        let room = capacity &- made
        let whole = (count &- taken) / 2
        let frames = whole < room ? whole : room
        if frames > 0 {
            let bytes = packet + taken
            let samples = output + made
            var index = 0
            while index < frames {
                samples[index] = Self.sample(bytes[2 &* index], bytes[2 &* index &+ 1])
                index &+= 1
            }
            finishLinear(samples, frames, isDamaged: isDamaged)
            made &+= frames
            taken &+= 2 &* frames
        }
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
            burst = 0
            counts.frames &+= frames
            concealment.good(samples, frames)
        }
    }

    @_noLocks
    private mutating func count(made units: Int) {
        counts.frames &+= units
        if hasHeard { counts.framesConcealed &+= units } else { counts.framesBefore &+= units }
        burst &+= units
        if burst > counts.longestBurst { counts.longestBurst = burst }
    }

    @_noLocks
    private static func sample(_ low: UInt8, _ high: UInt8) -> Int16 {
        Int16(truncatingIfNeeded: Int(low) | Int(high) << 8)
    }

    @_noLocks
    private func isZero(_ packet: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if count < shortestZeros { return false }
        var index = 0
        while index < count {
            if packet[index] != 0 { return false }
            index &+= 1
        }
        return true
    }
}
