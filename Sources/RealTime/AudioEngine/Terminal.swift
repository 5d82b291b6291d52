import AudioDSP

/// The thread's side of one terminal: the common part of links and sound cards, between the device's sample rate and the
/// bus.
struct Terminal: ~Copyable {
    enum State: UInt8 {
        /// A path that is not routed.
        case idle
        /// A link, always; a path while it is routed, about to be, or fading out.
        case running
        /// A path that plays out its queue.
        case draining
        /// Its device is dead; it waits to be removed.
        case failed
    }

    /// Kind of device.
    enum Device {
        case link(LinkPointer)
        case path(PathPointer)
        /// Plays to a headset. Its path has no playback: it provides the timer and holds the attached capture stream.
        case stream(StreamPointer, PathPointer)
    }

    /// Maximum piece processed at once, in frames of the device.
    static var chunkFrames: Int { @_noLocks get { 2_048 } }

    let id: UInt32
    let counters: UnsafeMutablePointer<TerminalCounters>
    let device: Device
    var link: LinkPointer? { @_noLocks get { if case .link(let link) = device { link } else { nil } } }
    var stream: StreamPointer? { @_noLocks get { if case .stream(let stream, _) = device { stream } else { nil } } }
    var path: PathPointer? {
        @_noLocks get {
            switch device {
            case .link: nil
            case .path(let path), .stream(_, let path): path
            }
        }
    }
    /// Capture sample rate in Hz.
    let captureRate: Int

    var state: State
    // By pattern: comparing enumerations is not known to be free of locks.
    var isIdle: Bool { @_noLocks get { if case .idle = state { true } else { false } } }
    var isRunning: Bool { @_noLocks get { if case .running = state { true } else { false } } }
    var isDraining: Bool { @_noLocks get { if case .draining = state { true } else { false } } }
    var isFailed: Bool { @_noLocks get { if case .failed = state { true } else { false } } }
    var isRemoving = false
    /// The headset removes echo and noise itself.
    var hasOwnVoiceProcessing = false
    /// Never routed: it plays alone, beside the routed terminal.
    let isAlone: Bool
    /// A link whose audio counts from its first packet on, until it is routed.
    var speaksAtOnce: Bool
    /// Deadline for fading and draining after a removal or stop.
    var endDeadline = Int64.max
    /// Position and number of its descriptors in the poll set.
    var pollIndex = -1
    var pollCount = 0
    /// Index of its stream's socket in the poll set; -1 if not polled.
    var streamPoll = -1

    /// Captured audio at the rate of the bus.
    var capture: SampleRing
    /// The latest captured audio at the coming rate of the bus, while the thread prepares for that.
    private var coming: SampleRing
    private var isPreparing = false
    /// Audio to be played at the rate of the device.
    var playback: SampleRing
    /// Limit of `playback` in frames; beyond it the oldest are dropped.
    var playbackCeiling: Int
    var speaker: Gain
    var microphone: Gain
    private let bus: BusRates
    /// Converter of a link's audio.
    private var toBus: ToBus
    /// `capture` holds doubled audio (see `Resampler`), from an even frame on.
    var doubles: Bool { @_noLocks get { toBus.doubles } }
    private let converted: UnsafeMutablePointer<Int16>
    private let convertedCapacity: Int

    /// Everything begins at the lowest rate of the bus.
    init(
        id: UInt32, _ device: Device, captureRate: Int, playbackRate: Int, bus: BusRates, speakerGain: Float,
        microphoneGain: Float, isAlone: Bool = false, speaksAtOnce: Bool = false,
        counters: UnsafeMutablePointer<TerminalCounters>
    ) {
        self.id = id
        self.device = device
        let isLink = if case .link = device { true } else { false }
        self.counters = counters
        self.captureRate = captureRate
        self.isAlone = isAlone
        self.speaksAtOnce = speaksAtOnce
        state = isLink ? .running : .idle
        self.bus = bus
        // As a clock half a second at its own rate; at a higher rate of the bus, for the time of a fade, a quarter, or all of
        // the beginning of a word.
        let own = bus.rate(bus.index(for: max(captureRate, playbackRate)))
        let word = Preroll.capacity(bus)
        capture = SampleRing(capacity: max(own / 2, speaksAtOnce ? word : bus.highest / 4))
        // The last of it; all of it if it is the beginning of a word.
        coming = SampleRing(capacity: bus.count < 2 ? 1 : speaksAtOnce ? word : bus.highest / 10)
        playback = SampleRing(capacity: playbackRate / 2)
        // A link's queue is a tick and a packet. A path's queue is in its card; this one holds what the card does not
        // accept.
        playbackCeiling = isLink ? playbackRate * 6 / 100 : playbackRate / 10
        speaker = Gain(rate: bus.lowest, gain: speakerGain)
        microphone = Gain(rate: captureRate, gain: microphoneGain)
        // A path's capture stream has its own converter.
        let linkRate = isLink ? captureRate : bus.lowest
        toBus = ToBus(from: linkRate, bus: isLink ? bus : BusRates(linkRate))
        convertedCapacity = Self.chunkFrames * (bus.highest / linkRate + 2)
        converted = UnsafeMutablePointer<Int16>.allocate(capacity: convertedCapacity)
        converted.initialize(repeating: 0, count: convertedCapacity)
    }

    deinit { converted.deallocate() }

    /// Applies gain and rate conversion to captured audio and queues it. At most the latest `keep` frames stay queued.
    @_noLocks
    mutating func captured(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int, keep: Int) {
        microphone.apply(samples, frames)
        if let stream = path?.pointee.capture {
            let made = stream.pointee.convert(samples, frames)
            _ = capture.write(stream.pointee.converted, made)
            if isPreparing {
                let coming = stream.pointee.convertComing(samples, frames)
                note(stream.pointee.converted, coming)
            }
        } else {
            let made = toBus.convert(samples, frames, converted, convertedCapacity)
            _ = capture.write(converted, made)
            if isPreparing {
                let coming = toBus.convertComing(samples, frames, converted, convertedCapacity)
                note(converted, coming)
            }
        }
        let surplus = capture.available - keep
        if surplus > 0 { _ = capture.discard(surplus) }
    }

    /// Drops audio above the ceiling of the playback queue, oldest first, and counts it.
    @_noLocks
    mutating func enforceCeiling() {
        let surplus = playback.available - playbackCeiling
        if surplus <= 0 { return }
        _ = playback.discard(surplus)
        counters.pointee.overrunFrames.add(surplus)
    }

    // MARK: Rate of the bus

    /// Highest sample rate of its directions in Hz; 0 without any.
    var deviceRate: Int {
        @_noLocks get {
            switch device {
            case .link(let link): return link.pointee.rate
            case .path(let path):
                return Self.rate(of: path, playback: path.pointee.playback == nil ? 0 : path.pointee.playbackRate)
            case .stream(let stream, let path): return Self.rate(of: path, playback: stream.pointee.rate)
            }
        }
    }

    @_noLocks
    private static func rate(of path: PathPointer, playback: Int) -> Int {
        let captured = path.pointee.capture?.pointee.rate ?? 0
        return captured > playback ? captured : playback
    }

    /// Sets the rate of the bus for a terminal that nobody hears.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        let waiting = capture.available
        _ = capture.discard(waiting)
        forgetComing()
        toBus.set(index)
        speaker.setRate(bus.rate(index))
        switch device {
        case .link(let link): link.pointee.adoptBus(index)
        case .path(let path): adoptBus(index, path)
        case .stream(let stream, let path):
            stream.pointee.adoptBus(index)
            adoptBus(index, path)
        }
    }

    @_noLocks
    private func adoptBus(_ index: Int, _ path: PathPointer) {
        path.pointee.adoptBus(index)
        path.pointee.capture?.pointee.adoptBus(index)
    }

    /// Prepares for another rate of the bus: the microphone is also converted to that; a negative index ends it.
    @_noLocks
    mutating func prepareBus(_ index: Int) {
        forgetComing()
        isPreparing = index >= 0
        toBus.prepare(index)
        path?.pointee.capture?.pointee.prepareBus(index)
    }

    /// All captured audio that waits has also been converted to the coming rate.
    ///
    /// - Parameter old: present rate of the bus in Hz.
    @_noLocks
    func isPrepared(for index: Int, from old: Int) -> Bool {
        coming.available >= capture.available * bus.rate(index) / old
    }

    /// Continues at another rate of the bus, with the captured audio that still waits.
    ///
    /// - Parameters:
    ///   - old: present rate of the bus in Hz.
    ///   - last: the latest block, 10 ms at that rate, that it played; nil: nobody hears it.
    @_noLocks
    mutating func changeBus(to index: Int, from old: Int, after last: UnsafePointer<Int16>?) {
        let new = bus.rate(index)
        let waiting = capture.available
        _ = capture.discard(waiting)
        // Pairs stay pairs: doubled audio goes on from an even frame.
        let wanted = (waiting * new / old) & ~1
        var shift = toBus.comingShift
        if let stream = path?.pointee.capture { shift = stream.pointee.comingShift }
        takeComing(wanted, shift: shift, block: new / 100)
        forgetComing()
        toBus.change(to: index)
        speaker.setRate(new)
        switch device {
        case .link(let link):
            if let last {
                link.pointee.changeBus(to: index, after: last, old / 100)
            } else {
                link.pointee.adoptBus(index)
            }
        case .path(let path): changeBus(to: index, path, after: last, old / 100)
        case .stream(let stream, let path):
            if let last {
                stream.pointee.changeBus(to: index, after: last, old / 100)
            } else {
                stream.pointee.adoptBus(index)
            }
            changeBus(to: index, path, after: last, old / 100)
        }
    }

    @_noLocks
    private func changeBus(to index: Int, _ path: PathPointer, after last: UnsafePointer<Int16>?, _ frames: Int) {
        if let last { path.pointee.changeBus(to: index, after: last, frames) } else { path.pointee.adoptBus(index) }
        path.pointee.capture?.pointee.changeBus(to: index)
    }

    @_noLocks
    private mutating func forgetComing() {
        isPreparing = false
        let waiting = coming.available
        _ = coming.discard(waiting)
    }

    /// Keeps captured audio at the coming rate, the latest tenth of a second or more.
    @_noLocks
    private func note(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        let skipped = frames > coming.capacity ? frames - coming.capacity : 0
        let kept = frames - skipped
        let surplus = kept - coming.free
        if surplus > 0 { _ = coming.discard(surplus) }
        _ = coming.write(samples + skipped, kept)
    }

    /// Fills `capture` with the latest `wanted` frames of the coming rate. They begin where the present converter ended, and
    /// pass within 5 ms to where the next one is.
    ///
    /// - Parameters:
    ///   - shift: frames by which the present converter is later.
    ///   - block: frames in 10 ms.
    @_noLocks
    private func takeComing(_ wanted: Int, shift: Int, block: Int) {
        let there = coming.available
        if there < wanted { _ = capture.write(silence: wanted - there) }
        var first = there < wanted ? 0 : there - wanted
        // The earlier place of a later converter, or the later one of an earlier converter, must exist for the whole fade.
        let most = there - first + (shift < 0 ? shift : 0)
        let frames = most < block / 2 ? most : block / 2
        let late = converted + block
        if frames > 0, first >= shift, coming.peek(converted, frames, offset: first) == frames,
            coming.peek(late, frames, offset: first - shift) == frames
        {
            var index = 0
            while index < frames {
                let old = Int(late[index])
                converted[index] = Int16(truncatingIfNeeded: old + (Int(converted[index]) - old) * index / frames)
                index += 1
            }
            _ = capture.write(converted, frames)
            first += frames
        }
        while first < there {
            let piece = coming.peek(converted, block, offset: first)
            if piece <= 0 { return }
            _ = capture.write(converted, piece)
            first += piece
        }
    }
}
