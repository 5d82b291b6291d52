import CBTCall
import CSBC

/// The wide band codec of a headset: 120 frames of 16 kHz audio (7.5 ms) in 57 bytes (HFP 1.9, appendix on mSBC).
package struct MSBCCodec: ~Copyable {
    // Computed, because real-time code of other files cannot read a stored static in debug builds.

    /// Bytes of a codec frame, without synchronisation header and padding.
    package static var frameBytes: Int { @_noLocks get { 57 } }
    /// Audio frames in a codec frame.
    package static var frameSamples: Int { @_noLocks get { 120 } }

    private let encoder: UnsafeMutablePointer<sbc_t>
    private let decoder: UnsafeMutablePointer<sbc_t>
    private let waveSamples: UnsafeMutablePointer<Int16>
    private let waveFrame: UnsafeMutablePointer<UInt8>
    /// What `decode` was given last.
    private let lastFrame: UnsafeMutablePointer<UInt8>
    /// The decoder is as `lastFrame` left it.
    private var isAfterLastFrame = false

    package init() {
        encoder = Self.makeState()
        decoder = Self.makeState()
        waveSamples = UnsafeMutablePointer<Int16>.allocate(capacity: Self.frameSamples)
        waveSamples.initialize(repeating: 0, count: Self.frameSamples)
        waveFrame = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.frameBytes)
        waveFrame.initialize(repeating: 0, count: Self.frameBytes)
        lastFrame = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.frameBytes)
        lastFrame.initialize(repeating: 0, count: Self.frameBytes)
    }

    deinit {
        sbc_finish(encoder)
        sbc_finish(decoder)
        encoder.deallocate()
        decoder.deallocate()
        waveSamples.deallocate()
        waveFrame.deallocate()
        lastFrame.deallocate()
    }

    /// Encodes 120 frames of `samples` to 57 bytes of `frame`. Returns false when the library refused (our mistake).
    @_noLocks
    package mutating func encode(_ samples: UnsafePointer<Int16>, into frame: UnsafeMutablePointer<UInt8>) -> Bool {
        var written = 0
        let used = btcall_sbc_encode(
            encoder, samples, Self.frameSamples * 2, frame, Self.frameBytes, &written)
        return used == Self.frameSamples * 2 && written == Self.frameBytes
    }

    /// Decodes 57 bytes of `frame` to 120 frames of `samples`.
    ///
    /// Returns false when it is not a valid codec frame (syncword or CRC, which covers the scale factors only);
    /// `samples` then holds nothing of use.
    @_noLocks
    package mutating func decode(_ frame: UnsafePointer<UInt8>, into samples: UnsafeMutablePointer<Int16>) -> Bool {
        // A frame that is refused does not reach the decoder's filter.
        if !put(frame, into: samples) { return false }
        btcall_move(lastFrame, frame, Self.frameBytes)
        isAfterLastFrame = true
        return true
    }

    /// Has the decoder go through the frame that was just made up in place of a lost one, as if that had been received.
    ///
    /// The filters of coder and decoder together last `delaySamples`: without this, so much of the next codec frame is
    /// mixed with what was before the loss. The coder, which a receiver has no other use for, looks as far ahead.
    @_noLocks
    package mutating func follow(_ concealment: inout PacketLossConcealment) {
        isAfterLastFrame = false
        _ = putWave(of: &concealment, from: Self.delaySamples &- 2 &* Self.frameSamples)
    }

    /// Finds the beginning of a lost codec frame in the one that came before it, has the concealment begin behind it and
    /// returns its frames: `recoveredSamples`, or 0 when the last codec frame did not come or a loss goes on.
    ///
    /// The last codec frame was coded from audio of `delaySamples` more than the decoder has given out. With the made-up
    /// wave in place of the lost one the decoder gives that out too, in the first half of it more of what was said than of
    /// what is made up.
    @_noLocks
    package mutating func recover(
        _ concealment: inout PacketLossConcealment, into samples: UnsafeMutablePointer<Int16>
    ) -> Int {
        if !isAfterLastFrame || !concealment.foretell() { return 0 }
        let isMade = putWave(of: &concealment, from: Self.delaySamples &- Self.frameSamples)
        if isMade {
            btcall_move(samples, waveSamples, Self.recoveredSamples &* MemoryLayout<Int16>.stride)
            concealment.learn(samples, Self.recoveredSamples)
        }
        // Its filter is shorter than a codec frame: with the last one once more the decoder is as it was.
        _ = put(lastFrame, into: waveSamples)
        return isMade ? Self.recoveredSamples : 0
    }

    /// Forgets the last codec frame, as for a new link.
    @_noLocks
    package mutating func forget() { isAfterLastFrame = false }

    /// Codes one codec frame of the wave that begins there, and decodes it to `waveSamples`.
    @_noLocks
    private mutating func putWave(of concealment: inout PacketLossConcealment, from start: Int) -> Bool {
        // The codec frame before it is for the coder's own filter.
        concealment.wave(from: start, Self.frameSamples, into: waveSamples)
        if !encode(waveSamples, into: waveFrame) { return false }
        concealment.wave(from: start &+ Self.frameSamples, Self.frameSamples, into: waveSamples)
        if !encode(waveSamples, into: waveFrame) { return false }
        return put(waveFrame, into: waveSamples)
    }

    @_noLocks
    private mutating func put(_ frame: UnsafePointer<UInt8>, into samples: UnsafeMutablePointer<Int16>) -> Bool {
        var written = 0
        let used = btcall_sbc_decode(
            decoder, frame, Self.frameBytes, samples, Self.frameSamples * 2, &written)
        return used == Self.frameBytes && written == Self.frameSamples * 2
    }

    /// How much later audio comes out of the decoder than it went into the coder.
    package static var delaySamples: Int { @_noLocks get { 73 } }
    /// How much of a lost codec frame the one before it tells well enough.
    package static var recoveredSamples: Int { @_noLocks get { delaySamples / 2 } }

    private static func makeState() -> UnsafeMutablePointer<sbc_t> {
        let state = UnsafeMutablePointer<sbc_t>.allocate(capacity: 1)
        state.initialize(to: sbc_t())
        let code = sbc_init_msbc(state, 0)
        precondition(code == 0, "libsbc is out of memory")
        // Samples are in the machine's order.
        state.pointee.endian = UInt8(UInt16(1).littleEndian == 1 ? SBC_LE : SBC_BE)
        return state
    }
}
