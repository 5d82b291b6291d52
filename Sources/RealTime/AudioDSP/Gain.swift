/// A volume that moves in ramps, so that it does not click.
package struct Gain: Sendable {
    /// Per frame: from 0 to 1 in 20 ms.
    private let slope: Float
    private var present: Float
    private var wanted: Float
    private var isMuted = false

    /// - Parameters:
    ///   - rate: frames per second.
    ///   - gain: a factor, in force at once.
    package init(rate: Int, gain: Float = 1) {
        slope = 50 / Float(max(rate, 1))
        present = gain
        wanted = gain
    }

    /// No ramp is under way.
    package var isSettled: Bool {
        @_noLocks get { present == target }
    }

    /// What comes out is what goes in.
    package var isOpen: Bool {
        @_noLocks get { present == 1 && target == 1 }
    }

    /// What comes out is digital zero.
    package var isSilent: Bool {
        @_noLocks get { present == 0 && target == 0 }
    }

    /// Ramps to a factor, 0 and more; 20 ms for a change by 1.
    @_noLocks
    package mutating func set(_ gain: Float) {
        // NaN too becomes 0.
        wanted = gain > 0 ? gain : 0
    }

    /// Ramps to digital zero, or back to the factor.
    @_noLocks
    package mutating func setMuted(_ muted: Bool) {
        isMuted = muted
    }

    /// Ends the ramp at once: nobody hears it.
    @_noLocks
    package mutating func settle() { present = target }

    /// Changes `frames` frames in place; too loud becomes as loud as possible.
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

    /// The same for interleaved pairs of another rate: the ramps last as long.
    ///
    /// - Parameter rate: frames per second.
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
