import CBTCall
import CSpeexDSP

/// As `Resampler`, for interleaved pairs.
package struct StereoResampler: ~Copyable {
    private static let quality: Int32 = 3
    private static let narrowQuality: Int32 = 4

    private let state: OpaquePointer?

    /// - Parameters:
    ///   - from: sample rate of the input in Hz, 8000 to 48000.
    ///   - to: sample rate of the output in Hz.
    package init(from: Int, to: Int) {
        precondition(from > 0 && to > 0, "rates are positive")
        if from == to {
            state = nil
            return
        }
        var code: Int32 = 0
        let quality = min(from, to) < 12_000 ? Self.narrowQuality : Self.quality
        let made = speex_resampler_init(2, UInt32(from), UInt32(to), quality, &code)
        precondition(made != nil && code == 0, "speexdsp is out of memory")
        state = made
    }

    deinit {
        if let state { speex_resampler_destroy(state) }
    }

    /// Converts up to `inputFrames` pairs to up to `outputCapacity` pairs; returns the number produced. With enough room it
    /// consumes all. The buffers must not overlap.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> Int {
        if inputFrames <= 0 || outputCapacity <= 0 { return 0 }
        guard let state else {
            let frames = inputFrames < outputCapacity ? inputFrames : outputCapacity
            btcall_move(output, input, frames &* 4)
            return frames
        }
        var used = UInt32(truncatingIfNeeded: inputFrames)
        var made = UInt32(truncatingIfNeeded: outputCapacity)
        _ = btcall_speex_resample_frames(UnsafeMutableRawPointer(state), input, &used, output, &made)
        return Int(made)
    }

    /// Discards all input.
    @_noLocks
    package mutating func reset() {
        if let state { _ = btcall_speex_reset(UnsafeMutableRawPointer(state)) }
    }
}
