import CBTCall
import CSpeexDSP

/// Converts audio between two fixed rates (speexdsp, quality 3: 1.5 ms delay at 16 kHz, 85 dB).
///
/// If one of them is 8 kHz, quality 4 and 4 ms: with 3 the upper end of speech, 3400 Hz, is already 1.05 dB down. From the
/// first call on whole 10 ms blocks give whole 10 ms blocks. With equal rates it copies.
///
/// If one rate is twice the other, a half-band filter does it for an eighth of the instructions: flat to 0.85 of the lower
/// band, 76 dB, at 8 and 16 kHz 2 ms. Doubling leaves the given frames as they are and puts new ones between them, so that
/// halving can give them back exactly.
package struct Resampler: ~Copyable {
    private static let quality: Int32 = 3
    private static let narrowQuality: Int32 = 4

    private let state: OpaquePointer?
    /// In place of `state`.
    private let band: UnsafeMutablePointer<btcall_half_band>?
    /// The output has twice the rate: *doubled* audio, whose even frames are the input's.
    package let doubles: Bool
    /// Delay of the output, in frames of its rate.
    package let delayFrames: Int

    /// - Parameters:
    ///   - from: sample rate of the input in Hz, 8000 to 48000.
    ///   - to: sample rate of the output in Hz.
    package init(from: Int, to: Int) {
        precondition(from > 0 && to > 0, "rates are positive")
        doubles = to == 2 * from
        if from == to {
            state = nil
            band = nil
            delayFrames = 0
            return
        }
        if doubles || from == 2 * to {
            state = nil
            let band = UnsafeMutablePointer<btcall_half_band>.allocate(capacity: 1)
            band.initialize(to: btcall_half_band())
            self.band = band
            delayFrames = doubles ? Int(BTCALL_HALF_BAND_VALUES) : Int(BTCALL_HALF_BAND_VALUES) / 2 - 1
            return
        }
        band = nil
        var code: Int32 = 0
        let quality = min(from, to) < 12_000 ? Self.narrowQuality : Self.quality
        let made = speex_resampler_init(1, UInt32(from), UInt32(to), quality, &code)
        precondition(made != nil && code == 0, "speexdsp is out of memory")
        state = made
        delayFrames = Int(speex_resampler_get_output_latency(made))
    }

    deinit {
        if let state { speex_resampler_destroy(state) }
        band?.deallocate()
    }

    /// The rates are equal.
    package var isIdentity: Bool {
        @_noLocks get { state == nil && band == nil }
    }

    /// Converts up to `inputFrames` frames to up to `outputCapacity` frames; returns how many it consumed and produced.
    ///
    /// With enough room it consumes all. The buffers must not overlap.
    ///
    /// - Parameter isDoubled: the input is doubled audio from an even frame on, or a sum of such audio, at any volume: where
    ///   this halves the rate, it returns the even frames instead of filtering.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int,
        isDoubled: Bool = false
    ) -> (used: Int, made: Int) {
        if inputFrames <= 0 || outputCapacity <= 0 { return (0, 0) }
        if let band {
            if doubles {
                let room = outputCapacity / 2
                let frames = inputFrames < room ? inputFrames : room
                btcall_half_band_up(band, input, frames, output)
                return (frames, 2 &* frames)
            }
            let room = 2 &* outputCapacity &- Int(band.pointee.waiting)
            let frames = inputFrames < room ? inputFrames : room
            return (frames, btcall_half_band_down(band, input, frames, output, isDoubled))
        }
        guard let state else {
            let frames = inputFrames < outputCapacity ? inputFrames : outputCapacity
            btcall_move(output, input, frames &* 2)
            return (frames, frames)
        }
        var used = UInt32(truncatingIfNeeded: inputFrames)
        var made = UInt32(truncatingIfNeeded: outputCapacity)
        _ = btcall_speex_resample(UnsafeMutableRawPointer(state), 0, input, &used, output, &made)
        return (Int(used), Int(made))
    }

    /// Discards all input.
    @_noLocks
    package mutating func reset() {
        if let state { _ = btcall_speex_reset(UnsafeMutableRawPointer(state)) }
        if let band { btcall_half_band_reset(band) }
    }
}
