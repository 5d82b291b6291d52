import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Streams to headsets over A2DP: their sockets, and streams that listen to the calls.
extension RealtimeThread {
    /// Adds the poll entry of a stream's socket at `index`: always for its end, for room only while a packet waits.
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
