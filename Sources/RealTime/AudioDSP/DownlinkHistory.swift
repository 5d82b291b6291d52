/// The last half second of what the far end said, and how far behind it the listener is: signed 16 bit, mono, at the rate
/// of the bus. Belongs to the audio thread.
///
/// When a headset dies, what was given to it since its last sign of life has been heard by nobody. The next device begins
/// there, so that no word is lost, and catches up: of pauses it leaves out all but 10 ms, and of voices a few of their
/// periods (``VoicedPeriod``), a fifth at most, so that they sound quicker and not higher. While nobody is
/// behind, nothing is delayed and nothing is changed.
package struct DownlinkHistory: ~Copyable {
    /// Frames that the listener is behind.
    package private(set) var backlogFrames = 0
    /// Frames of the latest samples given out that nobody has heard.
    package private(set) var unheardFrames = 0

    private var ring: SampleRing
    /// What is left out at once at most, in frames.
    private let longestPiece: Int
    private let rate: Int
    /// Blocks until a voice may be shortened again: it is, once in 70 ms at most.
    private var blocksToRest = 0
    private static var restingBlocks: Int { @_noLocks get { 7 } }
    /// The loudest that was said lately, and what passes for a pause beside it: 24 dB less, and what nobody hears.
    private var peak = 0
    private static var inaudible: Int { @_noLocks get { 60 } }
    private let around: UnsafeMutablePointer<Int16>
    /// From what is left out to what follows it, 10 ms.
    private var fade: CrossFade

    /// - Parameter rate: frames per second of the bus.
    package init(rate: Int) {
        ring = SampleRing(capacity: rate / 2)
        fade = CrossFade(rate: rate, milliseconds: 10)
        longestPiece = rate * 3 / 200
        self.rate = rate
        let capacity = max(rate / 100 + longestPiece, VoicedPeriod.framesNeeded(rate: rate))
        around = UnsafeMutablePointer<Int16>.allocate(capacity: capacity)
        around.initialize(repeating: 0, count: capacity)
    }

    deinit { around.deallocate() }

    /// Takes what the far end says now, 10 ms, and replaces it by what the listener is to hear now.
    ///
    /// - Parameter unheard: frames of what was given out lately, with these, that nobody hears, if it is known; negative:
    ///   these, and those before that were not heard either.
    @_noLocks
    package mutating func pass(_ block: UnsafeMutablePointer<Int16>, _ frames: Int, unheard: Int) {
        notePeak(block, frames)
        let surplus = frames - ring.free
        if surplus > 0 { _ = ring.discard(surplus) }
        _ = ring.write(block, frames)
        unheardFrames = unheard < 0 ? unheardFrames + frames : unheard
        limit(given: frames)
        if backlogFrames > 0 { play(block, frames, catchesUp: unheard >= 0) }
    }

    /// A new device continues for one that has died: gives out again what nobody has heard, from its beginning.
    ///
    /// Copies up to `count` frames, which are the first of it, to `output`, and returns how many; `pass` goes on behind
    /// them. They count as unheard until `pass` says otherwise.
    @_noLocks
    package mutating func resume(_ output: UnsafeMutablePointer<Int16>, _ count: Int) -> Int {
        backlogFrames += unheardFrames
        unheardFrames = 0
        limit(given: 0)
        let made = ring.peek(
            output, count < backlogFrames ? count : backlogFrames, offset: ring.available - backlogFrames)
        backlogFrames -= made
        unheardFrames = made
        return made
    }

    /// What was said does not belong to what comes: another call.
    @_noLocks
    package mutating func forget() {
        let frames = ring.available
        _ = ring.discard(frames)
        backlogFrames = 0
        unheardFrames = 0
    }

    /// No more than is kept can be given out again.
    @_noLocks
    private mutating func limit(given: Int) {
        let most = ring.available - given
        if backlogFrames > most { backlogFrames = most }
        if backlogFrames + unheardFrames > ring.available { unheardFrames = ring.available - backlogFrames }
    }

    @_noLocks
    private mutating func play(_ block: UnsafeMutablePointer<Int16>, _ frames: Int, catchesUp: Bool) {
        let start = ring.available - frames - backlogFrames
        _ = ring.peek(block, frames, offset: start)
        // What nobody hears is given out again: it must not be shortened.
        if !catchesUp { return }
        if blocksToRest > 0 { blocksToRest -= 1 }
        let piece = longestPiece < backlogFrames ? longestPiece : backlogFrames
        let there = ring.peek(around, frames + piece, offset: start)
        var left = quietFrames(there) - frames
        if left <= 0 { left = voicedFrames(start, frames) }
        if left <= 0 { return }
        fade.start()
        fade.blend(from: around, to: around + left, into: block, frames)
        backlogFrames -= left
    }

    /// How many frames of the voice at `start` can be left out; fills `around`.
    @_noLocks
    private mutating func voicedFrames(_ start: Int, _ frames: Int) -> Int {
        let needed = VoicedPeriod.framesNeeded(rate: rate)
        if blocksToRest > 0 || backlogFrames + frames < needed { return 0 }
        _ = ring.peek(around, needed, offset: start)
        let period = VoicedPeriod.find(around, rate: rate)
        if period > 0 { blocksToRest = Self.restingBlocks }
        return period
    }

    /// How many of the first `count` frames of `around` belong to a pause.
    @_noLocks
    private func quietFrames(_ count: Int) -> Int {
        let bound = peak / 16 > Self.inaudible ? peak / 16 : Self.inaudible
        var index = 0
        while index < count {
            let value = Int(around[index])
            if value > bound || -value > bound { return index }
            index += 1
        }
        return count
    }

    /// Follows what is loudest up at once, and down by half in 1.4 s.
    @_noLocks
    private mutating func notePeak(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        peak = peak * 199 / 200
        var index = 0
        while index < frames {
            let value = Int(samples[index])
            if value > peak { peak = value }
            if -value > peak { peak = -value }
            index += 1
        }
    }
}
