import CBTCall
import CSBC

/// Wide band codec of a headset: 120 frames of 16 kHz audio (7.5 ms) in 57 bytes (HFP 1.9, appendix on mSBC).
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
    /// Last input of `decode`.
    private let lastFrame: UnsafeMutablePointer<UInt8>
    /// The decoder's state is the one after `lastFrame`.
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
    /// Returns false for an invalid codec frame (syncword or CRC, which covers the scale factors only); `samples` is then
    /// unusable.
    @_noLocks
    package mutating func decode(_ frame: UnsafePointer<UInt8>, into samples: UnsafeMutablePointer<Int16>) -> Bool {
        // A rejected frame does not reach the decoder's filter.
        if !put(frame, into: samples) { return false }
        btcall_move(lastFrame, frame, Self.frameBytes)
        isAfterLastFrame = true
        return true
    }

    /// Feeds the decoder the concealed frame in place of the lost one, as if that had been received.
    ///
    /// The filters of encoder and decoder together span `delaySamples`: without this, that much of the next codec frame
    /// would be mixed with audio from before the loss. The encoder, which a receiver does not need otherwise, looks as far
    /// ahead.
    @_noLocks
    package mutating func follow(_ concealment: inout PacketLossConcealment) {
        isAfterLastFrame = false
        _ = putWave(of: &concealment, from: Self.delaySamples &- 2 &* Self.frameSamples)
    }

    /// Recovers the beginning of a lost codec frame from the previous one, lets the concealment begin after it and returns
    /// its frames: `recoveredSamples`, or 0 when the last codec frame did not arrive or a loss continues.
    ///
    /// The last codec frame was encoded from `delaySamples` more audio than the decoder has returned. Given the concealed
    /// wave in place of the lost frame, the decoder returns that audio too; its first half is more real speech than
    /// concealment.
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
        // The decoder's filter is shorter than a codec frame: decoding the last one again restores its state.
        _ = put(lastFrame, into: waveSamples)
        return isMade ? Self.recoveredSamples : 0
    }

    /// Discards the last codec frame, as for a new link.
    @_noLocks
    package mutating func forget() { isAfterLastFrame = false }

    /// Encodes one codec frame of the wave from `start` and decodes it to `waveSamples`.
    @_noLocks
    private mutating func putWave(of concealment: inout PacketLossConcealment, from start: Int) -> Bool {
        // The previous codec frame fills the encoder's filter.
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

    /// Delay from the encoder's input to the decoder's output.
    package static var delaySamples: Int { @_noLocks get { 73 } }
    /// Part of a lost codec frame that the previous one determines well enough.
    package static var recoveredSamples: Int { @_noLocks get { delaySamples / 2 } }

    private static func makeState() -> UnsafeMutablePointer<sbc_t> {
        let state = UnsafeMutablePointer<sbc_t>.allocate(capacity: 1)
        state.initialize(to: sbc_t())
        let code = sbc_init_msbc(state, 0)
        precondition(code == 0, "libsbc is out of memory")
        // Samples are in native byte order.
        state.pointee.endian = UInt8(UInt16(1).littleEndian == 1 ? SBC_LE : SBC_BE)
        return state
    }
}
