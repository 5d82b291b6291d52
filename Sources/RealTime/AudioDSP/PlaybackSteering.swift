/// Keeps a sound card's queue at its target although the clock that fills it is not the card's (docs/inside/Audio.md): says
/// by how much the resampler before the card has to depart from its nominal ratio.
///
/// Two things go in with each block: how much the card has queued, and when that was looked at. A block comes when its
/// clock says so, but a thread looks late at times, or finds several blocks at once; the card has played on meanwhile. What
/// it has played since the block was due is added again, so that lateness of the thread is not taken for drift.
package struct PlaybackSteering: Sendable {
    /// Milliseconds beyond which a departure from the target is not the clocks'.
    private static let smallMilliseconds = 4.0
    /// The pace at which such a departure is worked off: 1 ms in 2.5 s, far below what is heard.
    private static let pacePPM = 400.0
    /// Blocks over which the queue is averaged: half a second.
    private static let smoothing = 50.0
    /// By how much later than the earliest blocks tell a block can be due: 600 ppm, for clocks 500 ppm apart.
    private static let creep: Int64 = 6_000
    /// A clock that is further off than that has made a jump.
    private static let jump: Int64 = 200_000_000
    /// Blocks after a start for which nothing is cut off.
    private static let settling = 500

    private let target: Int
    private let rate: Int
    private let blockNanoseconds: Int64
    private var drift: DriftController
    /// The queue over half a second; negative: not known.
    private var smoothed = -1.0
    /// When the latest block was due.
    private var due: Int64 = 0
    private var blocks = 0

    /// - Parameters:
    ///   - target: frames to hold in the queue.
    ///   - rate: frames per second of the queue.
    ///   - blocksPerSecond: how often `update` is called, on average.
    package init(target: Int, rate: Int, blocksPerSecond: Int = 100) {
        self.target = target
        self.rate = rate
        blockNanoseconds = 1_000_000_000 / Int64(max(blocksPerSecond, 1))
        drift = DriftController(target: target, rate: rate, updatesPerSecond: blocksPerSecond)
    }

    /// After the queue was filled anew: keeps what was learned of the clocks.
    @_noLocks
    package mutating func restart() {
        drift.reset()
        smoothed = -1
        blocks = 0
    }

    /// Takes the frames that were queued at `now`, after a block was written; returns by how many ppm more than nominal to
    /// give.
    ///
    /// - Parameter now: nanoseconds on the clock of the system.
    @_noLocks
    package mutating func update(queued: Int, now: Int64) -> Double {
        let level = Double(queued) + Double(lateness(now)) * Double(rate) / 1e9
        if smoothed < 0 { smoothed = level }
        smoothed += (level - smoothed) / Self.smoothing
        blocks &+= 1
        let milliseconds = (Double(target) - smoothed) * 1000 / Double(rate)
        if milliseconds < Self.smallMilliseconds && milliseconds > -Self.smallMilliseconds {
            return drift.update(level: Int(level))
        }
        // A stall, for instance: nothing is learned from it.
        drift.reset()
        return drift.learnedPPM + (milliseconds > 0 ? Self.pacePPM : -Self.pacePPM)
    }

    /// Frames to leave out of the next block: the queue is above its ceiling and stays there. Never soon after a start,
    /// when it is worked off instead.
    @_noLocks
    package func excess(queued: Int) -> Int {
        if blocks < Self.settling || smoothed <= Double(drift.ceiling) { return 0 }
        return drift.excess(level: queued)
    }

    /// How long ago the block was due, in nanoseconds; negative when it came earlier than any before.
    @_noLocks
    private mutating func lateness(_ now: Int64) -> Int64 {
        due = due &+ blockNanoseconds
        let late = now &- due
        if blocks == 0 || late > Self.jump || late < -Self.jump {
            due = now
            return 0
        }
        // A block can come late, never early: the earliest ones tell when they are due.
        due = due &+ (late < Self.creep ? late : Self.creep)
        return late
    }
}
