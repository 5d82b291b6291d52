import AudioDSP
import CBTCall
import Glibc

/// One sound card's capture stream: part of a path, or running alone between calls so that the next path starts quickly.
struct CapturePort: ~Copyable {
    /// Maximum size of one frame in the card's format.
    static var maximumFrameBytes: Int { @_noLocks get { 8 } }
    /// `SND_PCM_TYPE_HW`.
    private static let hardware: Int32 = 0
    /// Time after a removal request in which the current audio may fade to silence.
    static var removalDelay: Int64 { @_noLocks get { 20_000_000 } }

    /// Number of a stream that belongs to its path.
    static var noNumber: UInt32 { UInt32.max }

    /// Number given by the control side; `noNumber` for a stream that belongs to its path.
    let id: UInt32
    let pcm: OpaquePointer
    let rate: Int
    let periodFrames: Int
    let bufferFrames: Int
    let layout: SampleLayout
    /// Descriptors to poll for the stream.
    let descriptors: UnsafeMutablePointer<pollfd>
    let descriptorCount: Int
    /// The descriptors stay readable until alsa-lib is asked about the event: those of `dsnoop` belong to a timer.
    private let mustBeAsked: Bool

    /// Also runs without a path.
    var runsAlone: Bool
    /// The path that the stream belongs to at present.
    var terminal: TerminalPointer?
    private(set) var isRunning = false
    private(set) var isFailed = false
    /// Samples have arrived.
    private(set) var isFlowing = false
    var isReported = false
    /// The device does not follow any clock.
    private(set) var isUnclocked = false
    /// When the stream is released; `Int64.max`: no removal requested.
    var removal = Int64.max
    /// Position and number of its descriptors in the poll set while it runs alone.
    var pollIndex = -1
    var pollCount = 0

    private var needsPrepare = false
    private var startedAt: Int64 = 0
    private var capturedFrames = 0
    /// Unread frames of whole periods.
    private var unreadFrames = 0
    let interleaved: UnsafeMutableRawPointer
    private var toBus: ToBus
    /// Output of `convert`, at the rate of the bus.
    let converted: UnsafeMutablePointer<Int16>
    private let convertedCapacity: Int

    /// - Parameters:
    ///   - stream: prepared.
    ///   - descriptors: `descriptorCount` of them; owned by this port.
    init(
        _ id: UInt32, _ stream: ALSACapture, bus: BusRates, runsAlone: Bool,
        descriptors: UnsafeMutablePointer<pollfd>, descriptorCount: Int
    ) {
        self.id = id
        pcm = stream.pcm
        rate = stream.rate
        periodFrames = stream.periodFrames
        bufferFrames = stream.bufferFrames
        layout = SampleLayout(stream.format, channels: stream.channels)
        self.runsAlone = runsAlone
        self.descriptors = descriptors
        self.descriptorCount = descriptorCount
        mustBeAsked = snd_pcm_type(stream.pcm) != Self.hardware
        let bytes = Terminal.chunkFrames * Self.maximumFrameBytes
        interleaved = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        interleaved.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        toBus = ToBus(from: stream.rate, bus: bus)
        convertedCapacity = Terminal.chunkFrames * (bus.highest / stream.rate + 2)
        converted = UnsafeMutablePointer<Int16>.allocate(capacity: convertedCapacity)
        converted.initialize(repeating: 0, count: convertedCapacity)
    }

    deinit {
        descriptors.deallocate()
        interleaved.deallocate()
        converted.deallocate()
    }

    /// Starts the stream if it is not running yet. Returns 0 or -errno.
    @_noLocks
    mutating func start(now: Int64) -> Int32 {
        toBus.reset()
        if isRunning { return 0 }
        if needsPrepare { _ = snd_pcm_prepare(pcm) }
        isRunning = true
        isUnclocked = false
        startedAt = now
        capturedFrames = 0
        unreadFrames = 0
        return startPrepared(pcm)
    }

    /// Stops the stream at once; it can be restarted.
    @_noLocks
    mutating func stop() {
        if !isRunning { return }
        isRunning = false
        needsPrepare = true
        isFlowing = false
        _ = snd_pcm_drop(pcm)
    }

    /// Stops reading the stream because its device is gone.
    @_noLocks
    mutating func fail() { isFailed = true }

    /// Reads available whole periods, at most `Terminal.chunkFrames`, to `interleaved`. Returns the frames, or -errno.
    ///
    /// Reading part of the next period makes alsa-lib wake us every second period only.
    @_noLocks
    mutating func read(now: Int64) -> Int {
        if unreadFrames == 0 {
            var there = Int(snd_pcm_avail_update(pcm))
            if there >= 0 && there < periodFrames && settle() { there = Int(snd_pcm_avail_update(pcm)) }
            if there < 0 { return there }
            unreadFrames = there / periodFrames * periodFrames
            if unreadFrames == 0 { return 0 }
        }
        let wanted = unreadFrames < Terminal.chunkFrames ? unreadFrames : Terminal.chunkFrames
        let frames = Int(snd_pcm_readi(pcm, interleaved, UInt(wanted)))
        if frames <= 0 {
            unreadFrames = 0
            return frames == -Int(EAGAIN) || frames == -Int(EINTR) ? 0 : frames
        }
        unreadFrames -= frames
        isFlowing = true
        capturedFrames += frames
        // A device that delivers faster than real time, such as `null`, is no clock.
        let possible = (now &- startedAt) / 1_000_000 * Int64(rate) / 900
        if capturedFrames - bufferFrames - Terminal.chunkFrames > Int(possible) { isUnclocked = true }
        return frames
    }

    /// Called when no more can be read: quiets descriptors that stay readable after a read.
    ///
    /// Returns true when another read is needed, because samples that arrive meanwhile do not wake the thread.
    @_noLocks
    private func settle() -> Bool {
        if !mustBeAsked { return false }
        var each = 0
        while each < descriptorCount {
            descriptors[each].revents = descriptors[each].events
            each += 1
        }
        var events: UInt16 = 0
        return snd_pcm_poll_descriptors_revents(pcm, descriptors, UInt32(descriptorCount), &events) >= 0
    }

    /// Reads and discards one tick's worth of a stream that is no clock.
    @_noLocks
    func discardTick() { _ = snd_pcm_readi(pcm, interleaved, UInt(rate / 100)) }

    /// Restarts a stream after an overrun or a suspend. Returns 0, or -errno when the device is gone.
    @_noLocks
    mutating func recover(_ code: Int) -> Int {
        unreadFrames = 0
        if !isRecoverable(code) { return code }
        let prepared = snd_pcm_prepare(pcm)
        if prepared < 0 { return Int(prepared) }
        return Int(startPrepared(pcm))
    }

    /// Converts frames to the rate of the bus, in `converted`; returns their number there.
    @_noLocks
    mutating func convert(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Int {
        toBus.convert(samples, frames, converted, convertedCapacity)
    }

    // MARK: Rate of the bus

    /// Sets the rate of the bus for a stream that nobody hears.
    @_noLocks
    mutating func adoptBus(_ index: Int) { toBus.set(index) }

    /// Prepares for another rate of the bus; a negative index ends that.
    @_noLocks
    mutating func prepareBus(_ index: Int) { toBus.prepare(index) }

    /// Continues at another rate of the bus; `Terminal` joins the audio.
    @_noLocks
    mutating func changeBus(to index: Int) { toBus.change(to: index) }

    /// As `convert`, for the coming rate.
    @_noLocks
    mutating func convertComing(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Int {
        toBus.convertComing(samples, frames, converted, convertedCapacity)
    }

    /// See `ToBus`.
    var comingShift: Int { @_noLocks get { toBus.comingShift } }
}

/// Whether the error is an underrun, an overrun or a suspend: the stream can be prepared again.
@_noLocks
func isRecoverable(_ code: Int) -> Bool {
    code == -Int(EPIPE) || code == -Int(ESTRPIPE) || code == -Int(EBADFD)
}

/// Starts a prepared stream. Returns 0 or -errno.
@_noLocks
func startPrepared(_ stream: OpaquePointer) -> Int32 {
    let code = snd_pcm_start(stream)
    // Already running: the two streams of some cards start together.
    return code == -EBADFD ? 0 : code
}
