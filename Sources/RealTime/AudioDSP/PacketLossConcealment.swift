import CBTCall
import Glibc

/// Makes up lost audio from what was heard before, without delaying what arrives (waveform extrapolation).
///
/// At the beginning of a loss the pitch period is found to a fraction of a frame, together with how it glides: within the
/// 15 to 20 ms that a burst of lost packets lasts, a voice moves so much that repeating the last period drifts out of phase
/// and is worse than silence. Each made-up frame is then what was a period before, the period gliding on.
///
/// How loud it is follows from how well speech can be foretold at all: the longer ago the last good frame, the quieter, for
/// the least error (docs/inside/Audio.md has the figures), the more so where periods are unlike each
/// other or the voice was getting quieter. After 60 ms it is silent. The first good frames after a loss are faded over from the
/// made-up ones.
package struct PacketLossConcealment: ~Copyable {
    private let rate: Int
    let history: UnsafeMutablePointer<Float>
    let historyFrames: Int
    /// The end of what was heard (`reach` frames) and behind it what is made up.
    private let line: UnsafeMutablePointer<Float>
    private let reach: Int
    let weights: UnsafeMutablePointer<Float>
    /// Every `stride`th frame of the history's end, for the searches.
    let coarse: UnsafeMutablePointer<Float>
    let coarseFrames: Int
    let weightFrames: Int
    let minimumPeriod: Int
    let maximumPeriod: Int
    let windowFrames: Int
    /// The searches look at only every so many frames: they cost the same at all rates.
    let stride: Int
    private let endFrames: Int
    private let jointFrames: Int
    private let slopeFrames: Int
    /// The period follows its glide less and less.
    private let glideDecay: Float
    /// Share of each neighbour in the mean that every period passes: what is high cannot be foretold as long as what is low.
    private let smoothing: Float

    private var period: Float
    private var glide: Float = 0
    private var gain: Float = 0
    private var neighbours: Float = 0
    /// By how much the height is more than that of most losses, after 15 ms.
    private var confidence: Float = 0
    /// By how much what was heard last is higher and rises more in a frame than what the wave would have there.
    private var step = Step()
    /// The same where a loss goes on before the last one was faded over, at `joint`.
    private var jointStep = Step()
    private var joint = 0
    /// Frames behind `reach` in `line`.
    private var extrapolated = 0
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
        maximumPeriod = rate * 16 / 1000
        windowFrames = rate / 80
        stride = rate < 16_000 ? 1 : rate / 8_000
        endFrames = rate * 60 / 1000
        jointFrames = rate / 1250
        slopeFrames = rate * 3 / 8000
        glideDecay = 1 - 1 / (Float(rate) * 0.015)
        smoothing = rate < 16_000 ? 0.12 : 0.25
        period = Float(minimumPeriod)
        weightFrames = rate / 50
        // The longest period refined, gliding, and what interpolation needs beside it.
        reach = maximumPeriod * 115 / 100 + 8
        historyFrames = weightFrames + weightFrames / 32 + reach
        history = UnsafeMutablePointer<Float>.allocate(capacity: historyFrames)
        history.initialize(repeating: 0, count: historyFrames)
        line = UnsafeMutablePointer<Float>.allocate(capacity: reach + endFrames)
        line.initialize(repeating: 0, count: reach + endFrames)
        coarseFrames = windowFrames / stride + maximumPeriod / stride
        coarse = UnsafeMutablePointer<Float>.allocate(capacity: coarseFrames)
        coarse.initialize(repeating: 0, count: coarseFrames)
        let steps = weightFrames / stride
        weights = UnsafeMutablePointer<Float>.allocate(capacity: steps)
        for index in 0..<steps {
            (weights + index).initialize(to: Float(exp(-2 * Double(steps - index) / Double(steps))))
        }
    }

    deinit {
        history.deallocate()
        line.deallocate()
        weights.deallocate()
        coarse.deallocate()
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
        if blended < blendFrames { extrapolate(to: made &+ blendFrames &- blended) }
        var index = 0
        while index < frames && blended < blendFrames {
            let old = madeUp(made)
            made &+= 1
            blended &+= 1
            let share = Float(blended) / Float(blendFrames)
            samples[index] = Self.sample(old + (Float(samples[index]) - old) * share)
            index &+= 1
        }
        remember(samples, frames)
    }

    /// Begins a loss whose first frames may still become known: makes up its wave, roughly, and gives nothing out of it yet.
    /// False when nothing was begun: in a loss, and where the wave of the last one goes on.
    @_noLocks
    package mutating func foretell() -> Bool {
        if isConcealing || isWaveGoingOn { return false }
        isConcealing = true
        blendFrames = 0
        blended = 0
        begin(isRough: true)
        return true
    }

    /// Takes the first frames of the loss that `foretell` began, before any of it is given out; its wave begins behind them.
    @_noLocks
    package mutating func learn(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        remember(samples, frames)
        begin()
    }

    /// Makes up `frames` frames.
    ///
    /// - Complexity: the first of a loss searches for the pitch: about 50 000 multiplications at any rate.
    @_noLocks
    package mutating func lost(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        if frames <= 0 { return }
        if !isConcealing {
            isConcealing = true
            if isWaveGoingOn { join() } else { begin() }
            blendFrames = 0
            blended = 0
        }
        extrapolate(to: made &+ frames)
        let kept = shift(frames)
        var index = 0
        while index < frames {
            output[index] = Self.sample(madeUp(made))
            let place = index &- (frames &- kept)
            if place >= 0 { history[historyFrames &- kept &+ place] = madeUp(made) }
            made &+= 1
            index &+= 1
        }
    }

    /// The wave from `start` frames after the end of what was given out: negative for what was heard or made up before, at
    /// most 20 ms, and positive for what `lost` would give next. Only while concealing.
    @_noLocks
    package mutating func wave(from start: Int, _ frames: Int, into output: UnsafeMutablePointer<Int16>) {
        extrapolate(to: made &+ start &+ frames)
        var index = 0
        while index < frames {
            let number = made &+ start &+ index
            output[index] = Self.sample(number < 0 ? history[historyFrames &+ start &+ index] : madeUp(number))
            index &+= 1
        }
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

    // MARK: Made up

    /// A loss now would be before the last one was faded over: it is still the same one, unless its wave is nearly over.
    private var isWaveGoingOn: Bool {
        @_noLocks get { blended < blendFrames && made < endFrames / 2 }
    }

    /// The made-up frame of that number in this loss, as it is heard.
    @_noLocks
    private func madeUp(_ number: Int) -> Float {
        if number >= endFrames { return 0 }
        let part = Float(number) / Float(endFrames)
        let more = Self.clamp(1 + (part < 0.25 ? part * 4 : 1) * confidence, 0.3, 1.3)
        let value = line[reach &+ number] * height(part) * more
        return number < joint ? value : value + letOut(jointStep, number &- joint)
    }

    /// What one wave has more than another at a frame, and in how much the frame there is higher than the one before.
    private struct Step {
        var height: Float = 0
        var slope: Float = 0
    }

    /// What is left of a step so many frames later, without a corner at either end: where only the height is let out, the
    /// wave turns sharply whenever a loss begins in the middle of a pulse, and that is heard as a click.
    @_noLocks
    private func letOut(_ step: Step, _ frames: Int) -> Float {
        if frames >= jointFrames { return 0 }
        let part = Float(frames &+ 1) / Float(jointFrames &+ 1)
        let height = step.height * (1 + 2 * part) * (1 - part) * (1 - part)
        // Its slope says less of how the wave goes on than its height does: it is over earlier.
        if frames &+ 1 >= slopeFrames { return height }
        let time = Float(frames &+ 1)
        let left = 1 - time / Float(slopeFrames)
        return height + step.slope * time * left * left
    }

    /// The gain of least error for speech, at a part of 60 ms; from 37.5 ms on a fade.
    @_noLocks
    private func height(_ part: Float) -> Float {
        if part < 0.125 { return 1 - part * (0.1 / 0.125) }
        if part < 0.25 { return 0.9 - (part - 0.125) * (0.25 / 0.125) }
        if part < 0.375 { return 0.65 - (part - 0.25) * (0.23 / 0.125) }
        if part < 0.625 { return 0.42 }
        return (1 - part) * (0.42 / 0.375)
    }

    /// Fills `line` as far as to have so many made-up frames; no further than to the end of the fade.
    @_noLocks
    private mutating func extrapolate(to frames: Int) {
        let wanted = frames < endFrames ? frames : endFrames
        while extrapolated < wanted {
            let place = reach &+ extrapolated
            // Within bounds whatever was heard: what grows without end would not be a number in the end.
            // The way from what was heard is part of the wave, else the step comes back after each period.
            let value = continued(at: place, period) + letOut(step, extrapolated)
            line[place] = Self.clamp(value, -32_768, 32_767)
            period += glide
            glide *= glideDecay
            extrapolated &+= 1
        }
    }

    /// What `line` has a period before that place, as it goes on there.
    @_noLocks
    private func continued(at place: Int, _ period: Float) -> Float {
        let source = Float(place) - period
        let before = Int(source)
        let part = source - Float(before)
        let base = line + before
        let value = Self.interpolate(base, part)
        if neighbours == 0 { return gain * value }
        let sides = Self.interpolate(base - 1, part) + Self.interpolate(base + 1, part)
        return gain * (value + neighbours * (sides - 2 * value))
    }

    /// Has the made-up wave begin where the one that was heard ends.
    @_noLocks
    private mutating func join() {
        joint = made
        jointStep = Step()
        let height = history[historyFrames &- 1] - madeUp(made &- 1)
        jointStep = Step(height: height, slope: height - (history[historyFrames &- 2] - madeUp(made &- 2)))
    }

    /// Finds the period and what it needs to go on; roughly is enough for a few milliseconds.
    @_noLocks
    private mutating func begin(isRough: Bool = false) {
        made = 0
        extrapolated = 0
        let found = findPeriod(isRough: isRough)
        period = found.period
        glide = found.glide
        gain = found.gain > 1.05 ? 1.05 : found.gain
        neighbours = smoothing
        if gain < 0.5 { gain = 0.5 }
        if found.likeness < 0.25 {
            // No voice: noise, which a short period would make a tone of.
            neighbours = 0
            glide = 0
            while period < Float(maximumPeriod) / 2 { period *= 2 }
        }
        btcall_move(line, history + (historyFrames &- reach), reach &* MemoryLayout<Float>.stride)
        joint = 0
        jointStep = Step()
        step = Step()
        confidence = 0
        if found.isSilent {
            gain = 0
            return
        }
        confidence = 0.6 * (found.likeness - 0.8) + 0.2 * trend()
        let height = line[reach &- 1] - continued(at: reach &- 1, period - glide)
        let before = line[reach &- 2] - continued(at: reach &- 2, period - 2 * glide)
        step = Step(height: height, slope: height - before)
    }

    // MARK: Small parts

    @_noLocks
    private func remember(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        let kept = shift(frames)
        var index = 0
        while index < kept {
            history[historyFrames &- kept &+ index] = Float(samples[frames &- kept &+ index])
            index &+= 1
        }
    }

    /// Makes room for new frames at the end of the history; returns how many of them it keeps, the last ones.
    @_noLocks
    private func shift(_ frames: Int) -> Int {
        let kept = frames < historyFrames ? frames : historyFrames
        btcall_move(history, history + kept, (historyFrames &- kept) &* MemoryLayout<Float>.stride)
        return kept
    }

    /// The wave a `part` of a frame after `base`, by a cubic through its neighbours.
    @_noLocks
    private static func interpolate(_ base: UnsafeMutablePointer<Float>, _ part: Float) -> Float {
        let (a, b, c, d) = (base[-1], base[0], base[1], base[2])
        let third = 3 * (b - c) + d - a
        return b + 0.5 * part * (c - a + part * (2 * a - 5 * b + 4 * c - d + part * third))
    }

    @_noLocks
    static func clamp(_ value: Float, _ lowest: Float, _ highest: Float) -> Float {
        // In this order what is not a number is the lowest.
        if value > highest { return highest }
        return value > lowest ? value : lowest
    }

    @_noLocks
    private static func sample(_ value: Float) -> Int16 {
        if value >= 32_767 { return 32_767 }
        if value <= -32_768 { return -32_768 }
        return Int16(value)
    }
}
