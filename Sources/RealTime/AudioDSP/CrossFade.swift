/// Crossfade by straight ramps whose sum is always 1: inaudible between two copies of the same audio.
package struct CrossFade: Sendable {
    private var length: Int
    /// Frames done; `length` when no fade is running.
    private var position: Int

    /// Creates a crossfade that is not running.
    ///
    /// - Parameters:
    ///   - rate: in Hz.
    ///   - milliseconds: duration, at least one frame.
    package init(rate: Int, milliseconds: Int = 20) {
        length = max(1, rate * milliseconds / 1000)
        position = length
    }

    /// Sets the duration in frames, for another sample rate; a fade that is running goes on from the same share.
    @_noLocks
    package mutating func setLength(_ frames: Int) {
        let new = frames > 0 ? frames : 1
        position = isRunning ? position &* new / length : new
        length = new
    }

    package var isRunning: Bool {
        @_noLocks get { position < length }
    }

    /// Frames until only the new audio is left.
    package var framesLeft: Int {
        @_noLocks get { length &- position }
    }

    /// Starts with the old audio only.
    @_noLocks
    package mutating func start() {
        position = 0
    }

    /// Ends at once, with the new audio only.
    @_noLocks
    package mutating func cancel() {
        position = length
    }

    /// Advances by `frames` frames, after `fadeOut` and `fadeIn`.
    @_noLocks
    package mutating func advance(_ frames: Int) {
        position = frames < length &- position ? position &+ frames : length
    }

    /// Fades `frames` frames of the old audio out in place, from the present position on; silence after the end.
    @_noLocks
    package func fadeOut(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames {
            let left = length &- position &- index
            samples[index] = left > 0 ? Int16(truncatingIfNeeded: Int(samples[index]) &* left / length) : 0
            index &+= 1
        }
    }

    /// Fades `frames` frames of the new audio in in place, from the present position on.
    @_noLocks
    package func fadeIn(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames && position &+ index < length {
            samples[index] = Int16(truncatingIfNeeded: Int(samples[index]) &* (position &+ index) / length)
            index &+= 1
        }
    }

    /// Writes the faded sum of both to `output`, which may be one of them, and advances.
    @_noLocks
    package mutating func blend(
        from old: UnsafePointer<Int16>, to new: UnsafePointer<Int16>, into output: UnsafeMutablePointer<Int16>,
        _ frames: Int
    ) {
        var index = 0
        while index < frames {
            let done = position &+ index
            if done < length {
                let change = Int(new[index]) &- Int(old[index])
                output[index] = Int16(truncatingIfNeeded: Int(old[index]) &+ change &* done / length)
            } else {
                output[index] = new[index]
            }
            index &+= 1
        }
        advance(frames)
    }
}
