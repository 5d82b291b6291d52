/// Decides how many blocks of 10 ms are on their way to an application and back: as few as its recent answers allow.
///
/// Every tick sends the application one block, and the application answers each block with one. The blocks that it has not
/// answered yet and the answers that wait to be played are the *queue*; its length is the delay. An answer that comes `n`
/// ticks after its block needs a queue of `n + 1`.
///
/// The queue follows the greatest lateness of the recent past: up at once, and down after a punctual stretch. The stretch
/// lasts 5 to 10 s at first. It doubles each time that the application is late again after the queue was shortened, up to
/// 60 to 120 s. A queue that is longer or shorter than wanted changes in pauses of speech only, by one block at a time. An
/// empty queue has no choice: what is played in place of the missing block makes the queue longer, and the answer is played
/// after it.
///
/// A value without time and memory of its own: the same ticks give the same decisions.
package struct ApplicationQueue: Sendable {
    /// What a tick does with the oldest answer.
    package enum Step: UInt8, Sendable {
        case play
        /// Play it, and again in the next tick: the queue grows by one.
        case again
        /// Play it and the one behind it as one block: the queue shrinks by one.
        case skip
    }

    /// Length at the beginning of a call, when applications are least punctual. Also more than an application waits for that
    /// answers two blocks at a time.
    package static var firstBlocks: Int { @_noLocks get { 3 } }
    /// Ticks at the beginning that say nothing: the application has just received its socket.
    static var settlingTicks: Int { @_noLocks get { 10 } }
    /// Half of the first stretch.
    static var firstHalfTicks: Int { @_noLocks get { 40 } }
    /// Half of the stretch after the application was late, at first and at most.
    static var leastHalfTicks: Int { @_noLocks get { 500 } }
    static var mostHalfTicks: Int { @_noLocks get { 6_000 } }
    /// Quiet blocks in a row that are a pause: the silence within a consonant is shorter.
    static var pauseTicks: Int { @_noLocks get { 10 } }
    /// Blocks after which the loudness of the voice is known.
    static var knownTicks: Int { @_noLocks get { 50 } }
    /// Inaudible peak.
    package static var inaudible: Int { @_noLocks get { 60 } }

    /// Length that the greatest recent lateness asks for, from 1 to the greatest allowed one.
    package private(set) var wanted: Int
    /// Length in the latest tick.
    package private(set) var blocks: Int
    private let most: Int

    private var settling: Int
    /// Greatest need in the present half of the stretch, the length of a half, and its ticks so far.
    private var greatest = 1
    private var halfTicks: Int
    private var ticks = 0
    /// The queue was shortened since the application was last late.
    private var hasShrunk = false

    /// Recent peak of the application's audio, blocks that it was taken from, and quiet ones at their end.
    private var loudest = 0
    private var heard = 0
    private var quiet = 0
    /// The present pause was shortened.
    private var hasCut = false

    /// - Parameter most: greatest length.
    package init(most: Int) {
        self.most = max(1, most)
        wanted = min(Self.firstBlocks, self.most)
        blocks = wanted
        settling = Self.settlingTicks
        halfTicks = Self.firstHalfTicks
    }

    /// Begins again, for another socket or after a pause of the call.
    @_noLocks
    package mutating func restart() {
        wanted = Self.firstBlocks < most ? Self.firstBlocks : most
        blocks = wanted
        settling = Self.settlingTicks
        greatest = 1
        halfTicks = Self.firstHalfTicks
        ticks = 0
        hasShrunk = false
        loudest = 0
        heard = 0
        quiet = 0
        hasCut = false
    }

    /// Notes the state before a tick takes and sends a block.
    ///
    /// - Parameters:
    ///   - waiting: answers that wait to be played.
    ///   - unanswered: blocks sent without an answer yet.
    ///   - fresh: of the waiting answers, those that came only just in time.
    ///   - isFair: the application had time to answer. Several ticks that run at once after a stall say nothing about it,
    ///     because the clock waits for its answers then; an empty queue does.
    @_noLocks
    package mutating func note(waiting: Int, unanswered: Int, fresh: Int, isFair: Bool) {
        blocks = waiting &+ unanswered
        if settling > 0 {
            settling &-= 1
        } else {
            if isFair || waiting == 0 { noteNeed(unanswered &+ fresh &+ 1) }
            endHalf()
        }
        if isOff { return }
        loudest = 0
        heard = 0
        quiet = 0
    }

    @_noLocks
    private mutating func noteNeed(_ blocksNeeded: Int) {
        let need = blocksNeeded < most ? blocksNeeded : most
        if need > blocks && (hasShrunk || halfTicks < Self.leastHalfTicks) {
            hasShrunk = false
            let twice = 2 &* halfTicks
            halfTicks =
                twice < Self.leastHalfTicks
                ? Self.leastHalfTicks : twice < Self.mostHalfTicks ? twice : Self.mostHalfTicks
        }
        if need > greatest { greatest = need }
        if need > wanted { wanted = need }
    }

    /// Forgets what was before the half that ends.
    @_noLocks
    private mutating func endHalf() {
        ticks &+= 1
        if ticks < halfTicks { return }
        ticks = 0
        wanted = greatest
        greatest = 1
    }

    /// The queue is longer or shorter than wanted: the tick asks `step`.
    package var isOff: Bool {
        @_noLocks get { blocks != wanted }
    }

    /// Decides about the oldest answer; only while `isOff`.
    ///
    /// - Parameters:
    ///   - peak: its largest absolute sample.
    ///   - next: that of the answer behind it; negative when none waits.
    @_noLocks
    package mutating func step(peak: Int, next: Int) -> Step {
        loudest = loudest &* 199 / 200
        if peak > loudest { loudest = peak }
        if heard < Self.knownTicks { heard &+= 1 }
        // 24 dB below the voice.
        let below = heard < Self.knownTicks ? 0 : loudest / 16
        let bound = below > Self.inaudible ? below : Self.inaudible
        if peak > bound {
            quiet = 0
            hasCut = false
            return .play
        }
        if quiet < Self.pauseTicks { quiet &+= 1 }
        if quiet < Self.pauseTicks { return .play }
        if blocks < wanted { return .again }
        if blocks == wanted || next < 0 || next > bound { return .play }
        // Two cuts in the noise of one pause could be heard.
        if hasCut && peak > Self.inaudible { return .play }
        hasCut = true
        hasShrunk = true
        return .skip
    }
}
