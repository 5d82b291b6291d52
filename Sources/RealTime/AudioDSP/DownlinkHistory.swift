/// The last half second of the far end's audio, and how far the listener is behind it: signed 16 bit, mono, at the rate of
/// the bus. Belongs to the audio thread.
///
/// When a headset dies, nobody has heard the audio sent to it since its last sign of life. The next device resumes there, so
/// that no word is lost, and catches up: pauses are cut to 10 ms, and voices lose a few of their periods (``VoicedPeriod``),
/// a fifth at most, so that they sound quicker but not higher. Without a backlog, nothing is delayed or changed.
package struct DownlinkHistory: ~Copyable {
    /// Frames by which the listener is behind.
    package private(set) var backlogFrames = 0
    /// Latest frames returned that nobody has heard.
    package private(set) var unheardFrames = 0

    private var ring: SampleRing
    /// Maximum length of one cut, in frames.
    private let longestPiece: Int
    private let rate: Int
    /// Blocks until a voice may be shortened again: at most once in 70 ms.
    private var blocksToRest = 0
    private static var restingBlocks: Int { @_noLocks get { 7 } }
    /// Recent maximum of the audio, and the threshold of a pause: 24 dB below it, and any inaudible level.
    private var peak = 0
    private static var inaudible: Int { @_noLocks get { 60 } }
    private let around: UnsafeMutablePointer<Int16>
    /// Crossfade over a cut, 10 ms.
    private var fade: CrossFade

    /// - Parameter rate: of the bus, in Hz.
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

    /// Stores the far end's next 10 ms, and replaces them by the audio to play now.
    ///
    /// - Parameter unheard: known number of the latest frames returned, including these, that nobody hears; negative: these
    ///   frames, in addition to earlier unheard ones.
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

    /// Continues on a new device after one that has died: returns the unheard audio again, from its beginning.
    ///
    /// Copies up to `count` frames, the earliest, to `output`, and returns how many; `pass` continues after them. They count
    /// as unheard until `pass` says otherwise.
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

    /// Discards the history before another call.
    @_noLocks
    package mutating func forget() {
        let frames = ring.available
        _ = ring.discard(frames)
        backlogFrames = 0
        unheardFrames = 0
    }

    /// Limits the backlog to the stored audio.
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
        // Unheard audio is repeated, so it must not be shortened.
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

    /// Returns how many frames of the voice at `start` can be cut; fills `around`.
    @_noLocks
    private mutating func voicedFrames(_ start: Int, _ frames: Int) -> Int {
        let needed = VoicedPeriod.framesNeeded(rate: rate)
        if blocksToRest > 0 || backlogFrames + frames < needed { return 0 }
        _ = ring.peek(around, needed, offset: start)
        let period = VoicedPeriod.find(around, rate: rate)
        if period > 0 { blocksToRest = Self.restingBlocks }
        return period
    }

    /// Returns how many of the first `count` frames of `around` belong to a pause.
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

    /// Tracks the peak: up at once, down by half in 1.4 s.
    @_noLocks
    private mutating func notePeak(_ samples: UnsafePointer<Int16>, _ frames: Int) {
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
        peak = peak * 199 / 200
        if Int(highest) > peak { peak = Int(highest) }
        if -Int(lowest) > peak { peak = -Int(lowest) }
    }
}
