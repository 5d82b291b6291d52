import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Links and paths: reading, writing, timers and ends.
extension RealtimeThread {
    /// Next time at which a terminal needs the thread without being readable.
    @_noLocks
    func deadline(of terminal: TerminalPointer) -> Int64 {
        if terminal.pointee.isFailed || terminal.pointee.isIdle { return Int64.max }
        var result = Int64.max
        if let link = terminal.pointee.link { result = link.pointee.deadline(grace: grace) }
        if let path = terminal.pointee.path {
            if same(terminal, master)
                || terminal.pointee.isAlone && terminal.pointee.isRunning && !followsCalls(terminal)
            {
                result = path.pointee.clockDeadline(fallbackAfter) &+ tickDelay(of: terminal)
            }
            // While `cutIfReady` waits for the rest of a tick, the old link's packet or its timer wakes the thread.
            if same(terminal, pending) && !(isAhead && isHeard(master)) {
                result = min64(result, pendingSince &+ Self.readyLimit)
            }
            if terminal.pointee.isDraining { result = min64(result, now &+ 5_000_000) }
        }
        if terminal.pointee.endDeadline != Int64.max && !same(terminal, fading) {
            result = min64(result, terminal.pointee.endDeadline)
        }
        return result
    }

    @_noLocks
    mutating func serviceTerminals() {
        for terminal in terminals.all {
            if terminal.pointee.pollIndex > 0 {
                var events: Int16 = 0
                var each = 0
                while each < terminal.pointee.pollCount {
                    events |= polls[terminal.pointee.pollIndex + each].revents
                    each += 1
                }
                if events != 0 {
                    switch terminal.pointee.device {
                    case .link(let link): receive(terminal, link, events)
                    case .path(let path), .stream(_, let path): capture(terminal, path, events)
                    }
                }
            }
            if let stream = terminal.pointee.stream, terminal.pointee.streamPoll > 0,
                !terminal.pointee.isFailed, polls[terminal.pointee.streamPoll].revents != 0
            {
                service(terminal, stream, polls[terminal.pointee.streamPoll].revents)
            }
        }
    }

    // MARK: Links

    @_noLocks
    private mutating func receive(
        _ terminal: TerminalPointer, _ link: LinkPointer, _ events: Int16
    ) {
        var left = 64
        while left > 0 && !terminal.pointee.isFailed {
            left -= 1
            if takesBlock(terminal, link) {
                // Another packet may not have come yet: it wakes the thread, and answers are read then.
                if left < 63 && lacksAnswers(terminal) { return }
                if mustWaitForProviders(terminal) { return }
            }
            var status: Int32 = 0
            let count = btcall_receive_packet(
                link.pointee.descriptor, link.pointee.bytes, LinkPort.maximumPacketBytes, &status)
            if count == -Int(EAGAIN) {
                if left == 63 && events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
                    let code = btcall_socket_error(link.pointee.descriptor)
                    fail(terminal, code: code)
                }
                return
            }
            if count <= 0 {
                fail(terminal, code: Int32(truncatingIfNeeded: -count))
                return
            }
            accept(terminal, link, count, status)
        }
    }

    /// Whether the next packet takes a block from each call.
    @_noLocks
    private func takesBlock(_ terminal: TerminalPointer, _ link: LinkPointer) -> Bool {
        let coming = link.pointee.packetFrames() * busRate / link.pointee.rate
        if terminal.pointee.capture.available + coming >= tickFrames { return !isAhead }
        return isShort(terminal, link)
    }

    /// Whether the next packet needs the downlink half of a tick that is still being captured.
    @_noLocks
    private func isShort(_ terminal: TerminalPointer, _ link: LinkPointer) -> Bool {
        !isAhead && terminal.pointee.playback.available < link.pointee.neededFrames()
    }

    @_noLocks
    private mutating func accept(
        _ terminal: TerminalPointer, _ link: LinkPointer, _ count: Int, _ status: Int32
    ) {
        let id = terminal.pointee.id
        let arrival = link.pointee.arrived(count, status: status, now: now, grace: grace)
        if arrival.silence > 0 {
            report(.linkResumed(terminal: id, afterMilliseconds: Int(arrival.silence / 1_000_000)))
        }
        if arrival.isNewSize { report(.firstPacket(terminal: id, packetBytes: count)) }
        let frames = link.pointee.decode(count, status: status)
        switch arrival.arrival {
        case .balanced: terminal.pointee.counters.pointee.packetsBalanced.add(1)
        case .clock: exchange(terminal, link, frames)
        }
        link.pointee.publish(terminal.pointee.counters)
    }

    /// Handles the time of one packet: captured audio goes up, the completed ticks run, one packet is written. Its audio may
    /// need the downlink half of the next tick.
    @_noLocks
    private mutating func exchange(
        _ terminal: TerminalPointer, _ link: LinkPointer, _ frames: Int
    ) {
        if link.pointee.isStarting() { clear(link.pointee.pcm, frames) }
        terminal.pointee.captured(link.pointee.pcm, frames, keep: keptFrames(terminal))
        if same(terminal, master) {
            if terminal.pointee.capture.available >= tickFrames {
                runTicks(terminal)
            } else if isShort(terminal, link) {
                runAhead()
            }
        }
        if terminal.pointee.isAlone { runTicksAlone(terminal) }
        let missing = link.pointee.send(terminal.pointee.playback)
        if missing < 0 {
            terminal.pointee.counters.pointee.sendFailures.add(1)
            if missing != -Int(EAGAIN) && missing != -Int(ENOBUFS) {
                fail(terminal, code: Int32(truncatingIfNeeded: -missing))
            }
            return
        }
        terminal.pointee.counters.pointee.packetsSent.add(1)
        terminal.pointee.counters.pointee.queuedMilliseconds.set(
            terminal.pointee.playback.available * 1000 / link.pointee.rate)
        if same(terminal, master) { terminal.pointee.counters.pointee.underrunFrames.add(missing) }
    }

    @_noLocks
    private mutating func serviceLinkTimers(_ terminal: TerminalPointer, _ link: LinkPointer) {
        while !terminal.pointee.isFailed && link.pointee.timerFired(now: now) {
            let frames = link.pointee.conceal()
            terminal.pointee.counters.pointee.packetsByTimer.add(1)
            exchange(terminal, link, frames)
            link.pointee.publish(terminal.pointee.counters)
        }
        if link.pointee.becameSilent(now: now, grace: grace) {
            terminal.pointee.counters.pointee.silences.add(1)
            fellSilent(terminal, for: now &- link.pointee.watch.lastSign)
        }
    }

    // MARK: Paths

    @_noLocks
    private mutating func capture(
        _ terminal: TerminalPointer, _ path: PathPointer, _ events: Int16
    ) {
        var left = 16
        while left > 0 && !terminal.pointee.isFailed {
            left -= 1
            let isJoining = path.pointee.isJoining
            let frames = path.pointee.read(now: now, terminal.pointee.counters)
            if frames < 0 {
                fail(terminal, code: Int32(truncatingIfNeeded: -frames))
                return
            }
            if frames == 0 || path.pointee.isUnclocked { return }
            if isJoining && same(terminal, master) {
                join(terminal, path, frames)
            } else {
                terminal.pointee.captured(path.pointee.pcm, frames, keep: keptFrames(terminal))
            }
            if same(terminal, master) { runTicks(terminal) }
        }
    }

    /// Runs the timer's ticks of a path without capture, or whose capture is late.
    @_noLocks
    private mutating func servicePathTimer(_ terminal: TerminalPointer, _ path: PathPointer) {
        var left = 8
        while left > 0 && same(terminal, master) && path.pointee.isTimerDue(now: now, fallbackAfter) {
            if mustWaitForProviders(terminal) { return }
            _ = path.pointee.timerFired(now: now, fallbackAfter)
            left -= 1
            if path.pointee.isUnclocked { path.pointee.readUnclocked() }
            tick()
            serviceCalls()
        }
    }

    // MARK: Timers and ends

    @_noLocks
    mutating func serviceTimers() {
        for terminal in terminals.all where !terminal.pointee.isFailed && !isWaitingForProviders(terminal) {
            switch terminal.pointee.device {
            case .link(let link): serviceLinkTimers(terminal, link)
            case .path(let path), .stream(_, let path):
                servicePathTimer(terminal, path)
                if terminal.pointee.isAlone { serviceAlone(terminal, path) }
            }
        }
        for call in calls.all {
            if call.pointee.startAfterTimeout(now: now) { clockStarted(call) }
        }
        while isTimerClock() && now >= lastTick &+ Self.tickNanoseconds {
            let due = lastTick &+ Self.tickNanoseconds
            tick()
            // Keep the pace of the clock, unless after a long stall.
            if now &- due < 50_000_000 { lastTick = due }
            serviceCalls()
        }
    }

    /// Marks the terminal as dead and stops waiting for it.
    @_noLocks
    mutating func fail(_ terminal: TerminalPointer, code: Int32) {
        if terminal.pointee.isFailed { return }
        terminal.pointee.state = .failed
        if same(terminal, pending) { pending = nil }
        if same(terminal, fading) { endFade() }
        if same(terminal, master) {
            // Each block out brings one in.
            if isAhead { tick() }
            master = nil
            isBereft = manual == nil
            // Release the terminal before it: no tick will end its fade.
            endFade()
            crossFade.cancel()
        }
        if let path = terminal.pointee.path { path.pointee.stop() }
        if let stream = terminal.pointee.stream { stream.pointee.stop() }
        report(.terminalFailed(terminal: terminal.pointee.id, code: code))
    }

    /// Ends terminals that have faded out and drained: stops paths, releases removed terminals.
    @_noLocks
    mutating func finishEndings() {
        for terminal in terminals.all {
            if !isEnded(terminal) { continue }
            if let path = terminal.pointee.path, terminal.pointee.isDraining {
                path.pointee.stop()
                if let stream = terminal.pointee.stream { stream.pointee.stop() }
                let left = terminal.pointee.playback.available
                _ = terminal.pointee.playback.discard(left)
                terminal.pointee.state = .idle
            }
            terminal.pointee.endDeadline = Int64.max
            if terminal.pointee.isRemoving {
                if let path = terminal.pointee.path { path.pointee.stop() }
                keepCapture(of: terminal)
                terminals.remove(terminal)
                report(.terminalRemoved(terminal))
            }
        }
    }

    @_noLocks
    private mutating func isEnded(_ terminal: TerminalPointer) -> Bool {
        if same(terminal, master) || same(terminal, fading) || same(terminal, pending) { return false }
        if !terminal.pointee.isRemoving && !terminal.pointee.isDraining { return false }
        if terminal.pointee.isFailed || terminal.pointee.isIdle { return true }
        if now >= terminal.pointee.endDeadline { return true }
        switch terminal.pointee.device {
        case .link: return terminal.pointee.playback.available == 0
        case .stream(let stream, _): return finish(terminal, stream)
        case .path(let path):
            let code = path.pointee.flush(
                terminal.pointee.playback, now: now, steer: false, terminal.pointee.counters)
            return code < 0 || path.pointee.isDrained()
        }
    }

    /// Lets a running path that is no longer wanted play out its queue; a link continues with silence.
    @_noLocks
    mutating func wind(down terminal: TerminalPointer) {
        if terminal.pointee.path != nil && terminal.pointee.isRunning { terminal.pointee.state = .draining }
        if terminal.pointee.endDeadline == Int64.max { terminal.pointee.endDeadline = now &+ drainLimit(of: terminal) }
    }

    /// The packets in a link's socket hold about as much as a card does.
    @_noLocks
    func drainLimit(of terminal: TerminalPointer) -> Int64 {
        let least: Int64 = 50_000_000
        switch terminal.pointee.device {
        case .link: return least &+ Self.drainLimit
        case .path(let path): return max64(least, path.pointee.queueNanoseconds()) &+ Self.drainLimit
        case .stream: return Int64(StreamPort.longestQueue) &* 1_000_000 &+ Self.drainLimit
        }
    }

    @_noLocks
    mutating func stopPaths() {
        for terminal in terminals.all {
            if let path = terminal.pointee.path {
                path.pointee.stop()
            }
        }
    }
}
