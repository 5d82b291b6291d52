import CBTCall
import Glibc

/// Conceals lost audio by extrapolating earlier audio, without delaying received audio (waveform extrapolation).
///
/// At the beginning of a loss the pitch period is determined to a fraction of a frame, together with its glide: within the
/// 15 to 20 ms that a burst of lost packets lasts, a voice moves so much that repeating the last period drifts out of phase
/// and is worse than silence. Each concealed frame then repeats the frame one period earlier, and the period keeps gliding.
///
/// Its loudness follows the predictability of speech: the longer ago the last good frame, the quieter, for the least error
/// (docs/inside/Audio.md has the figures), the more so if periods differ from each other or the voice was getting quieter.
/// After 60 ms it is silent. The first good frames after a loss are crossfaded from the concealed ones.
package struct PacketLossConcealment: ~Copyable {
    private let rate: Int
    let history: UnsafeMutablePointer<Float>
    let historyFrames: Int
    /// End of the received audio (`reach` frames), followed by concealed audio.
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
    /// Decimation of the searches, so that they cost the same at all rates.
    let stride: Int
    private let endFrames: Int
    private let jointFrames: Int
    private let slopeFrames: Int
    /// Decay of the period's glide.
    private let glideDecay: Float
    /// Weight of each neighbour in the mean that every period passes: high frequencies cannot be predicted as long as low
    /// ones.
    private let smoothing: Float

    private var period: Float
    private var glide: Float = 0
    private var gain: Float = 0
    private var neighbours: Float = 0
    /// Excess of the gain over that of most losses, after 15 ms.
    private var confidence: Float = 0
    /// Difference in height and slope between the end of the received audio and the wave there.
    private var step = Step()
    /// The same if a loss continues before the crossfade after the last one ended, at `joint`.
    private var jointStep = Step()
    private var joint = 0
    /// Frames after `reach` in `line`.
    private var extrapolated = 0
    /// Frames concealed in the present loss; keeps counting while the next good ones are faded in.
    private var made = 0
    private var blendFrames = 0
    private var blended = 0

    /// Frames are being concealed, or were until the last good one.
    package private(set) var isConcealing = false

    /// - Parameter rate: in Hz, 8000 to 48000.
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
        // The longest period refined, gliding, and the neighbours for interpolation.
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

    /// Processes received frames; after a loss it changes their beginning (2.5 to 10 ms) in place.
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

    /// Begins a loss whose first frames may still be recovered: prepares a rough wave without returning any of it. Returns
    /// false when nothing was begun: during a loss, and while the last one's wave continues.
    @_noLocks
    package mutating func foretell() -> Bool {
        if isConcealing || isWaveGoingOn { return false }
        isConcealing = true
        blendFrames = 0
        blended = 0
        begin(isRough: true)
        return true
    }

    /// Sets the recovered first frames of the loss that `foretell` began, before any output; the wave begins after them.
    @_noLocks
    package mutating func learn(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        remember(samples, frames)
        begin()
    }

    /// Conceals `frames` frames.
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

    /// Returns the wave from `start` frames after the end of the output: negative for earlier audio, received or concealed,
    /// at most 20 ms; positive for what `lost` would return next. Only while concealing.
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

    /// Discards the received audio, as for a new link.
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

    // MARK: Concealment

    /// Whether a new loss would fall into the crossfade after the last one: it then continues the same loss, unless the wave
    /// has nearly ended.
    private var isWaveGoingOn: Bool {
        @_noLocks get { blended < blendFrames && made < endFrames / 2 }
    }

    /// The concealed frame of that number in this loss, with its gain.
    @_noLocks
    private func madeUp(_ number: Int) -> Float {
        if number >= endFrames { return 0 }
        let part = Float(number) / Float(endFrames)
        let more = Self.clamp(1 + (part < 0.25 ? part * 4 : 1) * confidence, 0.3, 1.3)
        let value = line[reach &+ number] * height(part) * more
        return number < joint ? value : value + letOut(jointStep, number &- joint)
    }

    /// Difference between two waves at a frame, in height and in slope.
    private struct Step {
        var height: Float = 0
        var slope: Float = 0
    }

    /// Rest of a step after a number of frames, without a corner at either end: correcting the height alone bends the wave
    /// sharply when a loss begins in the middle of a pulse, which is heard as a click.
    @_noLocks
    private func letOut(_ step: Step, _ frames: Int) -> Float {
        if frames >= jointFrames { return 0 }
        let part = Float(frames &+ 1) / Float(jointFrames &+ 1)
        let height = step.height * (1 + 2 * part) * (1 - part) * (1 - part)
        // The slope predicts the wave for a shorter time than the height: it ends earlier.
        if frames &+ 1 >= slopeFrames { return height }
        let time = Float(frames &+ 1)
        let left = 1 - time / Float(slopeFrames)
        return height + step.slope * time * left * left
    }

    /// Gain of least error for speech, at a fraction of 60 ms; fades from 37.5 ms on.
    @_noLocks
    private func height(_ part: Float) -> Float {
        if part < 0.125 { return 1 - part * (0.1 / 0.125) }
        if part < 0.25 { return 0.9 - (part - 0.125) * (0.25 / 0.125) }
        if part < 0.375 { return 0.65 - (part - 0.25) * (0.23 / 0.125) }
        if part < 0.625 { return 0.42 }
        return (1 - part) * (0.42 / 0.375)
    }

    /// Fills `line` up to this number of concealed frames, at most to the end of the fade.
    @_noLocks
    private mutating func extrapolate(to frames: Int) {
        let wanted = frames < endFrames ? frames : endFrames
        while extrapolated < wanted {
            let place = reach &+ extrapolated
            // Bounded for any input, because unlimited growth would end in NaN.
            // The correction is part of the wave; otherwise the step returns after each period.
            let value = continued(at: place, period) + letOut(step, extrapolated)
            line[place] = Self.clamp(value, -32_768, 32_767)
            period += glide
            glide *= glideDecay
            extrapolated &+= 1
        }
    }

    /// Value one period before that place in `line`.
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

    /// Makes the concealed wave begin where the received one ends.
    @_noLocks
    private mutating func join() {
        joint = made
        jointStep = Step()
        let height = history[historyFrames &- 1] - madeUp(made &- 1)
        jointStep = Step(height: height, slope: height - (history[historyFrames &- 2] - madeUp(made &- 2)))
    }

    /// Determines the period and related values; a rough result is enough for a few milliseconds.
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
            // Unvoiced: noise, which a short period would turn into a tone.
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

    // MARK: Helpers

    @_noLocks
    private func remember(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        let kept = shift(frames)
        let values = history + (historyFrames &- kept)
        let latest = samples + (frames &- kept)
        var index = 0
        while index < kept {
            values[index] = Float(latest[index])
            index &+= 1
        }
    }

    /// Makes room for new frames at the end of the history; returns how many of them, the last ones, are kept.
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
        // In this order NaN becomes the lowest value.
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
