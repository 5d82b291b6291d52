import AudioDSP
import CBTCall
import RealTimeStorage

// Commands, and the cut from one terminal to another.
extension RealtimeThread {
    @_noLocks
    mutating func takeCommands() {
        var command = Message(.none, id: 0)
        while commands.pointee.pop(into: &command) {
            switch command.kind {
            case .none, .firstPacket, .linkSilent, .linkResumed, .terminalFailed, .terminalRemoved, .routed,
                .callStarted,
                .callClosed, .callReleased, .deadlineMissed, .eventsLost, .injectionEnded, .captureReady,
                .captureFailed,
                .captureRemoved, .microphoneLive, .manualEnded, .tapEnded, .playbackEnded, .pcmRemoved:
                break
            case .stop: isStopping = true
            case .mute: mute(command.number)
            case .attachCall: attach(command)
            case .setCallActive: if let call = calls.find(command.id) { activate(call, command.number != 0) }
            case .detachCall: if let call = calls.find(command.id) { release(call) }
            case .addTerminal: add(command)
            case .removeTerminal: if let terminal = terminals.find(command.id) { remove(terminal) }
            case .route: route(to: command.id)
            case .speakerGain:
                if let terminal = terminals.find(command.id) {
                    terminal.pointee.speaker.set(command.gain)
                    terminal.pointee.stream?.pointee.setSpeaker(command.gain)
                }
            case .microphoneGain:
                if let terminal = terminals.find(command.id) { terminal.pointee.microphone.set(command.gain) }
            case .silentLimit:
                if let terminal = terminals.find(command.id), let link = terminal.pointee.link {
                    link.pointee.watch.setLimit(command.number < 0 ? nil : command.number)
                }
            case .primeBlocks: primeBlocks = Int(command.number)
            case .attachInjection: attachInjection(command)
            case .microphoneVolume: microphoneGain.set(command.gain)
            case .applicationVolume: applicationGain.set(command.gain)
            case .voiceReturned, .speakingWhileMuted: break
            case .setVoice: setVoice(command)
            case .voiceStages: setVoiceStages(command.number)
            case .voiceBypass: setVoiceBypassed(command.number != 0)
            case .ownVoice: if let terminal = terminals.find(command.id) { setOwnVoice(terminal, command.number != 0) }
            case .addCapture: addCapture(command)
            case .attachCapture:
                attachCapture(command.id, to: terminals.find(UInt32(truncatingIfNeeded: command.number)))
            case .setCaptureAlone: setCaptureAlone(command.id, command.number != 0)
            case .removeCapture: removeCapture(command.id)
            case .attachManual: attachManual(command)
            case .detachManual: releaseManual()
            case .attachTap: attachTap(command)
            case .detachTap: detachTap(command.id)
            case .addPlayback: addPlayback(command)
            case .movePlayback:
                if let playback = playbacks.find(command.id) { playback.pointee.target = command.number }
            case .endPlayback: if let playback = playbacks.find(command.id) { playback.pointee.end() }
            case .callGates: setGates(of: command.id, command.number)
            case .addPCM: addPCM(command)
            case .removePCM: removePCM(command.id)
            case .setPCMCall: setPCMCall(command.id)
            case .setListening: setListening(terminals.find(command.id), command.number != 0)
            case .streamDelay: setStreamDelay(terminals.find(command.id), milliseconds: command.number)
            }
        }
    }

    @_noLocks
    private mutating func mute(_ number: Int64) {
        // Closed for both, so that it does not open while one becomes the other.
        microphoneGate.setMuted(number != 0)
        muting.setMuted(number == Muting.everythingNumber)
        listenWhileMuted(number == Muting.everythingNumber)
        // Without ticks nothing moves them: what is muted is from the first block on.
        if master == nil && fading == nil && !hasClockedCall() {
            microphoneGate.settle()
            muting.settle()
        }
    }

    @_noLocks
    private mutating func add(_ command: Message) {
        guard let storage = command.storage else { return }
        let terminal = storage.assumingMemoryBound(to: Terminal.self)
        if !terminals.insert(terminal, as: terminal.pointee.id) {
            // The control side counts; it does not come to this.
            report(.terminalRemoved, id: command.id, storage: storage)
            return
        }
        if terminal.pointee.isAlone { startAlone(terminal) }
    }

    @_noLocks
    private mutating func remove(_ terminal: TerminalPointer) {
        if terminal.pointee.isRemoving { return }
        terminal.pointee.isRemoving = true
        terminal.pointee.endDeadline = now &+ drainLimit(of: terminal)
        if same(terminal, pending) {
            pending = nil
            wind(down: terminal)
        }
        if same(terminal, master) {
            // Its successor may be waiting for its first packet: that wait goes on.
            let successor = pending
            cut(to: nil)
            pending = successor
        }
        if let stream = terminal.pointee.stream, terminal.pointee.isAlone, terminal.pointee.isRunning {
            stream.pointee.fadeOut()
        } else if !same(terminal, fading) {
            wind(down: terminal)
        }
    }

    @_noLocks
    private mutating func route(to id: UInt32) {
        continuesLead = false
        var wanted: TerminalPointer?
        if id != Message.noTerminal {
            guard let found = terminals.find(id) else { return }
            // Dead or going: as if it had not been asked for.
            if found.pointee.isFailed || found.pointee.isRemoving { return }
            wanted = found
        }
        if let before = pending, !same(before, wanted) {
            pending = nil
            if !same(before, fading) { wind(down: before) }
        }
        if same(wanted, master) {
            isBereft = false
            report(.routed, id: id, value: 0)
            return
        }
        guard let wanted else {
            cut(to: nil)
            return
        }
        pending = wanted
        pendingSince = now
        if let path = wanted.pointee.path { start(wanted, path) }
        // Before the next block goes to one that nobody hears.
        cutIfReady()
    }

    @_noLocks
    private mutating func start(_ terminal: TerminalPointer, _ path: PathPointer) {
        terminal.pointee.endDeadline = Int64.max
        if terminal.pointee.isIdle {
            let captured = terminal.pointee.capture.available
            _ = terminal.pointee.capture.discard(captured)
        }
        terminal.pointee.state = .running
        // The old one is dead: the new one begins with what it has not played any more.
        var frames = 0
        if hasLostListener() { frames = takeLead(path.pointee.leadFrames(), for: terminal) }
        if let stream = terminal.pointee.stream { stream.pointee.start(fadesIn: false) }
        let code = path.pointee.start(now: now, lead: lead, frames)
        if code != 0 { fail(terminal, code: code) }
    }

    /// How much of a terminal's capture is kept: all for the clock, one tick for the others, ready to be cut to.
    @_noLocks
    func keptFrames(_ terminal: TerminalPointer) -> Int {
        same(terminal, master) || same(terminal, fading) || terminal.pointee.isAlone ? busRate / 4 : tickFrames
    }

    /// Cuts to the pending terminal once it delivers, so that the old one carries on until then.
    @_noLocks
    mutating func cutIfReady() {
        guard let terminal = pending else { return }
        switch terminal.pointee.device {
        case .link(let link):
            if !link.pointee.isAlive(now: now) { return }
            // Its first packets are muted: while the old one is heard there is no hurry.
            if link.pointee.isStarting(), isHeard(master) { return }
        case .path(let path), .stream(_, let path):
            // While nobody hears anything there is nothing to wait for.
            if path.pointee.capture != nil, terminal.pointee.capture.available == 0, isHeard(master),
                now < pendingSince &+ Self.readyLimit
            {
                return
            }
        }
        cut(to: terminal)
    }

    /// The next block of the far end goes to `terminal`, and for 20 ms to the old one as well, faded.
    @_noLocks
    mutating func cut(to terminal: TerminalPointer?) {
        let old = master
        if fading != nil { endFade() }
        let gap = isHeard(old) ? 0 : max64(0, now &- heardUntil)
        let continues = hasLostListener()
        master = terminal
        pending = nil
        isBereft = terminal == nil && continues && manual == nil
        crossFade.start()
        fading = old
        if let terminal {
            terminal.pointee.endDeadline = Int64.max
            prefill(terminal, continues: continues)
        }
        if let terminal, terminal.pointee.path != nil { terminal.pointee.state = .running }
        followRoute()
        report(
            .routed, id: terminal == nil ? Message.noTerminal : (terminal?.pointee.id ?? 0), value: gap / 1000)
    }

    /// Somebody hears what is given to this terminal.
    @_noLocks
    func isHeard(_ terminal: TerminalPointer?) -> Bool {
        guard let terminal else { return false }
        guard let link = terminal.pointee.link else { return true }
        return link.pointee.isAlive(now: now)
    }

    /// Whoever heard the far end does not any more, and nobody has taken the place yet.
    @_noLocks
    func hasLostListener() -> Bool { isBereft || master != nil && !isHeard(master) }

    /// Until when somebody has heard what this terminal has played; nil: nobody hears it now.
    @_noLocks
    func lastSign(of terminal: TerminalPointer?) -> Int64? {
        guard isHeard(terminal), let terminal else { return nil }
        guard let link = terminal.pointee.link else { return now }
        return link.pointee.lastPacket
    }

    /// Makes up to `count` frames of the bus, in `lead`, from what nobody has heard of the far end, for a device whose
    /// queue is to begin with them.
    @_noLocks
    private mutating func takeLead(_ count: Int, for terminal: TerminalPointer) -> Int {
        let frames = history.resume(lead, count)
        var fade = crossFade
        fade.start()
        fade.fadeIn(lead, frames)
        terminal.pointee.speaker.apply(lead, frames)
        continuesLead = frames > 0
        return frames
    }

    /// Sets the phase of a new clock: its next tick comes 10 ms after the last, and what it has to play until then,
    /// in whatever portions its ticks and packets alternate, is there: what nobody has heard yet, if it `continues` for
    /// one that has died, and silence before that.
    @_noLocks
    private mutating func prefill(_ terminal: TerminalPointer, continues: Bool) {
        let surplus = terminal.pointee.capture.available - framesSinceTick()
        if surplus > 0 { _ = terminal.pointee.capture.discard(surplus) }
        if let path = terminal.pointee.path { path.pointee.followClock(lastTick: lastTick, now: now) }
        guard let link = terminal.pointee.link else { return }
        let phase = terminal.pointee.capture.available * link.pointee.rate / busRate
        let wanted = link.pointee.rate / 100 + link.pointee.slackFrames() - phase
        let missing = wanted - terminal.pointee.playback.available
        if missing <= 0 { return }
        let frames = continues ? takeLead(missing * busRate / link.pointee.rate, for: terminal) : 0
        _ = terminal.pointee.playback.write(silence: missing - frames * link.pointee.rate / busRate)
        if frames > 0 { link.pointee.convert(lead, frames, into: terminal.pointee.playback) }
    }

    /// The old terminal has faded out.
    @_noLocks
    mutating func endFade() {
        guard let terminal = fading else { return }
        fading = nil
        // An orderly end: what comes later has nothing to do with it.
        if master == nil && !isBereft { history.forget() }
        if !terminal.pointee.isFailed { wind(down: terminal) }
        if terminal.pointee.link != nil && !terminal.pointee.isRemoving { terminal.pointee.endDeadline = Int64.max }
    }
}
