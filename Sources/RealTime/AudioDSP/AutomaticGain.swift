import CBTCall

/// Brings speech to one level, -20 dB, whoever speaks from wherever: up by 20 dB, down by 12 dB at most.
///
/// It moves while somebody speaks only, so that noise in the pauses stays where it is, by 12 dB a second up and 35 dB down.
/// Peaks that would be too loud lower the gain for as long as they last.
struct AutomaticGain: Sendable {
    private static var target: Float { @_noLocks get { 3_277 } }
    private static var most: Float { @_noLocks get { 10 } }
    private static var least: Float { @_noLocks get { 0.25 } }
    /// In 10 ms.
    private static var up: Float { @_noLocks get { 1.0139 } }
    private static var down: Float { @_noLocks get { 0.96 } }
    private static var highestPeak: Float { @_noLocks get { 29_000 } }
    /// Blocks of speech until it knows enough to move.
    private static var firstBlocks: Float { @_noLocks get { 20 } }
    /// Blocks that the level is a mean of.
    private static var meanBlocks: Float { @_noLocks get { 150 } }

    private let frames: Int
    /// How fast the limiter may go down: 2.5 ms.
    private let attackFrames: Int
    private var level: Float = 0
    private var blocks: Float = 0
    private(set) var gain: Float = 1
    private var limit: Float = 1
    private var present: Float = 1

    /// - Parameter rate: frames per second; a block is 10 ms.
    init(rate: Int) {
        frames = rate / 100
        attackFrames = rate / 400
    }

    /// Changes 10 ms in place.
    ///
    /// - Parameters:
    ///   - isOn: otherwise it goes back to doing nothing, at the same pace.
    ///   - isSpeech: the block is speech and no pause.
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

    /// Another microphone: its level is learnt anew, from the present gain.
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
        // Back up within some 50 ms.
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
