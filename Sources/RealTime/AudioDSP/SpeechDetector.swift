import CBTCall

/// Says when somebody speaks: blocks that are louder than the room and have a pitch, with hysteresis.
///
/// It takes 50 ms of voice within a short while to begin, so that a knock is none, and half a second without to end, so that
/// speech with its pauses is one piece.
struct SpeechDetector: ~Copyable {
    /// Speech is going on.
    private(set) var isSpeaking = false
    /// The latest block is part of it and no pause.
    private(set) var isLoud = false

    private let decimation: Int
    /// 8 kHz, oldest first.
    private let history: UnsafeMutablePointer<Float>
    private static var blockFrames: Int { @_noLocks get { 80 } }
    private static var windowFrames: Int { @_noLocks get { 200 } }
    /// Of a pitch, 80 to 400 Hz.
    private static var shortestLag: Int { @_noLocks get { 20 } }
    private static var longestLag: Int { @_noLocks get { 100 } }
    private static var historyFrames: Int { @_noLocks get { 300 } }
    /// The mean square of the quietest speech, -50 dB, and of the loudest room, which is louder than that, -40 dB.
    private static var quietestSpeech: Float { @_noLocks get { 10_737 } }
    private static var loudestRoom: Float { @_noLocks get { 107_374 } }
    /// 9 dB above the room.
    private static var aboveRoom: Float { @_noLocks get { 8 } }
    /// Of the correlation of a block with itself a pitch period before, squared: 0.6.
    private static var likeness: Float { @_noLocks get { 0.36 } }
    /// A voiced block adds 2, another takes 1.
    private static var beginScore: Int { @_noLocks get { 10 } }
    private static var mostScore: Int { @_noLocks get { 20 } }
    private static var holdBlocks: Int { @_noLocks get { 50 } }

    private var room: Float = -1
    private var score = 0
    private var held = 0

    /// - Parameter rate: 8000 or 16000 frames per second.
    init(rate: Int) {
        decimation = max(1, rate / 8_000)
        history = .allocate(capacity: Self.historyFrames)
        history.initialize(repeating: 0, count: Self.historyFrames)
    }

    deinit { history.deallocate() }

    /// Listens to 10 ms.
    ///
    /// - Parameter isEcho: what is left in the block is mostly echo, and nobody's speech.
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

    /// Forgets the room, not who speaks.
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

    /// The room's noise is what is there in the quietest moments: down at once nearly, up by 3 dB a second.
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
