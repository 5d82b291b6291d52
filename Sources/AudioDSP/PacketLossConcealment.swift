import CBTCall

/// Makes up lost audio from what was heard before, without delaying what arrives (waveform substitution).
///
/// A loss continues with the last pitch period, repeated; after 10 ms it fades, after 60 ms it is silent. The first good
/// frames after a loss are faded over from the made-up ones.
package struct PacketLossConcealment: ~Copyable {
    private let rate: Int
    private let history: UnsafeMutablePointer<Float>
    private let historyFrames: Int
    private let cycle: UnsafeMutablePointer<Float>
    private let minimumPeriod: Int
    private let maximumPeriod: Int
    private let windowFrames: Int
    /// The search looks at only every so many frames first: it costs the same at all rates.
    private let stride: Int
    private let holdFrames: Int
    private let fadeFrames: Int
    private let jointFrames: Int

    private var period: Int
    private var position = 0
    private var gain: Float = 0
    /// The step at the beginning of the loss, let out over `jointFrames`.
    private var step: Float = 0
    /// Frames made up in the present loss; goes on counting while the next good ones are faded in.
    private var made = 0
    private var blendFrames = 0
    private var blended = 0

    /// Frames are being made up, or were until the last good one.
    package private(set) var isConcealing = false

    /// - Parameter rate: frames per second, 8000 to 48000.
    package init(rate: Int) {
        self.rate = rate
        minimumPeriod = rate / 400
        maximumPeriod = rate * 15 / 1000
        windowFrames = rate / 100
        stride = rate < 16_000 ? 1 : rate / 8_000
        holdFrames = rate / 100
        fadeFrames = rate / 20
        jointFrames = rate / 800
        period = minimumPeriod
        historyFrames = windowFrames + maximumPeriod + stride
        history = UnsafeMutablePointer<Float>.allocate(capacity: historyFrames)
        history.initialize(repeating: 0, count: historyFrames)
        cycle = UnsafeMutablePointer<Float>.allocate(capacity: maximumPeriod + 1)
        cycle.initialize(repeating: 0, count: maximumPeriod + 1)
    }

    deinit {
        history.deallocate()
        cycle.deallocate()
    }

    /// Takes frames that arrived; after a loss it changes their beginning (2.5 to 10 ms) in place.
    @_noLocks
    package mutating func good(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        if isConcealing {
            isConcealing = false
            let longest = rate / 100
            let wanted = rate / 400 &+ made / 6
            blendFrames = wanted < longest ? wanted : longest
            blended = 0
        }
        var index = 0
        while index < frames && blended < blendFrames {
            let old = nextMadeUp()
            blended &+= 1
            let share = Float(blended) / Float(blendFrames)
            samples[index] = Self.sample(old + (Float(samples[index]) - old) * share)
            index &+= 1
        }
        remember(samples, frames)
    }

    /// Makes up `frames` frames.
    ///
    /// - Complexity: the first of a loss searches for the pitch: about 10 000 multiplications at any rate.
    @_noLocks
    package mutating func lost(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        if frames <= 0 { return }
        if !isConcealing {
            isConcealing = true
            // Lost again before the last loss was faded over: it is still the same one.
            if blended >= blendFrames { begin() }
            blendFrames = 0
            blended = 0
        }
        var index = 0
        while index < frames {
            output[index] = Self.sample(nextMadeUp())
            index &+= 1
        }
        remember(output, frames)
    }

    /// Forgets what was heard, as for a new link.
    @_noLocks
    package mutating func reset() {
        var index = 0
        while index < historyFrames {
            history[index] = 0
            index &+= 1
        }
        isConcealing = false
        blendFrames = 0
        blended = 0
        made = 0
    }

    @_noLocks
    private mutating func nextMadeUp() -> Float {
        if made >= holdFrames &+ fadeFrames { return 0 }
        var value = cycle[position] * gain
        position &+= 1
        if position == period { position = 0 }
        if made < jointFrames {
            value += step * (1 - Float(made &+ 1) / Float(jointFrames &+ 1))
        }
        if made > holdFrames { value *= 1 - Float(made &- holdFrames) / Float(fadeFrames) }
        made &+= 1
        return value
    }

    /// Finds the period and cuts one out.
    @_noLocks
    private mutating func begin() {
        made = 0
        position = 0
        let end = history + historyFrames
        let window = end - windowFrames
        let (lag, likeness) = findPeriod(window)
        period = lag
        gain = likeness
        // The end of the cycle is turned into what came before its beginning, so that it repeats without a step.
        let turn = lag / 4
        var index = 0
        while index < lag {
            var value = (end - lag)[index]
            let turned = index &- (lag &- turn)
            if turned >= 0 {
                let share = Float(turned &+ 1) / Float(turn)
                value += ((end - 2 * lag)[index] - value) * share
            }
            cycle[index] = value
            index &+= 1
        }
        let last = end[-1]
        step = last - (end - lag)[-1] * gain
    }

    /// The lag at which the last frames were most like those before, and by what factor they follow from them.
    @_noLocks
    private func findPeriod(_ window: UnsafeMutablePointer<Float>) -> (lag: Int, likeness: Float) {
        var best = minimumPeriod
        var bestScore: Float = -1
        var lag = minimumPeriod
        while lag <= maximumPeriod {
            let score = likeness(window, lag: lag, stride: stride)
            if score > bestScore {
                bestScore = score
                best = lag
            }
            lag &+= stride
        }
        if stride > 1 {
            var fine = best &- stride &+ 1
            let end = best &+ stride &- 1
            bestScore = -1
            while fine <= end {
                let score = fine < minimumPeriod || fine > maximumPeriod ? -1 : likeness(window, lag: fine, stride: 1)
                if score > bestScore {
                    bestScore = score
                    best = fine
                }
                fine &+= 1
            }
        }
        let product = btcall_inner_product(window, window - best, windowFrames, 1)
        let energy = btcall_inner_product(window - best, window - best, windowFrames, 1)
        if energy < 1 { return (best, 0) }
        var factor = product / energy
        if factor > 1 { factor = 1 }
        if factor < 0.3 { factor = 0.3 }
        return (best, factor)
    }

    @_noLocks
    private func likeness(_ window: UnsafeMutablePointer<Float>, lag: Int, stride: Int) -> Float {
        let product = btcall_inner_product(window, window - lag, windowFrames, stride)
        if product <= 0 { return -1 }
        let energy = btcall_inner_product(window - lag, window - lag, windowFrames, stride)
        return product * product / (energy + 1)
    }

    @_noLocks
    private mutating func remember(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        let kept = frames < historyFrames ? frames : historyFrames
        let old = historyFrames &- kept
        btcall_move(history, history + kept, old &* MemoryLayout<Float>.stride)
        var index = 0
        while index < kept {
            history[old &+ index] = Float(samples[frames &- kept &+ index])
            index &+= 1
        }
    }

    @_noLocks
    private static func sample(_ value: Float) -> Int16 {
        if value >= 32_767 { return 32_767 }
        if value <= -32_768 { return -32_768 }
        return Int16(value)
    }
}
