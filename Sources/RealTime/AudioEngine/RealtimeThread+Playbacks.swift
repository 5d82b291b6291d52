import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Audio for the user beside the calls: mixed with them where they are routed, or alone on other terminals.
extension RealtimeThread {
    /// Peak above which two consecutive blocks count as a call's audio rather than line noise: -40 dB.
    private static var speechPeak: Int16 { @_noLocks get { 330 } }

    @_noLocks
    mutating func addPlayback(_ playback: PlaybackPointer) {
        playback.pointee.adoptBus(busIndex)
        playback.pointee.prepareBus(comingBus)
        // Not reached: the control side limits the number.
        if !playbacks.insert(playback, as: playback.pointee.id) { report(.playbackEnded(playback)) }
    }

    /// Starts a terminal that plays alone; a path is then clocked by the timer.
    @_noLocks
    mutating func startAlone(_ terminal: TerminalPointer) {
        guard let path = terminal.pointee.path else { return }
        terminal.pointee.state = .running
        if let stream = terminal.pointee.stream { stream.pointee.start(fadesIn: true) }
        let code = path.pointee.start(now: now, lead: lead, 0)
        if code != 0 { fail(terminal, code: code) }
    }

    /// Runs the terminal's ticks on the timer of a path.
    @_noLocks
    mutating func serviceAlone(_ terminal: TerminalPointer, _ path: PathPointer) {
        if followsCalls(terminal) { return }
        if let stream = terminal.pointee.stream { stream.pointee.forgetCalls() }
        var due = 0
        while due < 8 && terminal.pointee.isRunning && path.pointee.timerFired(now: now, fallbackAfter) { due += 1 }
        if due == 0 || passProgram(to: terminal, ticks: due) { return }
        while due > 0 && terminal.pointee.isRunning {
            due -= 1
            clear(alone, tickFrames)
            tickAlone(terminal)
        }
    }

    /// Runs the terminal's ticks on the packets of a link.
    @_noLocks
    mutating func runTicksAlone(_ terminal: TerminalPointer) {
        while terminal.pointee.capture.available >= tickFrames {
            _ = terminal.pointee.capture.discard(tickFrames)
            clear(alone, tickFrames)
            tickAlone(terminal)
        }
    }

    /// Mixes the terminal's playbacks into `alone` and plays it.
    @_noLocks
    mutating func tickAlone(_ terminal: TerminalPointer) {
        mixPlaybacks(at: Int64(terminal.pointee.id), into: alone, terminal.pointee.stream)
        play(alone, on: terminal)
        endAlone(terminal)
    }

    /// Whether the playback's target is ticking.
    @_noLocks
    private func isHeard(_ playback: PlaybackPointer) -> Bool {
        let target = playback.pointee.target
        if target == PlaybackPort.nowhere { return false }
        if target == PlaybackPort.routed { return master != nil || fading != nil }
        guard let terminal = terminal(of: playback) else { return false }
        // A stream is heard until it has faded out.
        let isGoing = terminal.pointee.isRemoving && terminal.pointee.stream == nil
        return terminal.pointee.isAlone && terminal.pointee.isRunning && !isGoing
    }

    /// Terminal of the playback's target.
    @_noLocks
    private func terminal(of playback: PlaybackPointer) -> TerminalPointer? {
        let target = playback.pointee.target
        if target == PlaybackPort.routed { return master }
        for terminal in terminals.all where Int64(terminal.pointee.id) == target {
            return terminal
        }
        return nil
    }

    /// Mixes playbacks into the calls' audio, which is lowered if a playback asks for that.
    @_noLocks
    mutating func mixPlaybacks() {
        if master == nil && fading == nil { return }
        noteSpeech()
        farEndGain.set(duckGain())
        farEndGain.apply(downlink, tickFrames)
        mixPlaybacks(at: PlaybackPort.routed, into: downlink, nil)
    }

    /// Ends playbacks that stand in for the remote party's audio once that arrives.
    @_noLocks
    private mutating func noteSpeech() {
        var frame = 0
        var isLoud = false
        while frame < tickFrames && !isLoud {
            isLoud = downlink[frame] > Self.speechPeak || downlink[frame] < -Self.speechPeak
            frame += 1
        }
        loudTicks = isLoud ? loudTicks + 1 : 0
        if loudTicks < 2 { return }
        for playback in playbacks.all where playback.pointee.yieldsToCalls {
            playback.pointee.end()
        }
    }

    /// Lowest gain of the far end that the audible playbacks ask for.
    @_noLocks
    private func duckGain() -> Float {
        let best = highestRank(at: PlaybackPort.routed)
        var gain: Float = 1
        for playback in playbacks.all
        where playback.pointee.target == PlaybackPort.routed && playback.pointee.isSounding
            && playback.pointee.rank == best && playback.pointee.duckGain < gain
        {
            gain = playback.pointee.duckGain
        }
        return gain
    }

    /// Highest rank of the audible playbacks at a target; -1 without any.
    @_noLocks
    private func highestRank(at target: Int64) -> Int {
        var best = -1
        for playback in playbacks.all
        where playback.pointee.target == target && playback.pointee.isSounding && playback.pointee.rank > best {
            best = playback.pointee.rank
        }
        return best
    }

    /// - Parameter stream: programs play to it unmixed, in stereo.
    @_noLocks
    private mutating func mixPlaybacks(
        at target: Int64, into output: UnsafeMutablePointer<Int16>, _ stream: StreamPointer?
    ) {
        let best = highestRank(at: target)
        let isBesideCalls = target != PlaybackPort.routed && isHearingCalls()
        for playback in playbacks.all where playback.pointee.target == target {
            playback.pointee.setBesideCalls(isBesideCalls)
            let isSilenced = playback.pointee.rank < best
            let lane = lane(of: playback, stream)
            if let stream, lane >= 0 {
                if playback.pointee.takePairs(stream.pointee.room(in: lane), isSilenced: isSilenced) {
                    stream.pointee.add(to: lane)
                }
            } else if playback.pointee.takeBlock(scratch, tickFrames, isSilenced: isSilenced) {
                Mixer.add(scratch, tickFrames, to: output)
                if target == PlaybackPort.routed { isDownlinkDoubled = false }
            }
        }
    }

    /// Whether somebody hears calls on the routed terminal.
    @_noLocks
    func isHearingCalls() -> Bool { master != nil && hasClockedCall() }

    /// Lane of the stream for a program's playback; -1 to use the bus.
    @_noLocks
    private func lane(of playback: PlaybackPointer, _ stream: StreamPointer?) -> Int {
        guard let stream, let source = playback.pointee.stream else { return -1 }
        return stream.pointee.lane(rate: source.pointee.rate)
    }

    /// Adds poll entries from `count` on for applications whose audio is not read, to detect their end; returns the new
    /// count.
    @_noLocks
    mutating func preparePollsOfPlaybacks(_ count: Int) -> Int {
        var count = count
        for playback in playbacks.all {
            if let application = playback.pointee.application {
                playback.pointee.pollIndex = -1
                if !isHeard(playback) {
                    playback.pointee.pollIndex = count
                    polls[count] = pollfd(fd: application.pointee.descriptor, events: 0, revents: 0)
                    count += 1
                }
            }
        }
        return count
    }

    @_noLocks
    mutating func servicePlaybacks() {
        for playback in playbacks.all {
            if let application = playback.pointee.application, playback.pointee.pollIndex > 0,
                polls[playback.pointee.pollIndex].revents != 0
            {
                application.pointee.hungUp()
            }
        }
    }

    /// Lets a program on the PCM clock itself while it is heard nowhere, and otherwise updates its delay.
    @_noLocks
    private func followPCM(_ playback: PlaybackPointer) {
        guard let stream = playback.pointee.stream else { return }
        if playback.pointee.isSpent || !isHeard(playback) {
            stream.pointee.disengage()
            return
        }
        stream.pointee.setLatency(queuedFrames(of: terminal(of: playback)))
    }

    /// Releases playbacks that have ended.
    @_noLocks
    mutating func endPlaybacks() {
        for playback in playbacks.all {
            if playback.pointee.isEnding && !isHeard(playback) { playback.pointee.cutOff() }
            followPCM(playback)
            if playback.pointee.isSpent {
                playbacks.remove(playback)
                report(.playbackEnded(playback))
            }
        }
    }
}
