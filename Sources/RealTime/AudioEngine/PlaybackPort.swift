import AudioDSP

typealias PlaybackPointer = UnsafeMutablePointer<PlaybackPort>

/// The thread's side of a playback beside the calls: a tone, audio in memory, or an application's stream. It is heard on the
/// routed device or on another terminal, never by the far end.
struct PlaybackPort: ~Copyable {
    /// Source of the audio.
    enum Content {
        case tone(UnsafeMutablePointer<ToneGenerator>)
        case application(InjectionPointer)
        /// Samples at the lowest rate of the bus; repeated from the beginning if `loops`.
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
    /// Converter of `samples`, and a block of them.
    private var toBus: ToBus
    private let block: UnsafeMutablePointer<Int16>
    private let blockFrames: Int
    private let bus: BusRates
    private var quietTicks: Int
    private var volume: Gain
    private let openVolume: Float
    private let volumeBesideCalls: Float
    private(set) var isEnding = false
    private var isOver = false
    var pollIndex = -1

    /// - Parameter volume: linear; reached from silence by a short ramp.
    init(
        id: UInt32, _ content: Content, rank: Int, duckGain: Float, yieldsToCalls: Bool, target: Int64, bus: BusRates,
        volume: Float, gainBesideCalls: Float = 1
    ) {
        self.id = id
        self.rank = rank
        self.duckGain = duckGain
        self.yieldsToCalls = yieldsToCalls
        self.target = target
        self.content = content
        quietTicks = Self.pauseTicks
        self.bus = bus
        let isSamples = if case .samples = content { true } else { false }
        toBus = ToBus(from: bus.lowest, bus: isSamples ? bus : BusRates(bus.lowest))
        blockFrames = isSamples ? bus.lowest / 100 : 0
        block = .allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        self.volume = Gain(rate: bus.lowest, gain: 0)
        self.volume.set(volume)
        openVolume = volume
        volumeBesideCalls = volume * gainBesideCalls
    }

    deinit { block.deallocate() }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        toBus.set(index)
        volume.setRate(bus.rate(index))
        switch content {
        case .tone(let tone): tone.pointee.setBus(index)
        case .application(let application): application.pointee.adoptBus(index)
        case .stream(let stream): stream.pointee.adoptBus(index)
        case .samples: break
        }
    }

    /// Prepares for another rate of the bus; a negative index ends that.
    @_noLocks
    mutating func prepareBus(_ index: Int) {
        toBus.prepare(index)
        switch content {
        case .application(let application): application.pointee.prepareBus(index)
        case .stream(let stream): stream.pointee.prepareBus(index)
        case .tone, .samples: break
        }
    }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: any block of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        toBus.change(to: index)
        volume.setRate(bus.rate(index))
        switch content {
        case .tone(let tone): tone.pointee.setBus(index)
        case .application(let application): application.pointee.changeBus(to: index)
        case .stream(let stream): stream.pointee.changeBus(to: index, after: last, frames)
        case .samples: break
        }
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

    /// How many blocks of 10 ms may be taken at once, all but the last of them late: several of a program with a long queue, one
    /// of everything that has to be heard soon.
    var ticksAtOnce: Int {
        @_noLocks get {
            if isEnding { return 1 }
            switch content {
            case .stream(let stream): return stream.pointee.ticksAtOnce
            case .tone, .application, .samples: return 1
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

    /// It is a program whose samples are heard as they are: pairs of 16 bit at this rate in Hz, at full volume.
    @_noLocks
    func playsUnchanged(rate: Int) -> Bool {
        guard let stream, !isEnding, !isOver, volume.isOpen else { return false }
        return stream.pointee.isPairs && stream.pointee.rate == rate
    }

    /// As `takePairs`, `blocks` times and into the queue of a stream.
    ///
    /// - Parameter program: its own, which `playsUnchanged`.
    @_noLocks
    mutating func pass(_ program: PCMPointer, blocks: Int, into queue: borrowing SampleRing) {
        let heard = program.pointee.passPairs(blocks, into: queue)
        let quiet = (heard > 0 ? 0 : quietTicks) + blocks - heard
        quietTicks = quiet < Self.pauseTicks ? quiet : Self.pauseTicks
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
            copySamples(samples, count, loops: loops, block, blockFrames)
            let made = toBus.process(block, blockFrames, output, frames).made
            clear(output + made, frames - made)
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
