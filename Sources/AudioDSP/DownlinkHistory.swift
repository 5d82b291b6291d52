import CBTCall

/// The last half second of what the far end said, and how far behind it the listener is: signed 16 bit, mono, at the rate
/// of the bus. Belongs to the audio thread.
///
/// When a headset dies, what was given to it since its last sign of life has been heard by nobody. The next device begins
/// there, and catches up: in pauses at once, in speech by leaving out a pitch period now and then, cross-faded, so that
/// it is played an eighth faster and no word is lost. While nobody is behind, nothing is copied and nothing is changed.
package struct DownlinkHistory: ~Copyable {
    /// Frames that the listener is behind.
    package private(set) var backlogFrames = 0
    /// Frames of the latest samples given out that nobody has heard.
    package private(set) var unheardFrames = 0

    private var ring: SampleRing
    private let rate: Int
    /// What is played between two shortenings at least, in frames.
    private let spacing: Int
    private let shortestLag: Int
    private let longestLag: Int
    private var sinceShortening = 0
    private let around: UnsafeMutablePointer<Int16>
    private let aroundCapacity: Int

    /// - Parameter rate: frames per second of the bus.
    package init(rate: Int) {
        self.rate = rate
        ring = SampleRing(capacity: rate / 2)
        spacing = rate * 8 / 100
        shortestLag = rate / 400
        longestLag = rate * 3 / 200
        aroundCapacity = rate / 100 * 3 + longestLag
        around = UnsafeMutablePointer<Int16>.allocate(capacity: aroundCapacity)
        around.initialize(repeating: 0, count: aroundCapacity)
    }

    deinit { around.deallocate() }

    /// Takes what the far end says now, 10 ms, and replaces it by what the listener is to hear now.
    ///
    /// - Parameter unheard: frames of what was given out lately, with these, that nobody hears, if it is known; negative:
    ///   these, and those before that were not heard either.
    @_noLocks
    package mutating func pass(_ block: UnsafeMutablePointer<Int16>, _ frames: Int, unheard: Int) {
        let surplus = frames - ring.free
        if surplus > 0 { _ = ring.discard(surplus) }
        _ = ring.write(block, frames)
        unheardFrames = unheard < 0 ? unheardFrames + frames : unheard
        limit(given: frames)
        if backlogFrames > 0 { play(block, frames) }
    }

    /// A new device continues for one that has died: gives out again what nobody has heard, from its beginning.
    ///
    /// Copies up to `count` frames, which are the first of it, to `output`, and returns how many; `pass` goes on behind
    /// them.
    @_noLocks
    package mutating func resume(_ output: UnsafeMutablePointer<Int16>, _ count: Int) -> Int {
        backlogFrames += unheardFrames
        unheardFrames = 0
        sinceShortening = 0
        limit(given: 0)
        let made = ring.peek(
            output, count < backlogFrames ? count : backlogFrames, offset: ring.available - backlogFrames)
        backlogFrames -= made
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
    private mutating func play(_ block: UnsafeMutablePointer<Int16>, _ frames: Int) {
        let start = ring.available - frames - backlogFrames
        _ = ring.peek(block, frames, offset: start)
        sinceShortening += frames
        let isQuiet = loudest(block, frames) < 60
        if sinceShortening < spacing && !isQuiet { return }
        // As far as there is something to compare with: less when nearly all has been caught up with.
        let there = ring.peek(
            around, aroundCapacity < frames + backlogFrames ? aroundCapacity : frames + backlogFrames, offset: start)
        var most = there - frames
        if most > longestLag { most = longestLag }
        if most <= 0 { return }
        var lag = most
        if !isQuiet && most >= shortestLag { lag = bestLag(frames, there: there, most: most) }
        var index = 0
        while index < frames {
            let change = Int(around[index + lag]) - Int(around[index])
            block[index] = Int16(truncatingIfNeeded: Int(around[index]) + change * index / frames)
            index += 1
        }
        backlogFrames -= lag
        sinceShortening = 0
    }

    @_noLocks
    private func loudest(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Int {
        var most = 0
        var index = 0
        while index < frames {
            let value = Int(samples[index])
            if value > most { most = value }
            if -value > most { most = -value }
            index += 1
        }
        return most
    }

    /// The distance at which the audio is most like itself; of two that are as good, the longer one.
    @_noLocks
    private func bestLag(_ frames: Int, there: Int, most: Int) -> Int {
        var best = shortestLag
        var bestScore: Float = -2
        var lag = shortestLag
        while lag <= most {
            let window = there - lag < 2 * frames ? there - lag : 2 * frames
            var product: Float = 0
            var here: Float = 1
            var later: Float = 1
            var index = 0
            while index < window {
                let first = Float(around[index])
                let second = Float(around[index + lag])
                product += first * second
                here += first * first
                later += second * second
                index += 1
            }
            let score = product / btcall_square_root(here * later) + 0.1 * Float(lag) / Float(longestLag)
            if score > bestScore {
                bestScore = score
                best = lag
            }
            lag += 1
        }
        return best
    }
}
