/// The last half second of the far end's audio, and how far the listener is behind it: signed 16 bit, mono, at the rate of
/// the bus. Belongs to the audio thread.
///
/// When a headset dies, nobody has heard the audio sent to it since its last sign of life. The next device resumes there, so
/// that no word is lost, and catches up: pauses are cut to 10 ms, and voices lose a few of their periods (``VoicedPeriod``),
/// a fifth at most, so that they sound quicker but not higher. Without a backlog, nothing is delayed or changed.
///
/// The bus may change its rate: the audio that a next device may need is converted.
package struct DownlinkHistory: ~Copyable {
    /// Frames by which the listener is behind.
    package private(set) var backlogFrames = 0
    /// Latest frames returned that nobody has heard.
    package private(set) var unheardFrames = 0

    private var ring: SampleRing
    /// Maximum length of one cut, in frames.
    private var longestPiece: Int
    private var rate: Int
    private let bus: BusRates
    /// Converters from each rate of the bus to each, by their indices.
    private let converters: UnsafeMutablePointer<Resampler>
    private let converted: UnsafeMutablePointer<Int16>
    private let pieceCapacity: Int
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
    package init(rate: Int) { self.init(bus: BusRates(rate)) }

    /// Begins at the lowest rate of the bus.
    package init(bus: BusRates) {
        self.bus = bus
        let rate = bus.lowest
        ring = SampleRing(capacity: bus.highest / 2)
        fade = CrossFade(rate: rate, milliseconds: 10)
        longestPiece = Self.longestPiece(rate)
        self.rate = rate
        let most = bus.highest
        let capacity = max(most / 100 + Self.longestPiece(most), VoicedPeriod.framesNeeded(rate: most))
        around = UnsafeMutablePointer<Int16>.allocate(capacity: capacity)
        around.initialize(repeating: 0, count: capacity)
        converters = .allocate(capacity: bus.count * bus.count)
        for index in 0..<(bus.count * bus.count) {
            let (from, to) = (bus.rate(index / bus.count), bus.rate(index % bus.count))
            (converters + index).initialize(to: Resampler(from: from, to: to))
        }
        // A piece of 10 ms, and what a converter may give beyond it.
        pieceCapacity = most / 100 + 16
        converted = .allocate(capacity: pieceCapacity)
        converted.initialize(repeating: 0, count: pieceCapacity)
    }

    deinit {
        around.deallocate()
        converters.deinitialize(count: bus.count * bus.count).deallocate()
        converted.deallocate()
    }

    @_noLocks
    private static func longestPiece(_ rate: Int) -> Int { rate &* 3 / 200 }

    /// Stores the far end's next 10 ms, and replaces them by the audio to play now.
    ///
    /// - Parameter unheard: known number of the latest frames returned, including these, that nobody hears; negative: these
    ///   frames, in addition to earlier unheard ones.
    @_noLocks
    package mutating func pass(_ block: UnsafeMutablePointer<Int16>, _ frames: Int, unheard: Int) {
        notePeak(block, frames)
        let surplus = ring.available + frames - rate / 2
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
    ///
    /// - Parameter most: if fewer than `count` frames went unheard, up to so many of those before them come again.
    @_noLocks
    package mutating func resume(
        _ output: UnsafeMutablePointer<Int16>, _ count: Int, repeating most: Int = 0
    ) -> Int {
        backlogFrames += unheardFrames
        unheardFrames = 0
        limit(given: 0)
        let missing = count - backlogFrames
        if backlogFrames > 0 && missing > 0 {
            backlogFrames += missing < most ? missing : most
            limit(given: 0)
        }
        let made = ring.peek(
            output, count < backlogFrames ? count : backlogFrames, offset: ring.available - backlogFrames)
        backlogFrames -= made
        unheardFrames = made
        return made
    }

    /// Copies up to `count` of the frames that `pass` stored last, in order, and returns how many.
    @_noLocks
    package func latest(_ output: UnsafeMutablePointer<Int16>, _ count: Int) -> Int {
        let there = ring.available
        let frames = count < there ? count : there
        return ring.peek(output, frames, offset: there - frames)
    }

    /// Discards the history before another call.
    @_noLocks
    package mutating func forget() {
        let frames = ring.available
        _ = ring.discard(frames)
        backlogFrames = 0
        unheardFrames = 0
    }

    /// Continues at another rate of the bus, between two blocks. Converts what may have to be played again: the backlog, the
    /// audio not heard yet and 50 ms before it, a quarter of a second at most.
    @_noLocks
    package mutating func setBus(_ index: Int) {
        let next = bus.rate(bus.bounded(index))
        if next == rate { return }
        var kept = backlogFrames + unheardFrames + rate / 20
        if kept > rate / 4 { kept = rate / 4 }
        if kept > ring.available { kept = ring.available }
        _ = ring.discard(ring.available - kept)
        convert(kept, bus.index(for: rate) * bus.count + bus.index(for: next), to: next)
        backlogFrames = backlogFrames * next / rate
        unheardFrames = unheardFrames * next / rate
        rate = next
        longestPiece = Self.longestPiece(next)
        fade.setLength(next / 100)
        limit(given: 0)
    }

    /// Replaces the `kept` frames in the ring by the same audio at another rate.
    @_noLocks
    private mutating func convert(_ kept: Int, _ converter: Int, to next: Int) {
        converters[converter].reset()
        var delay = converters[converter].delayFrames
        var left = kept * next / rate
        var taken = 0
        let piece = rate / 100
        // A quarter of a second, and the converter's delay.
        var pieces = 30
        while left > 0 && pieces > 0 {
            pieces -= 1
            let wanted = kept - taken < piece ? kept - taken : piece
            let frames = wanted > 0 ? ring.peek(around, wanted, offset: taken) : 0
            // After the last frame silence, until the converter has given it.
            Mixer.clear(around + frames, piece - frames)
            taken += frames
            let made = converters[converter].process(around, piece, converted, pieceCapacity).made
            let late = delay < made ? delay : made
            delay -= late
            let used = made - late < left ? made - late : left
            left -= ring.write(converted + late, used)
        }
        _ = ring.discard(kept)
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
        let latest = Mixer.peak(samples, frames)
        peak = peak * 199 / 200
        if latest > peak { peak = latest }
    }
}
