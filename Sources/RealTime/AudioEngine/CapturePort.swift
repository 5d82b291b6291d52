import AudioDSP
import CBTCall
import Glibc

/// One sound card's capture stream: part of a path, or running alone between calls so that a path finds it warm.
struct CapturePort: ~Copyable {
    /// Frames in the card's format; the most that a frame takes.
    static var maximumFrameBytes: Int { @_noLocks get { 8 } }
    /// `SND_PCM_TYPE_HW`.
    private static let hardware: Int32 = 0
    /// After a removal is asked for, what is under way may fade to silence.
    static var removalDelay: Int64 { @_noLocks get { 20_000_000 } }

    /// Of a stream that goes with its path, and is not asked for by a number.
    static var noNumber: UInt32 { UInt32.max }

    /// The control side's number; `noNumber` of a stream that belongs to its path.
    let id: UInt32
    let pcm: OpaquePointer
    let rate: Int
    let periodFrames: Int
    let bufferFrames: Int
    let layout: SampleLayout
    /// What the stream is watched by.
    let descriptors: UnsafeMutablePointer<pollfd>
    let descriptorCount: Int
    /// Its descriptors stay readable until alsa-lib has been asked what woke them: those of `dsnoop` are a timer's.
    private let mustBeAsked: Bool

    /// It runs without a path, too.
    var runsAlone: Bool
    /// The path that it belongs to at present.
    var terminal: TerminalPointer?
    private(set) var isRunning = false
    private(set) var isFailed = false
    /// Samples have come.
    private(set) var isFlowing = false
    var isReported = false
    /// The stream does not follow any clock.
    private(set) var isUnclocked = false
    /// When it is given back; `Int64.max`: it is not asked for.
    var removal = Int64.max
    /// Where its descriptors stand in the poll set while it runs alone, and how many they are.
    var pollIndex = -1
    var pollCount = 0

    private var needsPrepare = false
    private var startedAt: Int64 = 0
    private var capturedFrames = 0
    /// Of whole periods, not read yet.
    private var unreadFrames = 0
    let interleaved: UnsafeMutableRawPointer
    private var toBus: Resampler
    /// What `convert` has made, at the rate of the bus.
    let converted: UnsafeMutablePointer<Int16>
    private let convertedCapacity: Int

    /// - Parameters:
    ///   - stream: prepared.
    ///   - descriptors: `descriptorCount` of them; owned from here.
    init(
        _ id: UInt32, _ stream: ALSACapture, busRate: Int, runsAlone: Bool,
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
        toBus = Resampler(from: stream.rate, to: busRate)
        convertedCapacity = Terminal.chunkFrames * (busRate / stream.rate + 2)
        converted = UnsafeMutablePointer<Int16>.allocate(capacity: convertedCapacity)
        converted.initialize(repeating: 0, count: convertedCapacity)
    }

    deinit {
        descriptors.deallocate()
        interleaved.deallocate()
        converted.deallocate()
    }

    /// Starts the stream, if it does not run yet. Returns 0 or -errno.
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

    /// Stops the stream at once; it can be started again.
    @_noLocks
    mutating func stop() {
        if !isRunning { return }
        isRunning = false
        needsPrepare = true
        isFlowing = false
        _ = snd_pcm_drop(pcm)
    }

    /// The device is gone: it is not read any more.
    @_noLocks
    mutating func fail() { isFailed = true }

    /// Reads what there is of whole periods, at most `Terminal.chunkFrames`, to `interleaved`. Returns the frames, or -errno.
    ///
    /// alsa-lib wakes when a whole period is there. Whoever is a moment late and takes some of the next one along is woken
    /// every other time, for two.
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
        // A device that gives more than time allows, such as `null`, is no clock.
        let possible = (now &- startedAt) / 1_000_000 * Int64(rate) / 900
        if capturedFrames - bufferFrames - Terminal.chunkFrames > Int(possible) { isUnclocked = true }
        return frames
    }

    /// There is nothing more to read: puts the descriptors to rest that do not come to rest by being read.
    ///
    /// Returns true when another look is due, because what comes meanwhile wakes nobody.
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

    /// Reads and forgets one tick's worth of a stream that is no clock.
    @_noLocks
    func discardTick() { _ = snd_pcm_readi(pcm, interleaved, UInt(rate / 100)) }

    /// Starts a stream anew that ran over or was suspended. Returns 0, or -errno when the device is gone.
    @_noLocks
    mutating func recover(_ code: Int) -> Int {
        unreadFrames = 0
        if !isRecoverable(code) { return code }
        let prepared = snd_pcm_prepare(pcm)
        if prepared < 0 { return Int(prepared) }
        return Int(startPrepared(pcm))
    }

    /// Converts to the rate of the bus, to `converted`; returns the frames there.
    @_noLocks
    mutating func convert(_ samples: UnsafePointer<Int16>, _ frames: Int) -> Int {
        toBus.process(samples, frames, converted, convertedCapacity).made
    }
}

/// A stream ran dry or over, or was suspended: it can be prepared again.
@_noLocks
func isRecoverable(_ code: Int) -> Bool {
    code == -Int(EPIPE) || code == -Int(ESTRPIPE) || code == -Int(EBADFD)
}

/// Starts a prepared stream. Returns 0 or -errno.
@_noLocks
func startPrepared(_ stream: OpaquePointer) -> Int32 {
    let code = snd_pcm_start(stream)
    // Running already: the two streams of some cards start together.
    return code == -EBADFD ? 0 : code
}
