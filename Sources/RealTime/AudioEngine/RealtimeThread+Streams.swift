import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Streams to headsets over A2DP: their sockets, and streams that listen to the calls.
extension RealtimeThread {
    /// Whether a stream's socket has to be watched. While it plays alone, each of its packets finds out whether the socket has
    /// ended, and watching costs as much as a small system call.
    @_noLocks
    func mustPoll(_ stream: StreamPointer, of terminal: TerminalPointer) -> Bool {
        if terminal.pointee.isFailed { return false }
        return stream.pointee.isBlocked || !terminal.pointee.isAlone || !terminal.pointee.isRunning
    }

    /// Adds the poll entry of a stream's socket at `index`: for its end, and for room while a packet waits.
    @_noLocks
    func preparePoll(of stream: StreamPointer, at index: Int) {
        let events = stream.pointee.isBlocked ? Int16(POLLOUT) : 0
        polls[index] = pollfd(fd: stream.pointee.descriptor, events: events, revents: 0)
    }

    /// - Parameter events: poll result of the socket.
    @_noLocks
    mutating func service(_ terminal: TerminalPointer, _ stream: StreamPointer, _ events: Int16) {
        if events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
            fail(terminal, code: streamEnd(btcall_socket_error(stream.pointee.descriptor)))
            return
        }
        if events & Int16(POLLOUT) == 0 { return }
        let code = stream.pointee.resume(terminal.pointee.counters)
        if code != 0 { fail(terminal, code: streamEnd(code)) }
    }

    /// Gives a stream 10 ms.
    @_noLocks
    mutating func play(_ block: UnsafePointer<Int16>, on terminal: TerminalPointer, _ stream: StreamPointer) {
        let code = stream.pointee.play(block, tickFrames, now: now, terminal.pointee.counters)
        if code != 0 { fail(terminal, code: streamEnd(code)) }
    }

    /// Sends the rest; returns true when nothing is left.
    @_noLocks
    mutating func finish(_ terminal: TerminalPointer, _ stream: StreamPointer) -> Bool {
        // Wait for the end of its fade.
        if terminal.pointee.isRunning { return false }
        return stream.pointee.finish(terminal.pointee.counters).isDone
    }

    @_noLocks
    mutating func setStreamDelay(_ terminal: TerminalPointer?, milliseconds: Int) {
        guard let terminal, let stream = terminal.pointee.stream else { return }
        stream.pointee.delayMilliseconds = milliseconds
        if same(terminal, master) { followDelay(of: terminal) }
    }

    // MARK: Ticks of a stream that plays alone

    /// Most ticks that a stream makes in one turn of the thread.
    private static var mostTicksAtOnce: Int { @_noLocks get { 3 } }

    /// Time by which the next tick of a stream that plays alone may be late: the thread wakes when the next packet is full, and
    /// makes the ticks until then in one turn. 0 unless it plays nothing but programs with long queues.
    @_noLocks
    func tickDelay(of terminal: TerminalPointer) -> Int64 {
        guard let stream = terminal.pointee.stream, let path = terminal.pointee.path else { return 0 }
        if !terminal.pointee.isAlone || terminal.pointee.isRemoving || path.pointee.capture != nil { return 0 }
        if stream.pointee.hearsCalls { return 0 }
        var ticks = stream.pointee.ticksToPacket
        if ticks > Self.mostTicksAtOnce { ticks = Self.mostTicksAtOnce }
        for playback in playbacks.all where playback.pointee.target == Int64(terminal.pointee.id) {
            if playback.pointee.ticksAtOnce < ticks { ticks = playback.pointee.ticksAtOnce }
        }
        return Int64(ticks - 1) &* Self.tickNanoseconds
    }

    /// Makes ticks of a stream that plays nothing but one program, whose samples go into packets as they are: in one step,
    /// and sample by sample what `tickAlone` would send. False, and nothing is done, where anything is mixed or changed.
    @_noLocks
    mutating func passProgram(to terminal: TerminalPointer, ticks: Int) -> Bool {
        guard let playback = unchangedPlayback(at: terminal), let program = playback.pointee.stream,
            let stream = terminal.pointee.stream
        else { return false }
        let code = stream.pointee.pass(
            program, of: playback, blocks: ticks, now: now, terminal.pointee.counters)
        if code != 0 { fail(terminal, code: streamEnd(code)) }
        return true
    }

    /// The only playback of a stream that plays alone, if it is a program that is heard without any change; otherwise nil.
    @_noLocks
    func unchangedPlayback(at terminal: TerminalPointer) -> PlaybackPointer? {
        guard let stream = terminal.pointee.stream, !terminal.pointee.isRemoving else { return nil }
        // A volume of the bus that changes goes on with each tick, although the bus is silent.
        if !terminal.pointee.speaker.isSettled || !stream.pointee.passesUnchanged { return nil }
        var only: PlaybackPointer?
        for playback in playbacks.all where playback.pointee.target == Int64(terminal.pointee.id) {
            if only != nil { return nil }
            only = playback
        }
        guard let only else { return nil }
        only.pointee.setBesideCalls(isHearingCalls())
        return only.pointee.playsUnchanged(rate: stream.pointee.rate) ? only : nil
    }

    /// Makes the ticks of streams that are due. A command applies from the next tick on, as if none had waited.
    @_noLocks
    mutating func catchUpStreams() {
        for terminal in terminals.all where terminal.pointee.isAlone && !terminal.pointee.isFailed {
            if terminal.pointee.stream != nil, let path = terminal.pointee.path { serviceAlone(terminal, path) }
        }
    }

    // MARK: Listening

    @_noLocks
    mutating func setListening(_ terminal: TerminalPointer?, _ isOn: Bool) {
        guard let terminal, let stream = terminal.pointee.stream, terminal.pointee.isAlone else { return }
        stream.pointee.setListening(isOn)
    }

    /// Whether the calls' ticks clock this terminal, too.
    @_noLocks
    func followsCalls(_ terminal: TerminalPointer) -> Bool {
        guard let stream = terminal.pointee.stream else { return false }
        return stream.pointee.hearsCalls && hasClockedCall()
    }

    /// Keeps the calls' audio of this tick before any processing for a device.
    @_noLocks
    mutating func keepForListeners() { Mixer.copy(downlink, tickFrames, to: heard) }

    /// Plays both sides of the calls to the listening terminals, at the end of the tick.
    @_noLocks
    mutating func playToListeners() {
        for terminal in terminals.all {
            if let stream = terminal.pointee.stream, terminal.pointee.isAlone, terminal.pointee.isRunning,
                followsCalls(terminal)
            {
                Mixer.copy(heard, tickFrames, to: alone)
                Mixer.add(uplink, tickFrames, to: alone)
                stream.pointee.hear(alone, tickFrames)
                tickAlone(terminal)
                // Its own timer continues from here.
                terminal.pointee.path?.pointee.followClock(lastTick: now, now: now)
            }
        }
    }

    /// Sends the rest of a removed stream once it has faded out.
    @_noLocks
    mutating func endAlone(_ terminal: TerminalPointer) {
        guard terminal.pointee.isRemoving, let stream = terminal.pointee.stream, stream.pointee.isFadedOut else {
            return
        }
        wind(down: terminal)
    }
}
