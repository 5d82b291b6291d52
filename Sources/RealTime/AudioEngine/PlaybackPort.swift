import AudioDSP

typealias PlaybackPointer = UnsafeMutablePointer<PlaybackPort>

/// The thread's side of something that the person hears beside the calls: a tone, a piece of audio in memory, or what an
/// application writes. It is heard where the routed device plays, or on a terminal of its own, never by the far end.
struct PlaybackPort: ~Copyable {
    /// What is heard: exactly one of these.
    enum Content {
        case tone(UnsafeMutablePointer<ToneGenerator>)
        case application(InjectionPointer)
        /// At the rate of the bus; from the beginning again when they `loop`.
        case samples(UnsafeMutablePointer<Int16>, count: Int, loops: Bool)
        case stream(PCMPointer)
    }

    /// Where it is heard, as it is compared: at no place, with the calls, else a terminal's number.
    static var nowhere: Int64 { @_noLocks get { -1 } }
    static var routed: Int64 { @_noLocks get { -2 } }
    /// Ticks without a block after which an application has paused.
    private static var pauseTicks: Int { @_noLocks get { 10 } }

    let id: UInt32
    /// Of those that are heard at the same place, only the highest are.
    let rank: Int
    /// What is left of the far end meanwhile.
    let duckGain: Float
    /// Ends as soon as the calls have something to say.
    let yieldsToCalls: Bool
    var target: Int64
    let content: Content
    var application: InjectionPointer? {
        @_noLocks get { if case .application(let application) = content { application } else { nil } }
    }
    var stream: PCMPointer? { @_noLocks get { if case .stream(let stream) = content { stream } else { nil } } }
    private var position = 0
    private var quietTicks: Int
    private var volume: Gain
    private let openVolume: Float
    private let volumeBesideCalls: Float
    private(set) var isEnding = false
    private var isOver = false
    var pollIndex = -1

    /// - Parameter volume: linear, reached from silence by a short ramp.
    init(
        id: UInt32, _ content: Content, rank: Int, duckGain: Float, yieldsToCalls: Bool, target: Int64, busRate: Int,
        volume: Float, gainBesideCalls: Float = 1
    ) {
        self.id = id
        self.rank = rank
        self.duckGain = duckGain
        self.yieldsToCalls = yieldsToCalls
        self.target = target
        self.content = content
        quietTicks = Self.pauseTicks
        self.volume = Gain(rate: busRate, gain: 0)
        self.volume.set(volume)
        openVolume = volume
        volumeBesideCalls = volume * gainBesideCalls
    }

    /// There is something to hear of it now.
    var isSounding: Bool {
        @_noLocks get {
            if isEnding || isOver { return false }
            switch content {
            case .tone, .samples: return true
            case .application, .stream: return quietTicks < Self.pauseTicks
            }
        }
    }

    /// Nothing more is to be heard of it.
    var isSpent: Bool {
        @_noLocks get {
            if isOver || isEnding && volume.isSilent { return true }
            guard let application else { return false }
            return application.pointee.isSpent
        }
    }

    /// Fades out within 20 ms, where it is heard.
    @_noLocks
    mutating func end() {
        isEnding = true
        // Its client has stopped it, and the ring is the client's again.
        if case .stream = content { isOver = true }
    }

    /// At once: nobody hears it.
    @_noLocks
    mutating func cutOff() { isOver = true }

    /// Calls are heard elsewhere meanwhile, or they are not.
    @_noLocks
    mutating func setBesideCalls(_ isBeside: Bool) { volume.set(isBeside ? volumeBesideCalls : openVolume) }

    /// As `takeBlock` for what a program plays: 10 ms of pairs at its own rate.
    @_noLocks
    mutating func takePairs(_ output: UnsafeMutablePointer<Int16>, isSilenced: Bool) -> Bool {
        guard let stream, !isOver else { return false }
        volume.setMuted(isEnding || isSilenced)
        note(stream.pointee.takePairs(output))
        volume.apply(pairs: output, stream.pointee.blockFrames, rate: stream.pointee.rate)
        return !volume.isSilent
    }

    /// Makes the next 10 ms, as `frames` of the bus; false when there is nothing to be heard.
    ///
    /// - Parameter isSilenced: something more important is heard; its own time passes all the same.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int, isSilenced: Bool) -> Bool {
        if isOver { return false }
        volume.setMuted(isEnding || isSilenced)
        switch content {
        case .tone(let tone): tone.pointee.fill(output, frames)
        case .application(let application):
            let isBlock = application.pointee.takeBlock(output, frames)
            note(isBlock)
            if !isBlock { clear(output, frames) }
        case .samples(let samples, let count, let loops):
            take(samples, count, loops: loops, output, frames)
        case .stream(let stream): note(stream.pointee.takeBlock(output, frames))
        }
        volume.apply(output, frames)
        return !volume.isSilent
    }

    /// - Parameter isBlock: it had something to say.
    @_noLocks
    private mutating func note(_ isBlock: Bool) {
        quietTicks = isBlock ? 0 : quietTicks < Self.pauseTicks ? quietTicks + 1 : quietTicks
    }

    @_noLocks
    private mutating func take(
        _ samples: UnsafeMutablePointer<Int16>, _ count: Int, loops: Bool, _ output: UnsafeMutablePointer<Int16>,
        _ frames: Int
    ) {
        if count == 0 {
            isOver = true
            clear(output, frames)
            return
        }
        var index = 0
        while index < frames {
            if position == count {
                if !loops { break }
                position = 0
            }
            output[index] = samples[position]
            position += 1
            index += 1
        }
        clear(output + index, frames - index)
        if position == count && !loops { isOver = true }
    }
}
