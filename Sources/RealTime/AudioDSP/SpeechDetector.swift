import CBTCall

/// Detects speech: blocks that are louder than the room and have a pitch, with hysteresis.
///
/// It takes 50 ms of voice within a short while to begin, so that a knock does not count, and half a second without voice to
/// end, so that speech with its pauses stays one piece.
struct SpeechDetector: ~Copyable {
    /// Speech is in progress.
    private(set) var isSpeaking = false
    /// The latest block is part of speech, not a pause.
    private(set) var isLoud = false

    private let decimation: Int
    /// At 8 kHz, oldest first.
    private let history: UnsafeMutablePointer<Float>
    private static var blockFrames: Int { @_noLocks get { 80 } }
    private static var windowFrames: Int { @_noLocks get { 200 } }
    /// Lag of a pitch, 80 to 400 Hz.
    private static var shortestLag: Int { @_noLocks get { 20 } }
    private static var longestLag: Int { @_noLocks get { 100 } }
    private static var historyFrames: Int { @_noLocks get { 300 } }
    /// Mean square of the quietest speech, -50 dB, and of the loudest room, -40 dB.
    private static var quietestSpeech: Float { @_noLocks get { 10_737 } }
    private static var loudestRoom: Float { @_noLocks get { 107_374 } }
    /// 9 dB above the room.
    private static var aboveRoom: Float { @_noLocks get { 8 } }
    /// Threshold of the squared correlation of a block with itself one pitch period earlier: 0.6.
    private static var likeness: Float { @_noLocks get { 0.36 } }
    /// A voiced block adds 2, any other subtracts 1.
    private static var beginScore: Int { @_noLocks get { 10 } }
    private static var mostScore: Int { @_noLocks get { 20 } }
    private static var holdBlocks: Int { @_noLocks get { 50 } }

    private var room: Float = -1
    private var score = 0
    private var held = 0

    /// - Parameter rate: 8000 or 16000 Hz.
    init(rate: Int) {
        decimation = max(1, rate / 8_000)
        history = .allocate(capacity: Self.historyFrames)
        history.initialize(repeating: 0, count: Self.historyFrames)
    }

    deinit { history.deallocate() }

    /// Analyses 10 ms.
    ///
    /// - Parameter isEcho: the rest in the block is mostly echo, not speech.
    @_noLocks
    mutating func listen(_ samples: UnsafePointer<Float>, isEcho: Bool) {
        remember(samples)
        let block = history + (Self.historyFrames &- Self.blockFrames)
        let power = btcall_inner_product(block, block, Self.blockFrames) / Float(Self.blockFrames)
        follow(power)
        isLoud = power > Self.quietestSpeech && power > room * Self.aboveRoom && !isEcho
        if isLoud && isVoiced() {
            score = score &+ 2 > Self.mostScore ? Self.mostScore : score &+ 2
            if score >= Self.beginScore || isSpeaking { held = Self.holdBlocks }
        } else {
            if score > 0 { score &-= 1 }
            if held > 0 { held &-= 1 }
        }
        isSpeaking = held > 0
    }

    /// Forgets the room's level, but not that somebody speaks.
    @_noLocks
    mutating func forgetRoom() { room = -1 }

    @_noLocks
    private mutating func remember(_ samples: UnsafePointer<Float>) {
        let kept = Self.historyFrames &- Self.blockFrames
        btcall_move(history, history + Self.blockFrames, kept &* 4)
        var index = 0
        while index < Self.blockFrames {
            history[kept &+ index] =
                decimation == 1 ? samples[index] : (samples[2 &* index] + samples[2 &* index &+ 1]) * 0.5
            index &+= 1
        }
    }

    /// Tracks the room's noise by the quietest moments: down almost at once, up by 3 dB a second.
    @_noLocks
    private mutating func follow(_ power: Float) {
        if room < 0 {
            room = power
        } else if power < room {
            room += 0.2 * (power - room)
        } else {
            room *= 1.007
        }
        if room < 1 { room = 1 }
        if room > Self.loudestRoom { room = Self.loudestRoom }
    }

    @_noLocks
    private func isVoiced() -> Bool {
        let window = history + (Self.historyFrames &- Self.windowFrames)
        let energy = btcall_inner_product(window, window, Self.windowFrames)
        if energy <= 0 { return false }
        var lag = Self.shortestLag
        var before = btcall_inner_product(window - lag, window - lag, Self.windowFrames)
        while lag <= Self.longestLag {
            let product = btcall_inner_product(window, window - lag, Self.windowFrames)
            if product > 0 && product * product > Self.likeness * energy * before { return true }
            if lag == Self.longestLag { break }
            lag &+= 1
            let first = window[0 &- lag]
            let last = window[Self.windowFrames &- lag]
            before += first * first - last * last
        }
        return false
    }
}
