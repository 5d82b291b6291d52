import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Streams to headsets over A2DP: their sockets, and those who listen to the calls.
extension RealtimeThread {
    /// Adds the poll entry of a stream's socket at `index`: for its end always, for room only while something waits.
    @_noLocks
    func preparePoll(of stream: StreamPointer, at index: Int) {
        let events = stream.pointee.isBlocked ? Int16(POLLOUT) : 0
        polls[index] = pollfd(fd: stream.pointee.descriptor, events: events, revents: 0)
    }

    /// - Parameter events: what the poll of the socket says.
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

    /// Sends what is left; true when there is nothing more.
    @_noLocks
    mutating func finish(_ terminal: TerminalPointer, _ stream: StreamPointer) -> Bool {
        // One that still fades out ends that first.
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

    /// The ticks of the calls are those of this one, too.
    @_noLocks
    func followsCalls(_ terminal: TerminalPointer) -> Bool {
        guard let stream = terminal.pointee.stream else { return false }
        return stream.pointee.hearsCalls && hasClockedCall()
    }

    /// Keeps what the calls say in this tick, before anything is done to it for a device.
    @_noLocks
    mutating func keepForListeners() { Mixer.copy(downlink, tickFrames, to: heard) }

    /// Plays what the calls say and hear, when all has been said, to those who listen.
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
                // Its own timer goes on from here.
                terminal.pointee.path?.pointee.followClock(lastTick: now, now: now)
            }
        }
    }

    /// A stream that was asked to end has faded out: what it holds is sent.
    @_noLocks
    mutating func endAlone(_ terminal: TerminalPointer) {
        guard terminal.pointee.isRemoving, let stream = terminal.pointee.stream, stream.pointee.isFadedOut else {
            return
        }
        wind(down: terminal)
    }
}
