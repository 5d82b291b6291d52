/// Keeps a sound card's queue at its target although another clock fills it (docs/inside/Audio.md): computes the deviation
/// of the resampler before the card from its nominal ratio.
///
/// Each block supplies two inputs: the card's queue, and the time of that reading. A block is due when its clock says so,
/// but the thread sometimes looks late, or finds several blocks at once, while the card plays on. Frames played since the
/// block was due are added back, so that lateness of the thread is not taken for drift.
package struct PlaybackSteering: Sendable {
    /// Deviation in milliseconds beyond which the cause is not the clocks.
    private static let smallMilliseconds = 4.0
    /// Correction of such a deviation: 1 ms in 2.5 s, far below the audible.
    private static let pacePPM = 400.0
    /// Averaging length of the queue in blocks: half a second.
    private static let smoothing = 50.0
    /// Limit by which a block can be due later than the earliest blocks suggest: 600 ppm, for clocks 500 ppm apart.
    private static let creep: Int64 = 6_000
    /// A larger difference is a jump of the clock.
    private static let jump: Int64 = 200_000_000
    /// Blocks after a start during which nothing is dropped.
    private static let settling = 500

    private let target: Int
    private let rate: Int
    private let blockNanoseconds: Int64
    private var drift: DriftController
    /// Queue averaged over half a second; negative if unknown.
    private var smoothed = -1.0
    /// When the latest block was due.
    private var due: Int64 = 0
    private var blocks = 0

    /// - Parameters:
    ///   - target: frames to hold in the queue.
    ///   - rate: of the queue, in Hz.
    ///   - blocksPerSecond: how often `update` is called, on average.
    package init(target: Int, rate: Int, blocksPerSecond: Int = 100) {
        self.target = target
        self.rate = rate
        blockNanoseconds = 1_000_000_000 / Int64(max(blocksPerSecond, 1))
        drift = DriftController(target: target, rate: rate, updatesPerSecond: blocksPerSecond)
    }

    /// Resets the level after the queue was refilled; keeps the learnt difference of the clocks.
    @_noLocks
    package mutating func restart() {
        drift.reset()
        smoothed = -1
        blocks = 0
    }

    /// Processes the frames queued at `now`, after a block was written; returns by how many ppm more than nominal to fill
    /// the queue.
    ///
    /// - Parameter now: nanoseconds of the system's clock.
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
        // For example a stall: nothing is learnt from it.
        drift.reset()
        return drift.learnedPPM + (milliseconds > 0 ? Self.pacePPM : -Self.pacePPM)
    }

    /// Frames to drop from the next block, because the queue stays above its ceiling. Always 0 soon after a start, when the
    /// rate corrects it instead.
    @_noLocks
    package func excess(queued: Int) -> Int {
        if blocks < Self.settling || smoothed <= Double(drift.ceiling) { return 0 }
        return drift.excess(level: queued)
    }

    /// Time since the block was due, in nanoseconds; negative when it came earlier than any before.
    @_noLocks
    private mutating func lateness(_ now: Int64) -> Int64 {
        due = due &+ blockNanoseconds
        let late = now &- due
        if blocks == 0 || late > Self.jump || late < -Self.jump {
            due = now
            return 0
        }
        // A block can be late, never early: the earliest ones determine when blocks are due.
        due = due &+ (late < Self.creep ? late : Self.creep)
        return late
    }
}
