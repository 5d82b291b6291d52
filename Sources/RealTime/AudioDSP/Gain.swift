/// Volume that changes in ramps, so that it does not click.
package struct Gain: Sendable {
    /// Change per frame: from 0 to 1 in 20 ms.
    private var slope: Float
    private var present: Float
    private var wanted: Float
    private var isMuted = false

    /// - Parameters:
    ///   - rate: in Hz.
    ///   - gain: initial factor, without a ramp.
    package init(rate: Int, gain: Float = 1) {
        slope = 50 / Float(max(rate, 1))
        present = gain
        wanted = gain
    }

    /// No ramp is running.
    package var isSettled: Bool {
        @_noLocks get { present == target }
    }

    /// The output equals the input.
    package var isOpen: Bool {
        @_noLocks get { present == 1 && target == 1 }
    }

    /// The output is digital zero.
    package var isSilent: Bool {
        @_noLocks get { present == 0 && target == 0 }
    }

    /// Sets the sample rate from the next frame on; a ramp that is running goes on.
    ///
    /// - Parameter rate: in Hz.
    @_noLocks
    package mutating func setRate(_ rate: Int) { slope = 50 / Float(rate > 0 ? rate : 1) }

    /// Ramps to a factor, 0 and higher; 20 ms for a change by 1.
    @_noLocks
    package mutating func set(_ gain: Float) {
        // NaN also becomes 0.
        wanted = gain > 0 ? gain : 0
    }

    /// Ramps to digital zero, or back to the factor.
    @_noLocks
    package mutating func setMuted(_ muted: Bool) {
        isMuted = muted
    }

    /// Ends the ramp at once, for audio that nobody hears.
    @_noLocks
    package mutating func settle() { present = target }

    /// Applies the gain to `frames` frames in place; clips.
    @_noLocks
    package mutating func apply(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        let end = target
        if present == end && end == 1 { return }
        var index = 0
        while index < frames {
            if present < end {
                present = present + slope < end ? present + slope : end
            } else if present > end {
                present = present - slope > end ? present - slope : end
            }
            samples[index] = Self.sample(Float(samples[index]) * present)
            index &+= 1
        }
    }

    /// Applies the gain to interleaved pairs of another rate; the ramps last as long.
    ///
    /// - Parameter rate: in Hz.
    @_noLocks
    package mutating func apply(pairs: UnsafeMutablePointer<Int16>, _ frames: Int, rate: Int) {
        let end = target
        if present == end && end == 1 { return }
        let slope = 50 / Float(rate > 0 ? rate : 1)
        var index = 0
        while index < frames {
            if present < end {
                present = present + slope < end ? present + slope : end
            } else if present > end {
                present = present - slope > end ? present - slope : end
            }
            pairs[2 &* index] = Self.sample(Float(pairs[2 &* index]) * present)
            pairs[2 &* index &+ 1] = Self.sample(Float(pairs[2 &* index &+ 1]) * present)
            index &+= 1
        }
    }

    private var target: Float {
        @_noLocks get { isMuted ? 0 : wanted }
    }

    @_noLocks
    private static func sample(_ value: Float) -> Int16 {
        if value >= 32_767 { return 32_767 }
        if value <= -32_768 { return -32_768 }
        return Int16(value + (value < 0 ? -0.5 : 0.5))
    }
}
