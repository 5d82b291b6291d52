/// Keeps the queue between two clocks at its target by steering a resampler (docs/inside/Audio.md).
///
/// A slow loop: proportional to the deviation of the smoothed level, plus the learnt difference of the clocks. It settles in
/// half a minute and stays within ±1000 ppm, which is inaudible. `excess` drops what it cannot hold.
package struct DriftController: Sendable {
    /// Half a second: the level constantly jumps by a block or a period.
    private static let smoothing = 0.5
    /// Per second; critically damped with `learning`.
    private static let pull = 0.28
    private static let learning = 0.0196
    private static let limitPPM = 1000.0

    /// Frames to hold, and the limit.
    package let target: Int
    package let ceiling: Int
    /// Latest result, and the part of it that is the difference of the clocks.
    package private(set) var ppm: Double = 0
    package private(set) var learnedPPM: Double = 0

    private let rate: Double
    private let interval: Double
    private var level: Double = 0
    private var hasLevel = false

    /// - Parameters:
    ///   - target: frames to hold in the queue.
    ///   - rate: of the queue, in Hz.
    ///   - ceiling: maximum frames in the queue; twice the target if nil.
    ///   - updatesPerSecond: how often `update` is called.
    package init(target: Int, rate: Int, ceiling: Int? = nil, updatesPerSecond: Int = 100) {
        self.target = target
        self.ceiling = ceiling ?? target * 2
        self.rate = Double(max(rate, 1))
        interval = 1 / Double(max(updatesPerSecond, 1))
    }

    /// Processes the queue's level in frames; returns by how many ppm more than nominal to fill it.
    ///
    /// Positive when the queue is short: give it to `AdaptiveResampler.setDrift(ppm:)` of the resampler that fills it.
    @_noLocks
    package mutating func update(level frames: Int) -> Double {
        let present = Double(frames)
        if hasLevel {
            level += (present - level) * (interval / Self.smoothing)
        } else {
            level = present
            hasLevel = true
        }
        let error = (Double(target) - level) / rate
        let wanted = error * Self.pull * 1e6 + learnedPPM
        // At the limit nothing is learnt: the deviation then has another cause than the clocks.
        if wanted < Self.limitPPM && wanted > -Self.limitPPM {
            learnedPPM = Self.bounded(learnedPPM + error * Self.learning * interval * 1e6)
        }
        ppm = Self.bounded(wanted)
        return ppm
    }

    /// Frames to drop now: back to the target when the queue is above the ceiling, otherwise 0.
    @_noLocks
    package func excess(level frames: Int) -> Int {
        frames > ceiling ? frames &- target : 0
    }

    /// Resets the level after the queue was refilled; keeps the learnt difference of the clocks.
    @_noLocks
    package mutating func reset() {
        hasLevel = false
        ppm = learnedPPM
    }

    @_noLocks
    private static func bounded(_ value: Double) -> Double {
        if value > limitPPM { return limitPPM }
        return value < -limitPPM ? -limitPPM : value
    }
}
