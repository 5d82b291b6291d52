import AudioDSP
import CBTCall
import RealTimeStorage

// Commands, and the switch from one terminal to another.
extension RealtimeThread {
    @_noLocks
    mutating func handleCommands() {
        while let command = commands.pointee.pop() { carryOut(command) }
    }

    @_noLocks
    private mutating func carryOut(_ command: Command) {
        switch command {
        case .attachCall(let call, let isActive): attach(call, isActive: isActive)
        case .setCallActive(let id, let isActive): if let call = calls.find(id) { activate(call, isActive) }
        case .setCallGates(let id, let hears, let speaks): setGates(of: id, hears: hears, speaks: speaks)
        case .detachCall(let id): if let call = calls.find(id) { release(call) }
        case .setPrimeBlocks(let blocks): primeBlocks = blocks
        case .setQueueAdapts(let adapts): adaptsQueue = adapts
        case .addPCM(let port): addPCM(port)
        case .removePCM(let id): removePCM(id)
        case .setPCMCall(let id): setPCMCall(id)
        case .addTerminal(let terminal): add(terminal)
        case .removeTerminal(let id): if let terminal = terminals.find(id) { remove(terminal) }
        case .route(let id): route(to: id)
        case .setStandIn(let prepared): standIn = prepared
        case .setSpeakerGain(let id, let gain):
            if let terminal = terminals.find(id) {
                terminal.pointee.speaker.set(gain)
                terminal.pointee.stream?.pointee.setSpeaker(gain)
            }
        case .setMicrophoneGain(let id, let gain):
            if let terminal = terminals.find(id) { terminal.pointee.microphone.set(gain) }
        case .setSilentLimit(let id, let nanoseconds):
            if let terminal = terminals.find(id), let link = terminal.pointee.link {
                link.pointee.watch.setLimit(nanoseconds)
            }
        case .setOwnVoice(let id, let isOwn): if let terminal = terminals.find(id) { setOwnVoice(terminal, isOwn) }
        case .setStreamDelay(let id, let milliseconds):
            setStreamDelay(terminals.find(id), milliseconds: milliseconds)
        case .setListening(let id, let isOn): setListening(terminals.find(id), isOn)
        case .addCapture(let capture): addCapture(capture)
        case .attachCapture(let id, let terminal): attachCapture(id, to: terminals.find(terminal))
        case .setCaptureAlone(let id, let isAlone): setCaptureAlone(id, isAlone)
        case .removeCapture(let id): removeCapture(id)
        case .mute(let muting): mute(muting)
        case .setMicrophoneVolume(let gain): microphoneGain.set(gain)
        case .setApplicationVolume(let gain): applicationGain.set(gain)
        case .setVoice(let port, let stages): setVoice(port, stages)
        case .setVoiceStages(let stages): setVoiceStages(stages)
        case .setVoiceBypassed(let isBypassed): setVoiceBypassed(isBypassed)
        case .attachInjection(let injection): attachInjection(injection)
        case .attachManual(let port): attachManual(port)
        case .detachManual: releaseManual()
        case .attachTap(let tap): attachTap(tap)
        case .detachTap(let id): detachTap(id)
        case .addPlayback(let playback): addPlayback(playback)
        case .movePlayback(let id, let target):
            if let playback = playbacks.find(id) { playback.pointee.target = target.number }
        case .endPlayback(let id): if let playback = playbacks.find(id) { playback.pointee.end() }
        case .stop: isStopping = true
        }
    }

    @_noLocks
    private mutating func mute(_ kind: Muting) {
        // By pattern: comparing enumerations is not known to be free of locks.
        let isMuted = if case .off = kind { false } else { true }
        let isEverything = if case .everything = kind { true } else { false }
        showsMutedMicrophone = if case .microphone = kind { true } else { false }
        // Closed for all kinds, so that it does not open while one kind replaces another.
        microphoneGate.setMuted(isMuted)
        muting.setMuted(isEverything)
        listenWhileMuted(isEverything)
        // Without ticks the ramps do not move: settle them, so that muting holds from the first block.
        if master == nil && fading == nil && !hasClockedCall() {
            microphoneGate.settle()
            muting.settle()
        }
    }

    @_noLocks
    private mutating func add(_ terminal: TerminalPointer) {
        if !terminals.insert(terminal, as: terminal.pointee.id) {
            // Not reached: the control side limits the number.
            report(.terminalRemoved(terminal))
            return
        }
        terminal.pointee.adoptBus(busIndex)
        terminal.pointee.prepareBus(comingBus)
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
            // Its successor may be waiting for its first packet: keep it pending.
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
    mutating func route(to id: UInt32?) {
        var wanted: TerminalPointer?
        if let id {
            guard let found = terminals.find(id) else { return }
            // Dead or being removed: ignore the request.
            if found.pointee.isFailed || found.pointee.isRemoving { return }
            wanted = found
        }
        if let before = pending, !same(before, wanted) {
            pending = nil
            if !same(before, fading) { wind(down: before) }
        }
        if same(wanted, master) {
            isBereft = false
            report(.routed(id, gapMicroseconds: 0))
            return
        }
        continuesLead = false
        leadFade.cancel()
        guard let wanted else {
            cut(to: nil)
            return
        }
        pending = wanted
        pendingSince = now
        if let path = wanted.pointee.path { start(wanted, path) }
        // Switch now, so that the next block does not go to a terminal that nobody hears.
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
        // The old terminal is dead: the new one begins with what the old one has not played.
        var frames = 0
        if hasLostListener() { frames = takeLead(path.pointee.leadFrames(), for: terminal) }
        if let stream = terminal.pointee.stream { stream.pointee.start(fadesIn: false) }
        let code = path.pointee.start(now: now, lead: lead, frames)
        if code != 0 { fail(terminal, code: code) }
    }

    /// Limit of a terminal's captured frames: a quarter of a second for the clock, one tick for others, which are ready to
    /// be switched to; more for a link that speaks at once.
    @_noLocks
    func keptFrames(_ terminal: TerminalPointer) -> Int {
        if same(terminal, master) || same(terminal, fading) || terminal.pointee.isAlone { return busRate / 4 }
        return terminal.pointee.speaksAtOnce ? preroll.keptFrames : tickFrames
    }

    /// Switches to the pending terminal once it delivers; until then the old one carries on.
    @_noLocks
    mutating func cutIfReady() {
        guard let terminal = pending else { return }
        switch terminal.pointee.device {
        case .link(let link):
            if !link.pointee.isAlive(now: now) { return }
            // Its first packets are muted: while the old terminal is heard, wait.
            if link.pointee.isStarting(), isHeard(master) { return }
        case .path(let path), .stream(_, let path):
            // If nobody hears anything, there is no reason to wait.
            if path.pointee.capture != nil, terminal.pointee.capture.available == 0, isHeard(master),
                now < pendingSince &+ Self.readyLimit
            {
                return
            }
        }
        // The rest of the tick comes with the old link's next packet.
        if isAhead && isHeard(master) { return }
        cut(to: terminal)
    }

    /// Sends the next block of the far end to `terminal`, and for 20 ms also to the old one, faded.
    @_noLocks
    mutating func cut(to terminal: TerminalPointer?) {
        // Each block out brings one in. What the microphone has not captured yet is missing in this one.
        if isAhead { tick() }
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
        report(.routed(terminal?.pointee.id, gapMicroseconds: Int(gap / 1000)))
    }

    /// Whether somebody hears what this terminal is given.
    @_noLocks
    func isHeard(_ terminal: TerminalPointer?) -> Bool {
        guard let terminal else { return false }
        guard let link = terminal.pointee.link else { return true }
        return link.pointee.isAlive(now: now)
    }

    /// Whether the far end's listener was lost and not replaced yet.
    @_noLocks
    func hasLostListener() -> Bool { isBereft || master != nil && !isHeard(master) }

    /// Time until which somebody has heard this terminal's audio; nil if nobody hears it now.
    @_noLocks
    func lastSign(of terminal: TerminalPointer?) -> Int64? {
        guard isHeard(terminal), let terminal else { return nil }
        guard let link = terminal.pointee.link else { return now }
        return link.pointee.watch.lastSign
    }

    /// Writes up to `count` unheard frames of the far end to `lead`, at the rate of the bus, for a device whose queue is to
    /// begin with them. If these are fewer, up to half as many of those before them come again: the headset that died had them
    /// in its own queue, and the device would begin with silence otherwise.
    @_noLocks
    private mutating func takeLead(_ count: Int, for terminal: TerminalPointer) -> Int {
        let frames = history.resume(lead, count, repeating: count / 2)
        // From silence, so that a short fade is enough; it goes on in the first block.
        leadFade.setLength(busRate / 200)
        leadFade.start()
        leadFade.fadeIn(lead, frames)
        leadFade.advance(frames)
        terminal.pointee.speaker.apply(lead, frames)
        continuesLead = frames > 0
        return frames
    }

    /// Sets the phase of a new clock, so that its next tick comes 10 ms after the last, or with the next packet after that.
    /// Fills its queue until then, however its ticks and packets alternate, with silence. If it `continues` for a dead
    /// terminal, unheard audio follows.
    @_noLocks
    private mutating func prefill(_ terminal: TerminalPointer, continues: Bool) {
        let resting = terminal.pointee.link?.pointee.restingFrames(tick: tickFrames, busRate: busRate)
        let surplus = terminal.pointee.capture.available - keptPhase(terminal, resting)
        // By pairs, so that doubled audio goes on from an even frame.
        if terminal.pointee.speaksAtOnce {
            // The rest is due now; later cuts to this link are ordinary ones.
            terminal.pointee.speaksAtOnce = false
            let frames = surplus > 1 ? terminal.pointee.capture.read(lead, surplus & ~1) : 0
            preroll.begin(terminal.pointee.id, lead, frames)
        } else if surplus > 1 {
            _ = terminal.pointee.capture.discard(surplus & ~1)
        }
        if let path = terminal.pointee.path { path.pointee.followClock(lastTick: lastTick, now: now) }
        guard let link = terminal.pointee.link, let resting else { return }
        let queued = resting.frames - terminal.pointee.capture.available
        let wanted = (queued > 0 ? queued * link.pointee.rate / busRate : 0) + LinkPort.spareFrames
        let missing = wanted - terminal.pointee.playback.available
        if missing > 0 { _ = terminal.pointee.playback.write(silence: missing) }
        // The queue is shorter than the fade: the blocks begin with what went unheard.
        if continues { _ = takeLead(0, for: terminal) }
    }

    /// Captured frames that a new clock may keep: at most those since the last tick. Of a link, a multiple of the grain that
    /// leaves something to play until the next tick; what is beyond that delays the microphone and moves no tick.
    @_noLocks
    private func keptPhase(_ terminal: TerminalPointer, _ resting: (frames: Int, grain: Int)?) -> Int {
        let elapsed = framesSinceTick()
        guard let resting else { return elapsed }
        let available = terminal.pointee.capture.available
        var kept = elapsed < available ? elapsed : available
        if kept > resting.frames { kept = resting.frames }
        return kept - kept % resting.grain
    }

    /// Ends the fade of the old terminal.
    @_noLocks
    mutating func endFade() {
        guard let terminal = fading else { return }
        fading = nil
        // An orderly end: the history is not for a later device.
        if master == nil && !isBereft { history.forget() }
        if !terminal.pointee.isFailed { wind(down: terminal) }
        if terminal.pointee.link != nil && !terminal.pointee.isRemoving { terminal.pointee.endDeadline = Int64.max }
    }
}
