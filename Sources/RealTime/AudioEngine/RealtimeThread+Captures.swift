import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Separately added capture streams, and detection of a live microphone.
extension RealtimeThread {
    @_noLocks
    mutating func addCapture(_ capture: CapturePointer) {
        if !captures.insert(capture, as: capture.pointee.id) {
            // Not reached: the control side limits the number.
            report(.captureRemoved(capture))
            return
        }
        capture.pointee.adoptBus(busIndex)
        capture.pointee.prepareBus(comingBus)
        if capture.pointee.runsAlone { runAlone(capture) }
    }

    /// Attaches the stream to a path and detaches it from the path that had it.
    @_noLocks
    mutating func attachCapture(_ id: UInt32, to terminal: TerminalPointer?) {
        guard let capture = captures.find(id), let terminal, let path = terminal.pointee.path else { return }
        if capture.pointee.isFailed || capture.pointee.removal != Int64.max || terminal.pointee.isFailed { return }
        if same(capture.pointee.terminal, terminal) || path.pointee.capture != nil { return }
        detach(capture)
        let queued = terminal.pointee.capture.available
        _ = terminal.pointee.capture.discard(queued)
        capture.pointee.adoptBus(busIndex)
        capture.pointee.prepareBus(comingBus)
        let code = path.pointee.attach(capture, now: now)
        if code < 0 {
            fail(capture, code: -code)
            return
        }
        capture.pointee.terminal = terminal
        if same(terminal, master) { followRoute() }
    }

    /// Sets whether a stream also runs without a path.
    @_noLocks
    mutating func setCaptureAlone(_ id: UInt32, _ isAlone: Bool) {
        guard let capture = captures.find(id), capture.pointee.runsAlone != isAlone else { return }
        capture.pointee.runsAlone = isAlone
        if isAlone {
            // A stream that a path reads is already running.
            if !isRead(capture) { runAlone(capture) }
        } else if !isRead(capture) {
            capture.pointee.stop()
        }
    }

    @_noLocks
    private mutating func runAlone(_ capture: CapturePointer) {
        let code = capture.pointee.start(now: now)
        if code < 0 { fail(capture, code: -code) }
    }

    /// Releases the stream; from a playing path, once its audio has faded.
    @_noLocks
    mutating func removeCapture(_ id: UInt32) {
        guard let capture = captures.find(id), capture.pointee.removal == Int64.max else { return }
        capture.pointee.removal = isRead(capture) ? now &+ CapturePort.removalDelay : now
    }

    /// Whether a running path reads the stream.
    @_noLocks
    private func isRead(_ capture: CapturePointer) -> Bool {
        guard let path = capture.pointee.terminal?.pointee.path else { return false }
        return path.pointee.isStarted
    }

    @_noLocks
    private mutating func detach(_ capture: CapturePointer) {
        guard let terminal = capture.pointee.terminal else { return }
        capture.pointee.terminal = nil
        let captured = Int64(terminal.pointee.capture.available) &* 1_000_000_000 / Int64(busRate)
        terminal.pointee.path?.pointee.detach(lastTick: lastTick, captured: min64(captured, Self.tickNanoseconds))
    }

    /// Detaches the capture stream of a terminal that is about to be released.
    @_noLocks
    mutating func keepCapture(of terminal: TerminalPointer) {
        guard let capture = terminal.pointee.path?.pointee.capture, same(capture.pointee.terminal, terminal) else {
            return
        }
        detach(capture)
    }

    @_noLocks
    private mutating func fail(_ capture: CapturePointer, code: Int32) {
        if capture.pointee.isFailed { return }
        capture.pointee.fail()
        report(.captureFailed(capture.pointee.id, code: code))
    }

    // MARK: Running alone

    @_noLocks
    private func isAlone(_ capture: CapturePointer) -> Bool {
        capture.pointee.isRunning && !capture.pointee.isFailed && !capture.pointee.isUnclocked && !isRead(capture)
    }

    /// Adds the poll entries of streams that no path reads, from `count` on; returns the new count.
    @_noLocks
    mutating func preparePollsOfCaptures(_ count: Int) -> Int {
        var count = count
        for capture in captures.all {
            capture.pointee.pollIndex = count
            capture.pointee.pollCount = 0
            if isAlone(capture) {
                var each = 0
                while each < capture.pointee.descriptorCount {
                    polls[count + each] = capture.pointee.descriptors[each]
                    polls[count + each].revents = 0
                    each += 1
                }
                capture.pointee.pollCount = each
                count += each
            }
        }
        return count
    }

    @_noLocks
    mutating func serviceCaptures() {
        for capture in captures.all where capture.pointee.pollCount > 0 && isAlone(capture) {
            var events: Int16 = 0
            var each = 0
            while each < capture.pointee.pollCount {
                events |= polls[capture.pointee.pollIndex + each].revents
                each += 1
            }
            if events != 0 { discard(capture) }
        }
    }

    /// Reads and discards waiting samples.
    @_noLocks
    private mutating func discard(_ capture: CapturePointer) {
        var left = 16
        while left > 0 {
            left -= 1
            let frames = capture.pointee.read(now: now)
            if frames == 0 || capture.pointee.isUnclocked { return }
            if frames > 0 { continue }
            let code = capture.pointee.recover(frames)
            if code < 0 { fail(capture, code: Int32(truncatingIfNeeded: -code)) }
            return
        }
    }

    @_noLocks
    func captureDeadline() -> Int64 {
        var result = Int64.max
        for capture in captures.all {
            result = min64(result, capture.pointee.removal)
        }
        return result
    }

    /// Reports streams whose first samples have arrived, and releases streams to be removed.
    @_noLocks
    mutating func finishCaptures() {
        for capture in captures.all {
            if capture.pointee.isFlowing != capture.pointee.isReported {
                capture.pointee.isReported = capture.pointee.isFlowing
                if capture.pointee.isFlowing { report(.captureReady(capture.pointee.id)) }
            }
            if now >= capture.pointee.removal || capture.pointee.removal != Int64.max && !isRead(capture) {
                detach(capture)
                capture.pointee.stop()
                captures.remove(capture)
                report(.captureRemoved(capture))
            }
        }
    }

    /// Bus frames since the last tick, at most one tick: the amount that a clock that replaces the timer needs, so that its
    /// next tick comes 10 ms after the last.
    @_noLocks
    func framesSinceTick() -> Int {
        let elapsed = Int((now &- lastTick) &* Int64(busRate) / 1_000_000_000)
        return elapsed < 0 ? 0 : elapsed < tickFrames ? elapsed : tickFrames
    }

    /// Takes a clock's first frames, preceded by silence for the rest of the elapsed time.
    @_noLocks
    mutating func join(_ terminal: TerminalPointer, _ path: PathPointer, _ frames: Int) {
        let elapsed = framesSinceTick()
        let rate = path.pointee.capture?.pointee.rate ?? busRate
        let missing = elapsed - frames * busRate / rate - terminal.pointee.capture.available
        if missing > 0 { _ = terminal.pointee.capture.write(silence: missing) }
        terminal.pointee.captured(path.pointee.pcm, frames, keep: elapsed)
    }

    // MARK: Live microphone

    /// Whether a microphone's samples may reach somebody, or would if it were not muted under the audio of applications: a
    /// call is up, nothing else silences it, and there is a microphone.
    @_noLocks
    private func canHearMicrophone() -> Bool {
        if microphoneGate.isSilent && !showsMutedMicrophone { return false }
        if microphoneGain.isSilent || muting.isSilent || !isListenedTo() { return false }
        return hasMicrophone(master) || hasMicrophone(fading) || preroll.isWaiting
    }

    /// Whether somebody receives the uplink.
    @_noLocks
    func isListenedTo() -> Bool {
        hasSpeakingCall() || hasPCMListener()
    }

    @_noLocks
    private func hasSpeakingCall() -> Bool {
        calls.all.contains { $0.pointee.isClocked && !$0.pointee.speaking.isSilent }
    }

    @_noLocks
    private func hasMicrophone(_ terminal: TerminalPointer?) -> Bool {
        guard let terminal, isHeard(terminal) else { return false }
        guard let path = terminal.pointee.path else { return true }
        return path.pointee.capture != nil && !path.pointee.isUnclocked
    }

    /// Reports when a microphone's samples start to leave the process (after the first have left) and when they can no
    /// longer. If the queue is full, the report is repeated later, because an indicator light depends on it.
    @_noLocks
    mutating func noteMicrophone() {
        let isLive = canHearMicrophone() && (isMicrophoneLive || hasSentMicrophone)
        hasSentMicrophone = false
        isMicrophoneUntold = isLive != isMicrophoneLive && !hasRoomForEvent()
        if isLive == isMicrophoneLive || isMicrophoneUntold { return }
        isMicrophoneLive = isLive
        report(.microphoneLive(isLive))
    }
}
