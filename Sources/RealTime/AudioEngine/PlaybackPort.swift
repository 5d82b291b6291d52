import AudioDSP

typealias PlaybackPointer = UnsafeMutablePointer<PlaybackPort>

/// The thread's side of a playback beside the calls: a tone, audio in memory, or an application's stream. It is heard on the
/// routed device or on another terminal, never by the far end.
struct PlaybackPort: ~Copyable {
    /// Source of the audio.
    enum Content {
        case tone(UnsafeMutablePointer<ToneGenerator>)
        case application(InjectionPointer)
        /// Samples at the rate of the bus; repeated from the beginning if `loops`.
        case samples(UnsafeMutablePointer<Int16>, count: Int, loops: Bool)
        case stream(PCMPointer)
    }

    /// Encodes the target for comparison: nowhere, with the calls, or a terminal's number.
    static var nowhere: Int64 { @_noLocks get { -1 } }
    static var routed: Int64 { @_noLocks get { -2 } }
    /// Ticks without a block after which an application counts as paused.
    private static var pauseTicks: Int { @_noLocks get { 10 } }

    let id: UInt32
    /// Only playbacks of the highest rank at a target are heard.
    let rank: Int
    /// Gain of the far end meanwhile.
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

    /// - Parameter volume: linear; reached from silence by a short ramp.
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

    /// Has audio to play now.
    var isSounding: Bool {
        @_noLocks get {
            if isEnding || isOver { return false }
            switch content {
            case .tone, .samples: return true
            case .application, .stream: return quietTicks < Self.pauseTicks
            }
        }
    }

    /// Has nothing left to play.
    var isSpent: Bool {
        @_noLocks get {
            if isOver || isEnding && volume.isSilent { return true }
            guard let application else { return false }
            return application.pointee.isSpent
        }
    }

    /// Fades out within 20 ms at its target.
    @_noLocks
    mutating func end() {
        isEnding = true
        // The client has stopped the stream and owns the ring again.
        if case .stream = content { isOver = true }
    }

    /// Ends at once, because nobody hears it.
    @_noLocks
    mutating func cutOff() { isOver = true }

    /// Sets whether calls are heard elsewhere meanwhile.
    @_noLocks
    mutating func setBesideCalls(_ isBeside: Bool) { volume.set(isBeside ? volumeBesideCalls : openVolume) }

    /// As `takeBlock`, for a program's stereo pairs: 10 ms at the stream's own rate.
    @_noLocks
    mutating func takePairs(_ output: UnsafeMutablePointer<Int16>, isSilenced: Bool) -> Bool {
        guard let stream, !isOver else { return false }
        volume.setMuted(isEnding || isSilenced)
        note(stream.pointee.takePairs(output))
        volume.apply(pairs: output, stream.pointee.blockFrames, rate: stream.pointee.rate)
        return !volume.isSilent
    }

    /// Produces the next 10 ms, as `frames` of the bus; false when it is silent.
    ///
    /// - Parameter isSilenced: something of a higher rank is heard; the playback's time advances anyway.
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
            copySamples(samples, count, loops: loops, output, frames)
        case .stream(let stream): note(stream.pointee.takeBlock(output, frames))
        }
        volume.apply(output, frames)
        return !volume.isSilent
    }

    /// - Parameter isBlock: the source delivered audio.
    @_noLocks
    private mutating func note(_ isBlock: Bool) {
        quietTicks = isBlock ? 0 : quietTicks < Self.pauseTicks ? quietTicks + 1 : quietTicks
    }

    @_noLocks
    private mutating func copySamples(
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
