import AudioDSP
import CBTCall
import Glibc

/// The thread's side of a sound card's streams. The only place that starts, recovers and stops them.
struct PathPort: ~Copyable {
    static var chunkFrames: Int { @_noLocks get { Terminal.chunkFrames } }
    static var balanceFor: Int64 { @_noLocks get { 100_000_000 } }
    /// Maximum descriptors of one stream; `hw:` has one.
    static var maximumDescriptors: Int { @_noLocks get { 4 } }

    let playback: OpaquePointer?
    /// Capture stream; may be attached and detached while the path plays. Without one the timer is the clock.
    private(set) var capture: CapturePointer?
    /// The capture stream belongs to the path and is released with it.
    private let ownsCapture: Bool
    let playbackRate: Int
    private let playbackLayout: SampleLayout
    private let playbackBufferFrames: Int
    /// Fill level of the playback buffer in frames.
    private let targetFrames: Int

    private(set) var isStarted = false
    private(set) var startedAt: Int64 = 0
    /// Time of the latest captured frames.
    private(set) var lastCapture: Int64 = 0
    private var needsPrepare = false
    private var isFallback = false
    /// A capture stream was attached to a path clocked by the timer, and has delivered nothing yet.
    private(set) var isJoining = false
    private var nextTimer: Int64 = 0
    /// Frames whose time the timer has filled, and until when late frames are dropped for it.
    private var debtFrames = 0
    private var debtEnds: Int64 = 0

    private var fromBus: AdaptiveFromBus
    private var steering: PlaybackSteering
    /// Frames above the ceiling of the queue, to be dropped from the next block.
    private var excessFrames = 0
    private var mustTopUp = false
    let pcm: UnsafeMutablePointer<Int16>
    /// Frames in the card's format, at most `maximumFrameBytes` each.
    private let interleaved: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - path: prepared streams.
    ///   - target: frames to keep in the playback buffer.
    ///   - descriptors: of the capture stream, `descriptorCount` of them; owned by this port.
    init(
        _ path: ALSAPath, bus: BusRates, target: Int, descriptors: UnsafeMutablePointer<pollfd>, descriptorCount: Int
    ) {
        playback = path.playback
        ownsCapture = path.capture != nil
        if let stream = path.captureStream {
            let port = CapturePointer.allocate(capacity: 1)
            port.initialize(
                to: CapturePort(
                    CapturePort.noNumber, stream, bus: bus, runsAlone: false, descriptors: descriptors,
                    descriptorCount: descriptorCount))
            capture = port
        } else {
            descriptors.deallocate()
        }
        playbackRate = path.playbackRate
        playbackLayout = SampleLayout(path.playbackFormat, channels: path.playbackChannels)
        playbackBufferFrames = path.playbackBufferFrames
        targetFrames = target
        fromBus = AdaptiveFromBus(to: path.playbackRate, bus: bus)
        steering = PlaybackSteering(target: target, rate: path.playbackRate)
        pcm = UnsafeMutablePointer<Int16>.allocate(capacity: Self.chunkFrames)
        pcm.initialize(repeating: 0, count: Self.chunkFrames)
        let bytes = Self.chunkFrames * CapturePort.maximumFrameBytes
        interleaved = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        interleaved.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    }

    deinit {
        if ownsCapture { capture?.deinitialize(count: 1).deallocate() }
        pcm.deallocate()
        interleaved.deallocate()
    }

    /// Number of bus frames in the playback's initial queue.
    @_noLocks
    func leadFrames() -> Int { playback == nil || isStarted ? 0 : targetFrames * fromBus.busRate / playbackRate }

    /// Duration of the playback's queue at its target.
    @_noLocks
    func queueNanoseconds() -> Int64 {
        playback == nil ? 0 : Int64(targetFrames) &* 1_000_000_000 / Int64(playbackRate)
    }

    /// Delay in milliseconds from giving a block to the playback until its sound leaves the capture, without the air.
    @_noLocks
    func echoMilliseconds() -> Int {
        let queue = playback == nil ? 0 : targetFrames * 1000 / playbackRate
        guard let capture else { return queue }
        return queue + capture.pointee.periodFrames * 1000 / capture.pointee.rate
    }

    /// Starts both streams; the playback's queue begins with silence and ends with `lead`.
    ///
    /// Returns 0 or an errno.
    /// - Parameter lead: frames of the bus, at most `leadFrames`.
    @_noLocks
    mutating func start(now: Int64, lead: UnsafePointer<Int16>, _ leadFrames: Int) -> Int32 {
        mustTopUp = true
        steering.restart()
        excessFrames = 0
        if isStarted { return 0 }
        isStarted = true
        startedAt = now
        lastCapture = now
        nextTimer = now &+ RealtimeThread.tickNanoseconds
        isFallback = capture == nil
        isJoining = false
        if let playback {
            if needsPrepare { _ = snd_pcm_prepare(playback) }
            var code = fillQueue(playback, lead, leadFrames)
            // It was open without use while the board slept.
            if isRecoverable(Int(code)) && snd_pcm_prepare(playback) >= 0 {
                code = fillQueue(playback, lead, leadFrames)
            }
            if code < 0 { return -code }
        }
        if let capture {
            let code = capture.pointee.start(now: now)
            if code < 0 { return -code }
        }
        guard let playback else { return 0 }
        let code = startPrepared(playback)
        return code < 0 ? -code : 0
    }

    /// Schedules the timer's next tick 10 ms after the last tick of any clock, if the timer is the clock.
    @_noLocks
    mutating func followClock(lastTick: Int64, now: Int64) {
        if !isFallback { return }
        nextTimer = lastTick &+ RealtimeThread.tickNanoseconds
        if nextTimer < now { nextTimer = now }
    }

    /// Stops both streams at once, except a capture that also runs alone; they can be restarted.
    @_noLocks
    mutating func stop() {
        if !isStarted { return }
        isStarted = false
        needsPrepare = true
        if let playback { _ = snd_pcm_drop(playback) }
        if let capture, !capture.pointee.runsAlone { capture.pointee.stop() }
    }

    /// The capture device follows no clock: the timer makes the ticks, and the descriptor is not polled.
    var isUnclocked: Bool { @_noLocks get { capture?.pointee.isUnclocked ?? false } }

    /// Attaches a capture stream to the path, also while it plays: the timer stays the clock until the first samples arrive.
    /// Returns 0, or -errno of a stream that cannot be started: then none is attached.
    @_noLocks
    mutating func attach(_ stream: CapturePointer, now: Int64) -> Int32 {
        if capture != nil { return -EBUSY }
        if isStarted {
            let code = stream.pointee.start(now: now)
            if code < 0 { return code }
            isJoining = true
            debtFrames = 0
        }
        capture = stream
        return 0
    }

    /// Detaches the capture stream; the timer continues its ticks.
    ///
    /// - Parameters:
    ///   - lastTick: time of the latest tick.
    ///   - captured: nanoseconds captured since then and not used. The next tick comes this much earlier, or each attach and
    ///     detach would drain the playback's queue by as much.
    @_noLocks
    mutating func detach(lastTick: Int64, captured: Int64) {
        guard let stream = capture else { return }
        capture = nil
        if !stream.pointee.runsAlone { stream.pointee.stop() }
        isJoining = false
        debtFrames = 0
        if isStarted && !isFallback { nextTimer = lastTick &+ RealtimeThread.tickNanoseconds &- captured }
        isFallback = true
    }

    /// Reads the microphone, at most `chunkFrames`, as one channel to `pcm`. Returns the frames, 0 for none, or -errno when
    /// the device is gone. Recovers from an overrun and counts it.
    @_noLocks
    mutating func read(now: Int64, _ counters: UnsafeMutablePointer<TerminalCounters>) -> Int {
        guard let capture else { return 0 }
        let frames = capture.pointee.read(now: now)
        if frames > 0 {
            let late = lateFrames(frames, of: capture, now: now)
            let layout = capture.pointee.layout
            layout.read(capture.pointee.interleaved + late * layout.frameBytes, frames - late, into: pcm)
            return frames - late
        }
        if frames == 0 { return 0 }
        let code = capture.pointee.recover(frames)
        if code >= 0 { counters.pointee.captureXruns.add(1) }
        return code
    }

    /// Reads and discards one tick of a device that is no clock, and returns silence for it, so that the device is not read
    /// too often.
    @_noLocks
    mutating func readUnclocked() {
        capture?.pointee.discardTick()
    }

    /// Next time at which the timer has to replace the capture.
    @_noLocks
    func clockDeadline(_ fallbackAfter: Int64) -> Int64 {
        isFallback ? nextTimer : isUnclocked ? lastCapture : lastCapture &+ fallbackAfter
    }

    /// Whether the timer has to make a tick now: there is no capture, or it has been silent for `fallbackAfter`.
    @_noLocks
    func isTimerDue(now: Int64, _ fallbackAfter: Int64) -> Bool {
        isFallback ? now >= nextTimer : isUnclocked || now &- lastCapture >= fallbackAfter
    }

    /// The same, and if so counts that tick as made.
    @_noLocks
    mutating func timerFired(now: Int64, _ fallbackAfter: Int64) -> Bool {
        if !isTimerDue(now: now, fallbackAfter) { return false }
        if !isFallback {
            isFallback = true
            nextTimer = now
        }
        nextTimer = nextTimer &+ RealtimeThread.tickNanoseconds
        if nextTimer &+ 50_000_000 < now { nextTimer = now &+ RealtimeThread.tickNanoseconds }
        if let capture, !isJoining && debtFrames < playbackRate { debtFrames += capture.pointee.rate / 100 }
        return true
    }

    /// Number of just captured frames that belong to time already filled by the timer.
    @_noLocks
    private mutating func lateFrames(_ frames: Int, of capture: CapturePointer, now: Int64) -> Int {
        lastCapture = now
        if !isUnclocked { isJoining = false }
        if isFallback && !isUnclocked {
            isFallback = false
            debtEnds = now &+ Self.balanceFor
        }
        if now > debtEnds { debtFrames = 0 }
        var late = frames - capture.pointee.periodFrames
        if late > debtFrames { late = debtFrames }
        if late <= 0 { return 0 }
        debtFrames -= late
        return late
    }

    /// Converts a block of the bus to the card's rate, at the ratio that keeps the queue level, and appends it to `ring`; no
    /// effect on a path without playback.
    @_noLocks
    mutating func convert(
        _ block: UnsafePointer<Int16>, _ frames: Int, into ring: borrowing SampleRing,
        _ counters: UnsafeMutablePointer<TerminalCounters>
    ) {
        if playback == nil { return }
        let made = fromBus.process(block, frames, pcm, Self.chunkFrames)
        let dropped = excessFrames < made ? excessFrames : made
        excessFrames = 0
        counters.pointee.overrunFrames.add(dropped)
        _ = ring.write(pcm + dropped, made - dropped)
    }

    /// Sets the rate of the bus for a path that nobody hears.
    @_noLocks
    mutating func adoptBus(_ index: Int) { fromBus.set(index) }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block, of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        fromBus.change(to: index, after: last, frames)
    }

    /// Writes as much of `ring` as the card accepts, and steers the ratio by the resulting fill level of its buffer. Returns
    /// 0, or -errno when the device is gone. Recovers from an underrun and counts it.
    @_noLocks
    mutating func flush(
        _ ring: borrowing SampleRing, now: Int64, steer: Bool, _ counters: UnsafeMutablePointer<TerminalCounters>
    ) -> Int {
        guard let playback, isStarted else { return 0 }
        var attempts = 0
        while ring.available > 0 && attempts < 8 {
            attempts += 1
            var room = Int(snd_pcm_avail_update(playback))
            if room < 0 {
                let code = recover(playback, room, counters)
                if code < 0 { return code }
                continue
            }
            if room > Self.chunkFrames { room = Self.chunkFrames }
            if room == 0 { break }
            let frames = ring.peek(pcm, room, offset: 0)
            playbackLayout.write(pcm, frames, to: interleaved)
            let written = Int(snd_pcm_writei(playback, interleaved, UInt(frames)))
            if written > 0 {
                _ = ring.discard(written)
            } else if written == 0 || written == -Int(EAGAIN) || written == -Int(EINTR) {
                break
            } else {
                let code = recover(playback, written, counters)
                if code < 0 { return code }
            }
        }
        let room = Int(snd_pcm_avail_update(playback))
        if room < 0 { return 0 }
        let queued = playbackBufferFrames - room + ring.available
        counters.pointee.queuedMilliseconds.set(queued * 1000 / playbackRate)
        if steer {
            let ppm = steering.update(queued: queued, now: now)
            fromBus.setDrift(ppm: ppm)
            excessFrames = steering.excess(queued: queued)
            counters.pointee.driftMilliPPM.set(Int(ppm * 1000))
        }
        return isStuck(room) && isGone(playback) ? -Int(ENODEV) : 0
    }

    /// Nothing is written next: the queue is full, or above its ceiling.
    @_noLocks
    private func isStuck(_ room: Int) -> Bool { room == 0 || excessFrames > 0 }

    /// Of a card that was pulled out, alsa-lib gives the last room for ever; only writing would fail.
    @_noLocks
    private func isGone(_ playback: OpaquePointer) -> Bool {
        let state = snd_pcm_state(playback)
        return state < 0 || state == BTCALL_PCM_DISCONNECTED
    }

    /// Fills the queue up to its target before the first block of a routed path, because time has passed since the start.
    ///
    /// - Parameter coming: frames that are waiting to be written, or will be once the captured audio is used.
    @_noLocks
    mutating func topUp(coming: Int) {
        guard let playback, mustTopUp else { return }
        mustTopUp = false
        let room = Int(snd_pcm_avail_update(playback))
        if room < 0 { return }
        var missing = targetFrames - coming - (playbackBufferFrames - room)
        if let capture {
            let captured = Int(snd_pcm_avail_update(capture.pointee.pcm))
            if captured > 0 { missing -= captured * playbackRate / capture.pointee.rate }
        }
        if missing > 0 { _ = fill(playback, silence: missing) }
    }

    /// Whether the playback has played everything, or was stopped.
    @_noLocks
    func isDrained() -> Bool {
        guard let playback, isStarted else { return true }
        let room = Int(snd_pcm_avail_update(playback))
        return room < 0 || room >= playbackBufferFrames
    }

    /// Counts an underrun or suspend of the playback and restarts it.
    ///
    /// Returns 0, or -errno when the device is gone; then nothing is counted.
    @_noLocks
    private mutating func recover(
        _ stream: OpaquePointer, _ code: Int, _ counters: UnsafeMutablePointer<TerminalCounters>
    ) -> Int {
        if !isRecoverable(code) { return code }
        let prepared = snd_pcm_prepare(stream)
        if prepared < 0 { return Int(prepared) }
        counters.pointee.playbackXruns.add(1)
        steering.restart()
        let filled = fill(stream, silence: targetFrames)
        if filled < 0 { return Int(filled) }
        return Int(startPrepared(stream))
    }

    /// Writes the initial queue: silence, then `lead`. Returns 0 or -errno.
    @_noLocks
    private mutating func fillQueue(
        _ playback: OpaquePointer, _ lead: UnsafePointer<Int16>, _ leadFrames: Int
    ) -> Int32 {
        fromBus.reset()
        let code = fill(playback, silence: targetFrames - leadFrames * playbackRate / fromBus.busRate)
        return code < 0 ? code : write(playback, lead, leadFrames)
    }

    /// Writes frames of silence to a stream. Returns 0 or -errno.
    @_noLocks
    private mutating func fill(_ playback: OpaquePointer, silence: Int) -> Int32 {
        self.silence(Self.chunkFrames)
        var left = silence
        while left > 0 {
            let piece = left < Self.chunkFrames ? left : Self.chunkFrames
            let written = snd_pcm_writei(playback, interleaved, UInt(piece))
            if written == -Int(EAGAIN) || written == 0 { break }
            if written < 0 { return Int32(truncatingIfNeeded: written) }
            left -= Int(written)
        }
        return 0
    }

    /// Converts frames of the bus and writes them to a stream with room for them. Returns 0 or -errno.
    @_noLocks
    private mutating func write(_ playback: OpaquePointer, _ samples: UnsafePointer<Int16>, _ frames: Int) -> Int32 {
        let block = fromBus.busRate / 100
        var done = 0
        while done < frames {
            let piece = frames - done < block ? frames - done : block
            let made = fromBus.process(samples + done, piece, pcm, Self.chunkFrames)
            playbackLayout.write(pcm, made, to: interleaved)
            let written = snd_pcm_writei(playback, interleaved, UInt(made))
            if written < 0 && written != -Int(EAGAIN) { return Int32(truncatingIfNeeded: written) }
            done += piece
        }
        return 0
    }

    /// Silence is zero in every format.
    @_noLocks
    private func silence(_ frames: Int) {
        clear(interleaved.assumingMemoryBound(to: Int16.self), (frames * playbackLayout.frameBytes + 1) / 2)
    }
}
