import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Capture streams that come and go by themselves, and whether anybody hears a microphone.
extension RealtimeThread {
    @_noLocks
    mutating func addCapture(_ capture: CapturePointer) {
        if !captures.insert(capture, as: capture.pointee.id) {
            // The control side counts; it does not come to this.
            report(.captureRemoved(capture))
            return
        }
        if capture.pointee.runsAlone { runAlone(capture) }
    }

    /// Gives a path that stream, which the path had that has it now goes without.
    @_noLocks
    mutating func attachCapture(_ id: UInt32, to terminal: TerminalPointer?) {
        guard let capture = captures.find(id), let terminal, let path = terminal.pointee.path else { return }
        if capture.pointee.isFailed || capture.pointee.removal != Int64.max || terminal.pointee.isFailed { return }
        if same(capture.pointee.terminal, terminal) || path.pointee.capture != nil { return }
        detach(capture)
        let queued = terminal.pointee.capture.available
        _ = terminal.pointee.capture.discard(queued)
        let code = path.pointee.attach(capture, now: now)
        if code < 0 {
            fail(capture, code: -code)
            return
        }
        capture.pointee.terminal = terminal
        if same(terminal, master) { followRoute() }
    }

    /// Lets a stream run without a path as well, or no more.
    @_noLocks
    mutating func setCaptureAlone(_ id: UInt32, _ isAlone: Bool) {
        guard let capture = captures.find(id), capture.pointee.runsAlone != isAlone else { return }
        capture.pointee.runsAlone = isAlone
        if isAlone {
            // What a path reads runs already.
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

    /// The stream is given back; from a path that plays once what it had has faded.
    @_noLocks
    mutating func removeCapture(_ id: UInt32) {
        guard let capture = captures.find(id), capture.pointee.removal == Int64.max else { return }
        capture.pointee.removal = isRead(capture) ? now &+ CapturePort.removalDelay : now
    }

    /// A path that runs reads it.
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

    /// The terminal is about to be given back: its capture stream stays.
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

    /// Adds the poll entries of streams that no path reads, from `count` on, and returns how many entries there are then.
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

    /// Reads what there is, for nobody.
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

    /// Tells of streams whose first samples have come, and gives back those that are to go.
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

    /// Frames of the bus since the last tick, a tick at most: what a clock that takes over from the timer has to have, so that
    /// its next tick comes 10 ms after the last.
    @_noLocks
    func framesSinceTick() -> Int {
        let elapsed = Int((now &- lastTick) &* Int64(busRate) / 1_000_000_000)
        return elapsed < 0 ? 0 : elapsed < tickFrames ? elapsed : tickFrames
    }

    /// Takes a clock's first frames, behind silence for the time that they do not fill.
    @_noLocks
    mutating func join(_ terminal: TerminalPointer, _ path: PathPointer, _ frames: Int) {
        let elapsed = framesSinceTick()
        let rate = path.pointee.capture?.pointee.rate ?? busRate
        let missing = elapsed - frames * busRate / rate - terminal.pointee.capture.available
        if missing > 0 { _ = terminal.pointee.capture.write(silence: missing) }
        terminal.pointee.captured(path.pointee.pcm, frames, keep: elapsed)
    }

    // MARK: Who hears it

    /// Samples of a microphone may reach somebody: a call is up, nothing mutes it, and there is a microphone.
    @_noLocks
    private func canHearMicrophone() -> Bool {
        if microphoneGate.isSilent || microphoneGain.isSilent || muting.isSilent || !isListenedTo() { return false }
        return hasMicrophone(master) || hasMicrophone(fading)
    }

    /// What the person says goes to somebody.
    @_noLocks
    private func isListenedTo() -> Bool {
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

    /// Whether samples of a microphone leave the process is told when it changes: once the first have gone, and as soon as
    /// none can. Without room for it, it is told when there is some: somebody trusts in the light.
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
