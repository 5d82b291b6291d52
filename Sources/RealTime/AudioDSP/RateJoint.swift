import CBTCall

/// Joins the first block after a change of converters to the audio before it, when both converters give the same rate.
///
/// The two have different delays, so that the new one would skip up to 3 ms, or repeat them. The block therefore begins
/// where the old converter ended, and passes by a straight cross-fade over its first half to where the new converter is.
package struct RateJoint: ~Copyable {
    /// Maximum frames of a block.
    package let capacity: Int
    /// The new converter's audio before the block, right-aligned, and the block: `capacity` frames each.
    private let line: UnsafeMutablePointer<Int16>
    /// The last block given to the old converter, at the old rate.
    private let last: UnsafeMutablePointer<Int16>
    private var lastFrames = 0
    /// Frames by which the old converter is later than the new one; negative: earlier.
    private var shift = 0
    /// The next block has to be joined.
    package private(set) var isPending = false

    /// - Parameter capacity: 0 for a joint that is never used.
    package init(capacity: Int) {
        self.capacity = capacity
        line = .allocate(capacity: 2 * capacity)
        line.initialize(repeating: 0, count: 2 * capacity)
        last = .allocate(capacity: capacity)
        last.initialize(repeating: 0, count: capacity)
    }

    deinit {
        line.deallocate()
        last.deallocate()
    }

    /// Forgets what was noted, and joins nothing.
    @_noLocks
    package mutating func forget() {
        isPending = false
        lastFrames = 0
        Mixer.clear(line, 2 &* capacity)
    }

    /// Room for `capacity` frames of the new converter before the block, to be followed by `note`.
    package var room: UnsafeMutablePointer<Int16> { @_noLocks get { line } }

    /// Keeps `frames` frames in `room` as those just before the next block.
    @_noLocks
    package mutating func note(_ frames: Int) {
        if frames <= 0 || frames >= capacity { return }
        btcall_move(line + (capacity &- frames), line, 2 &* frames)
    }

    /// Joins the next block.
    ///
    /// - Parameter shift: frames by which the old converter is later than the new one.
    @_noLocks
    package mutating func begin(shift: Int) {
        let most = capacity / 2
        self.shift = shift > most ? most : shift < 0 &- most ? 0 &- most : shift
        isPending = capacity > 0
    }

    /// Changes the first block in place.
    @_noLocks
    package mutating func join(_ block: UnsafeMutablePointer<Int16>, _ given: Int) {
        isPending = false
        let frames = given < capacity ? given : capacity
        // The place of an earlier converter lies later in the block, as far as that goes.
        let most = shift < 0 ? frames &+ shift : frames
        let length = most < frames / 2 ? most : frames / 2
        if length <= 0 { return }
        btcall_move(line + capacity, block, 2 &* frames)
        let from = line + (capacity &- shift)
        var index = 0
        while index < length {
            let old = Int(from[index])
            block[index] = Int16(truncatingIfNeeded: old &+ (Int(block[index]) &- old) &* index / length)
            index &+= 1
        }
    }

    // MARK: The past at another rate

    /// Keeps the last block of the old rate, from which a new converter gets its past.
    @_noLocks
    package mutating func keep(_ block: UnsafePointer<Int16>, _ frames: Int) {
        lastFrames = frames < capacity ? frames : capacity
        Mixer.copy(block, lastFrames, to: last)
    }

    /// The last block at the new rate; `pastFrames` gives its length.
    package var past: UnsafePointer<Int16> { @_noLocks get { UnsafePointer(line + capacity) } }

    /// Interpolates the last block to the rate of the next one, and returns its frames there.
    ///
    /// Cubic: it only fills a filter, and serves the first milliseconds of a cross-fade.
    ///
    /// - Parameter next: the next block, as many frames as the last one will have.
    @_noLocks
    package mutating func pastFrames(before next: UnsafePointer<Int16>, _ given: Int) -> Int {
        let frames = given < capacity ? given : capacity
        if lastFrames <= 0 || frames < 8 { return 0 }
        let output = line + capacity
        var index = 0
        while index < frames {
            // Both blocks last equally long.
            let place = index &* lastFrames
            let whole = place / frames
            let part = Float(place &- whole &* frames) / Float(frames)
            let a = value(whole &- 1, next, frames)
            let b = value(whole, next, frames)
            let c = value(whole &+ 1, next, frames)
            let d = value(whole &+ 2, next, frames)
            let first = 0.5 * (c - a)
            let second = a - 2.5 * b + 2 * c - 0.5 * d
            let third = 0.5 * (d - a) + 1.5 * (b - c)
            let result = b + part * (first + part * (second + part * third))
            output[index] = Int16(result > 32_767 ? 32_767 : result < -32_768 ? -32_768 : result)
            index &+= 1
        }
        return frames
    }

    /// A sample of the last block, or of the next one after its end.
    @_noLocks
    private func value(_ index: Int, _ next: UnsafePointer<Int16>, _ frames: Int) -> Float {
        if index < 0 { return Float(last[0]) }
        if index < lastFrames { return Float(last[index]) }
        let later = (index &- lastFrames) &* frames / lastFrames
        return Float(next[later < frames ? later : frames &- 1])
    }
}
