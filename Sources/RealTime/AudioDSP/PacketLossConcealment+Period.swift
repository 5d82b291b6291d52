import CBTCall

// Pitch period at the beginning of a loss, and its glide.
extension PacketLossConcealment {
    struct Fit {
        var period: Float
        /// Growth of the period in frames per frame.
        var glide: Float
        var gain: Float = 0
        /// Square of the correlation, 0 to 1.
        var likeness: Float = -1
        var isSilent = false
        /// `likeness` minus the penalty for improbable glides; -10 for a fit not yet evaluated.
        var score: Float = -10
        /// Target of the next step; the fit itself if no step improves it.
        var nextPeriod: Float
        var nextGlide: Float

        @_noLocks
        init(period: Float, glide: Float) {
            self.period = period
            self.glide = glide
            nextPeriod = period
            nextGlide = glide
        }
    }

    @_noLocks
    func findPeriod(isRough: Bool) -> Fit {
        let lag = Float(findLag())
        if hasEnded() {
            var fit = Fit(period: lag, glide: 0)
            fit.isSilent = true
            return fit
        }
        if isRough { return refine(Fit(period: lag, glide: 0), steps: 0) }
        // The best of three glides after one step each, then two more steps.
        var best = refine(Fit(period: lag, glide: 0), steps: 1)
        if best.isSilent { return best }
        let rising = refine(Fit(period: lag, glide: -0.01), steps: 1)
        if rising.score > best.score { best = rising }
        let falling = refine(Fit(period: lag, glide: 0.01), steps: 1)
        if falling.score > best.score { best = falling }
        return refine(best, steps: 2)
    }

    /// Finds, by Gauss-Newton, the period and glide with the smallest difference between the last 20 ms and the audio one
    /// period earlier; the last frames have most weight.
    @_noLocks
    private func refine(_ start: Fit, steps tries: Int) -> Fit {
        let steps = weightFrames / stride
        var best = start
        let (lowest, highest) = (start.period * 0.95, start.period * 1.05)
        var period = Self.clamp(start.nextPeriod, lowest, highest)
        var glide = start.nextGlide
        let most = Float(stride) * 2
        // Already evaluated there: not repeated.
        var left = start.score == -10 ? tries &+ 1 : tries
        while left > 0 {
            left &-= 1
            let sums = btcall_compare_periods(
                history, Int32(truncatingIfNeeded: historyFrames), coarse + (coarseFrames &- steps), weights,
                Int32(truncatingIfNeeded: steps), Int32(truncatingIfNeeded: stride), period, glide)
            let (xx, xy, yy) = (sums.heard_heard + 1, sums.heard_before, sums.before_before + 1)
            let gain = xy / yy
            let likeness = xy > 0 ? gain * xy / xx : 0
            let score = likeness - Self.improbability * glide * glide
            let isBest = score > best.score
            if isBest {
                best = Fit(period: period, glide: glide)
                best.gain = gain
                best.likeness = likeness
                best.score = score
            }
            if xx < 64 {
                best.isSilent = true
                return best
            }
            if gain < 0.1 { return best }
            let a = gain * gain * sums.slope_slope
            let b = gain * gain * sums.slope_turn
            let c = gain * gain * sums.turn_turn + Self.improbability * xx
            let p = gain * (sums.heard_slope - gain * sums.before_slope)
            let g = gain * (sums.heard_turn - gain * sums.before_turn) - Self.improbability * xx * glide
            let determinant = a * c - b * b
            if !(determinant > 1e-6 * a * c) { return best }
            period += Self.clamp((p * c - g * b) / determinant, -most, most)
            glide += Self.clamp((g * a - p * b) / determinant, -0.01, 0.01)
            glide = Self.clamp(glide, -0.03, 0.03)
            if isBest {
                best.nextPeriod = period
                best.nextGlide = glide
            }
            period = Self.clamp(period, lowest, highest)
        }
        return best
    }

    /// Penalty for a glide, by its square, in units of likeness.
    private static var improbability: Float { @_noLocks get { 60 } }

    /// Whether the last 5 ms are 30 dB below the 20 ms before: earlier audio is not repeated then.
    @_noLocks
    private func hasEnded() -> Bool {
        let frames = weightFrames / 4
        let end = history + historyFrames
        let last = btcall_inner_product(end - frames, end - frames, frames)
        let before = btcall_inner_product(end - 5 * frames, end - 5 * frames, 4 * frames) / 4
        return last < before / 1_000
    }

    /// Loudness of the last 5 ms against the last 20 ms: logarithm of the power ratio, -2 to 1.
    @_noLocks
    func trend() -> Float {
        let frames = weightFrames / 4
        let end = history + historyFrames
        let last = btcall_inner_product(end - frames, end - frames, frames) + Float(frames)
        let all = btcall_inner_product(end - 4 * frames, end - 4 * frames, 4 * frames) / 4 + Float(frames)
        return Self.clamp(btcall_logarithm(last / all), -2, 1)
    }

    /// Returns the lag at which the last frames were most similar to earlier ones, by normalised correlation.
    @_noLocks
    private func findLag() -> Int {
        let first = history + (historyFrames &- coarseFrames &* stride)
        var index = 0
        while index < coarseFrames {
            coarse[index] = first[index &* stride]
            index &+= 1
        }
        let count = windowFrames / stride
        let window = coarse + (coarseFrames &- count)
        var lag = minimumPeriod / stride
        let longest = maximumPeriod / stride
        // From lag to lag one frame enters and one leaves. Double leaves no residue of a loud frame that has left, which
        // would be large beside a wave that has only begun.
        var energy = 0.0
        index = 0
        while index < count {
            let frame = Double(window[index &- lag])
            energy += frame * frame
            index &+= 1
        }
        var best = lag
        var bestScore: Float = -1
        while true {
            let product = btcall_inner_product(window, window - lag, count)
            let score = product > 0 ? product * product / (Float(energy) + 1) : -1
            if score > bestScore {
                bestScore = score
                best = lag
            }
            if lag >= longest { break }
            lag &+= 1
            let (come, gone) = (Double(window[-lag]), Double(window[count &- lag]))
            energy += come * come - gone * gone
        }
        return best &* stride
    }
}
