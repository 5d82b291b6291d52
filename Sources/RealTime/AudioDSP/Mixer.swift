import CBTCall

/// Operations on signed 16 bit audio.
package enum Mixer {
    /// Adds `frames` frames to `destination`; clips.
    @_noLocks
    package static func add(
        _ source: UnsafePointer<Int16>, _ frames: Int, to destination: UnsafeMutablePointer<Int16>
    ) {
        var index = 0
        while index < frames {
            destination[index] = sum(destination[index], source[index])
            index &+= 1
        }
    }

    /// Copies `frames` frames; the buffers may overlap.
    @_noLocks
    package static func copy(
        _ source: UnsafePointer<Int16>, _ frames: Int, to destination: UnsafeMutablePointer<Int16>
    ) {
        if frames > 0 { btcall_move(destination, source, frames &* 2) }
    }

    /// Fills `frames` frames with digital silence.
    @_noLocks
    package static func clear(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames {
            samples[index] = 0
            index &+= 1
        }
    }

    /// Adds `frames` frames of one channel to both sides of interleaved pairs; clips.
    @_noLocks
    package static func add(
        _ source: UnsafePointer<Int16>, _ frames: Int, toPairs pairs: UnsafeMutablePointer<Int16>
    ) {
        var index = 0
        while index < frames {
            pairs[2 &* index] = sum(pairs[2 &* index], source[index])
            pairs[2 &* index &+ 1] = sum(pairs[2 &* index &+ 1], source[index])
            index &+= 1
        }
    }

    /// Whether `frames` frames are digital silence. Without an early end, so that the compiler uses vectors: the block of a
    /// bus that nothing plays on is looked at in each tick.
    @_noLocks
    package static func isSilent(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Bool {
        var bits: Int16 = 0
        var index = 0
        while index < frames {
            bits |= samples[index]
            index &+= 1
        }
        return bits == 0
    }

    @_noLocks
    private static func sum(_ left: Int16, _ right: Int16) -> Int16 {
        let sum = Int32(left) &+ Int32(right)
        let low = sum < -32_768 ? -32_768 : sum
        return Int16(truncatingIfNeeded: low > 32_767 ? 32_767 : low)
    }

    /// Largest absolute sample.
    @_noLocks
    package static func peak(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Int {
        // Over 16 bits at a time, which the compiler turns into vectors.
        var highest: Int16 = 0
        var lowest: Int16 = 0
        var index = 0
        while index < frames {
            let value = samples[index]
            highest = value > highest ? value : highest
            lowest = value < lowest ? value : lowest
            index &+= 1
        }
        return Int(highest) > -Int(lowest) ? Int(highest) : -Int(lowest)
    }
}
