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

    package init() {
        encoder = Self.makeState()
        decoder = Self.makeState()
    }

    deinit {
        sbc_finish(encoder)
        sbc_finish(decoder)
        encoder.deallocate()
        decoder.deallocate()
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
