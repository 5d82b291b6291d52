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

    package init() {
        encoder = Self.makeState()
        decoder = Self.makeState()
        waveSamples = UnsafeMutablePointer<Int16>.allocate(capacity: Self.frameSamples)
        waveSamples.initialize(repeating: 0, count: Self.frameSamples)
        waveFrame = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.frameBytes)
        waveFrame.initialize(repeating: 0, count: Self.frameBytes)
    }

    deinit {
        sbc_finish(encoder)
        sbc_finish(decoder)
        encoder.deallocate()
        decoder.deallocate()
        waveSamples.deallocate()
        waveFrame.deallocate()
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
        var written = 0
        let used = btcall_sbc_decode(
            decoder, frame, Self.frameBytes, samples, Self.frameSamples * 2, &written)
        return used == Self.frameBytes && written == Self.frameSamples * 2
    }

    /// Has the decoder go through the frame that was just made up in place of a lost one, as if that had been received.
    ///
    /// The filters of coder and decoder together last `delaySamples`: without this, so much of the next codec frame is
    /// mixed with what was before the loss. The coder, which a receiver has no other use for, looks as far ahead.
    @_noLocks
    package mutating func follow(_ concealment: inout PacketLossConcealment) {
        // One codec frame more before it, for the coder's own filter.
        var start = Self.delaySamples &- 2 &* Self.frameSamples
        while start < 0 {
            concealment.wave(from: start, Self.frameSamples, into: waveSamples)
            if !encode(waveSamples, into: waveFrame) { return }
            start &+= Self.frameSamples
        }
        _ = decode(waveFrame, into: waveSamples)
    }

    /// How much later audio comes out of the decoder than it went into the coder.
    package static var delaySamples: Int { @_noLocks get { 73 } }

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
