/// Loudness for a level meter: the peak falls by 14 dB a second, the power is a mean over about 0.3 s.
///
/// Signed 16 bit, one channel, in blocks of 10 ms.
package struct LevelMeter: Sendable {
    // Both in 256ths, so that small values keep falling.
    private var scaledPeak: Int64 = 0
    private var scaledPower: Int64 = 0

    package init() {}

    /// Largest absolute sample, 0…32768.
    package var peak: Int {
        @_noLocks get { Int(truncatingIfNeeded: scaledPeak >> 8) }
    }

    /// Mean of the squares, 0…2³⁰.
    package var power: Int {
        @_noLocks get { Int(truncatingIfNeeded: scaledPower >> 8) }
    }

    /// Measures one block of `frames` frames.
    @_noLocks
    package mutating func measure(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        if frames <= 0 { return }
        var largest: Int64 = 0
        var sum: Int64 = 0
        var index = 0
        while index < frames {
            let sample = Int64(samples[index])
            let size = sample < 0 ? 0 &- sample : sample
            if size > largest { largest = size }
            sum &+= sample &* sample
            index &+= 1
        }
        scaledPeak &-= scaledPeak >> 6
        if largest << 8 > scaledPeak { scaledPeak = largest << 8 }
        scaledPower &+= ((sum << 8) / Int64(frames) &- scaledPower) >> 5
    }

    /// Resets to silence.
    @_noLocks
    package mutating func forget() {
        scaledPeak = 0
        scaledPower = 0
    }
}
