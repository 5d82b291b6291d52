import CBTCall

/// Brings speech to -20 dB, whatever the speaker and the distance: up by 20 dB, down by 12 dB at most.
///
/// It adapts during speech only, so that noise in pauses is not raised: by 12 dB a second up and 35 dB down. Peaks that
/// would be too loud lower the gain while they last.
struct AutomaticGain: Sendable {
    private static var target: Float { @_noLocks get { 3_277 } }
    private static var most: Float { @_noLocks get { 10 } }
    private static var least: Float { @_noLocks get { 0.25 } }
    /// Factor per 10 ms.
    private static var up: Float { @_noLocks get { 1.0139 } }
    private static var down: Float { @_noLocks get { 0.96 } }
    private static var highestPeak: Float { @_noLocks get { 29_000 } }
    /// Blocks of speech before the gain starts to adapt.
    private static var firstBlocks: Float { @_noLocks get { 20 } }
    /// Averaging length of the level, in blocks.
    private static var meanBlocks: Float { @_noLocks get { 150 } }

    private var frames: Int
    /// Attack time of the limiter: 2.5 ms.
    private var attackFrames: Int
    private var level: Float = 0
    private var blocks: Float = 0
    private(set) var gain: Float = 1
    private var limit: Float = 1
    private var present: Float = 1

    /// - Parameter rate: in Hz; a block is 10 ms.
    init(rate: Int) {
        frames = rate / 100
        attackFrames = rate / 400
    }

    /// Sets the sample rate from the next block on.
    @_noLocks
    mutating func setRate(_ rate: Int) {
        frames = rate / 100
        attackFrames = rate / 400
    }

    /// Processes 10 ms in place.
    ///
    /// - Parameters:
    ///   - isOn: if false, the gain returns to 1 at the same pace.
    ///   - isSpeech: the block is speech, not a pause.
    @_noLocks
    mutating func process(_ samples: UnsafeMutablePointer<Float>, isOn: Bool, isSpeech: Bool) {
        if isOn {
            if isSpeech { learn(btcall_inner_product(samples, samples, frames) / Float(frames)) }
        } else {
            move(to: 1)
        }
        if gain == 1 && limit == 1 && present == 1 && !isOn { return }
        apply(samples)
    }

    /// Relearns the level for another microphone, from the present gain.
    @_noLocks
    mutating func forgetLevel() { blocks = 0 }

    @_noLocks
    private mutating func learn(_ power: Float) {
        if blocks < Self.meanBlocks { blocks += 1 }
        level = blocks == 1 ? power : level + (power - level) / blocks
        if blocks < Self.firstBlocks { return }
        let wanted = Self.target / btcall_square_root(level > 1 ? level : 1)
        move(to: wanted > Self.most ? Self.most : (wanted < Self.least ? Self.least : wanted))
    }

    @_noLocks
    private mutating func move(to wanted: Float) {
        if gain < wanted {
            gain = gain * Self.up < wanted ? gain * Self.up : wanted
        } else {
            gain = gain * Self.down > wanted ? gain * Self.down : wanted
        }
    }

    @_noLocks
    private mutating func apply(_ samples: UnsafeMutablePointer<Float>) {
        var peak: Float = 0
        var index = 0
        while index < frames {
            let value = samples[index] < 0 ? -samples[index] : samples[index]
            if value > peak { peak = value }
            index &+= 1
        }
        let room = peak * gain > Self.highestPeak ? Self.highestPeak / (peak * gain) : 1
        // Recovers within about 50 ms.
        limit = room < limit ? room : (limit > 0.999 ? 1 : limit + 0.2 * (1 - limit))
        if room < limit { limit = room }
        let wanted = gain * limit
        let ramp = wanted < present ? attackFrames : frames
        let step = (wanted - present) / Float(ramp)
        index = 0
        while index < frames {
            present = index < ramp &- 1 ? present + step : wanted
            samples[index] *= present
            index &+= 1
        }
    }
}
