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
            let sum = Int32(destination[index]) &+ Int32(source[index])
            let low = sum < -32_768 ? -32_768 : sum
            destination[index] = Int16(truncatingIfNeeded: low > 32_767 ? 32_767 : low)
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
}
