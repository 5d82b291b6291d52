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
    /// Deadline for fading and draining after a removal or stop.
    var endDeadline = Int64.max
    /// Position and number of its descriptors in the poll set.
    var pollIndex = -1
    var pollCount = 0
    /// Index of its stream's socket in the poll set; -1 if not polled.
    var streamPoll = -1

    /// Captured audio at the rate of the bus.
    var capture: SampleRing
    /// Audio to be played at the rate of the device.
    var playback: SampleRing
    /// Limit of `playback` in frames; beyond it the oldest are dropped.
    var playbackCeiling: Int
    var speaker: Gain
    var microphone: Gain
    private var toBus: Resampler
    /// `capture` holds doubled audio (see `Resampler`), from an even frame on.
    var doubles: Bool { @_noLocks get { toBus.doubles } }
    private let converted: UnsafeMutablePointer<Int16>
    private let convertedCapacity: Int

    /// - Parameter busRate: in Hz.
    init(
        id: UInt32, _ device: Device, captureRate: Int, playbackRate: Int, busRate: Int, speakerGain: Float,
        microphoneGain: Float, isAlone: Bool = false, counters: UnsafeMutablePointer<TerminalCounters>
    ) {
        self.id = id
        self.device = device
        let isLink = if case .link = device { true } else { false }
        self.counters = counters
        self.captureRate = captureRate
        self.isAlone = isAlone
        state = isLink ? .running : .idle
        capture = SampleRing(capacity: busRate / 2)
        playback = SampleRing(capacity: playbackRate / 2)
        // A link's queue is a tick and a packet. A path's queue is in its card; this one holds what the card does not
        // accept.
        playbackCeiling = isLink ? playbackRate * 6 / 100 : playbackRate / 10
        speaker = Gain(rate: busRate, gain: speakerGain)
        microphone = Gain(rate: captureRate, gain: microphoneGain)
        // A path's capture stream has its own converter.
        let linkRate = isLink ? captureRate : busRate
        toBus = Resampler(from: linkRate, to: busRate)
        convertedCapacity = Self.chunkFrames * (busRate / linkRate + 2)
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
        } else {
            let result = toBus.process(samples, frames, converted, convertedCapacity)
            _ = capture.write(converted, result.made)
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
}
