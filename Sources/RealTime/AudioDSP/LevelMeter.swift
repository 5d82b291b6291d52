/// How loud audio is, as a meter shows it: the peak falls by 14 dB a second, the power is a mean over some 0.3 s.
///
/// Signed 16 bit, one channel, in blocks of 10 ms.
package struct LevelMeter: Sendable {
    // Both in 256ths, so that they go on falling when they are small.
    private var scaledPeak: Int64 = 0
    private var scaledPower: Int64 = 0

    package init() {}

    /// The largest sample without its sign, 0…32768.
    package var peak: Int {
        @_noLocks get { Int(truncatingIfNeeded: scaledPeak >> 8) }
    }

    /// The mean of the squares, 0…2³⁰.
    package var power: Int {
        @_noLocks get { Int(truncatingIfNeeded: scaledPower >> 8) }
    }

    /// Follows one block of `frames` frames.
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

    /// Begins anew with silence.
    @_noLocks
    package mutating func forget() {
        scaledPeak = 0
        scaledPower = 0
    }
}
