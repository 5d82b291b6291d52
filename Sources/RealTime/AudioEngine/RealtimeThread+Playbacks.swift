import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// What the person hears beside the calls: with them where they are routed, or on terminals that nothing else plays on.
extension RealtimeThread {
    /// A call that is louder than this in two blocks running has something to say: above the noise of a line, -40 dB.
    private static var speechPeak: Int16 { @_noLocks get { 330 } }

    @_noLocks
    mutating func addPlayback(_ playback: PlaybackPointer) {
        // The control side counts; it does not come to this.
        if !playbacks.insert(playback, as: playback.pointee.id) { report(.playbackEnded(playback)) }
    }

    /// Starts a terminal that nothing else plays on; a path has no other clock than the system's then.
    @_noLocks
    mutating func startAlone(_ terminal: TerminalPointer) {
        guard let path = terminal.pointee.path else { return }
        terminal.pointee.state = .running
        if let stream = terminal.pointee.stream { stream.pointee.start(fadesIn: true) }
        let code = path.pointee.start(now: now, lead: lead, 0)
        if code != 0 { fail(terminal, code: code) }
    }

    /// Its ticks, as the timer of a path says.
    @_noLocks
    mutating func serviceAlone(_ terminal: TerminalPointer, _ path: PathPointer) {
        var left = 8
        if followsCalls(terminal) { return }
        if let stream = terminal.pointee.stream { stream.pointee.forgetCalls() }
        while left > 0 && terminal.pointee.isRunning && path.pointee.timerFired(now: now, fallbackAfter) {
            left -= 1
            clear(alone, tickFrames)
            tickAlone(terminal)
        }
    }

    /// Its ticks, as the packets of a link say.
    @_noLocks
    mutating func runTicksAlone(_ terminal: TerminalPointer) {
        while terminal.pointee.capture.available >= tickFrames {
            _ = terminal.pointee.capture.discard(tickFrames)
            clear(alone, tickFrames)
            tickAlone(terminal)
        }
    }

    /// Adds what is to be heard there to `alone`, and plays it.
    @_noLocks
    mutating func tickAlone(_ terminal: TerminalPointer) {
        mixPlaybacks(at: Int64(terminal.pointee.id), into: alone, terminal.pointee.stream)
        play(alone, on: terminal)
        endAlone(terminal)
    }

    /// Whether the ticks of its place are made.
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

    /// Where it is to be heard.
    @_noLocks
    private func terminal(of playback: PlaybackPointer) -> TerminalPointer? {
        let target = playback.pointee.target
        if target == PlaybackPort.routed { return master }
        for terminal in terminals.all where Int64(terminal.pointee.id) == target {
            return terminal
        }
        return nil
    }

    /// Adds what the person hears beside the calls to what the calls say, which is lowered where that is asked for.
    @_noLocks
    mutating func mixPlaybacks() {
        if master == nil && fading == nil { return }
        noteSpeech()
        farEndGain.set(duckGain())
        farEndGain.apply(downlink, tickFrames)
        mixPlaybacks(at: PlaybackPort.routed, into: downlink, nil)
    }

    /// What stands in for the other party's own sound is over when that comes.
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

    /// What is left of the far end: as those that are heard with it ask for.
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

    /// Of what is to be heard at a place; -1 when nothing is.
    @_noLocks
    private func highestRank(at target: Int64) -> Int {
        var best = -1
        for playback in playbacks.all
        where playback.pointee.target == target && playback.pointee.isSounding && playback.pointee.rank > best {
            best = playback.pointee.rank
        }
        return best
    }

    /// - Parameter stream: what programs play goes there as it is, in stereo.
    @_noLocks
    private mutating func mixPlaybacks(
        at target: Int64, into output: UnsafeMutablePointer<Int16>, _ stream: StreamPointer?
    ) {
        let best = highestRank(at: target)
        let isBesideCalls = target != PlaybackPort.routed && master != nil && hasClockedCall()
        for playback in playbacks.all where playback.pointee.target == target {
            playback.pointee.setBesideCalls(isBesideCalls)
            let isSilenced = playback.pointee.rank < best
            let lane = lane(of: playback, stream)
            if let stream, lane >= 0 {
                if playback.pointee.takePairs(stream.pointee.scratch, isSilenced: isSilenced) {
                    stream.pointee.addScratch(to: lane)
                }
            } else if playback.pointee.takeBlock(scratch, tickFrames, isSilenced: isSilenced) {
                Mixer.add(scratch, tickFrames, to: output)
            }
        }
    }

    /// Where a stream takes what a program plays; -1: by the bus.
    @_noLocks
    private func lane(of playback: PlaybackPointer, _ stream: StreamPointer?) -> Int {
        guard let stream, let source = playback.pointee.stream else { return -1 }
        return stream.pointee.lane(rate: source.pointee.rate)
    }

    /// Adds poll entries from `count` on for the end of what nobody reads, and returns how many entries there are then.
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

    /// A program on the PCM is its own clock where nobody hears it.
    @_noLocks
    private func followPCM(_ playback: PlaybackPointer) {
        guard let stream = playback.pointee.stream else { return }
        if playback.pointee.isSpent || !isHeard(playback) {
            stream.pointee.disengage()
            return
        }
        stream.pointee.setLatency(queuedFrames(of: terminal(of: playback)))
    }

    /// Gives back what is over.
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
