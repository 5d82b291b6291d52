import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Calls, and the tick that exchanges audio with them.
extension RealtimeThread {
    @_noLocks
    mutating func attach(_ call: CallPointer, isActive: Bool) {
        if !calls.insert(call, as: call.pointee.id) {
            // Not reached: the control side limits the number.
            report(.callReleased(call))
            return
        }
        call.pointee.adoptBus(busIndex)
        call.pointee.prepareBus(comingBus)
        if isActive { activate(call, true) }
    }

    @_noLocks
    mutating func activate(_ call: CallPointer, _ isActive: Bool) {
        if !isActive {
            call.pointee.pause()
            forgetDownlink(of: call)
            forgetInjections()
            return
        }
        forgetDownlink(of: call)
        let code = call.pointee.prime(blocks: primeBlocks, adapts: adaptsQueue, now: now)
        if code != 0 { close(call, code: code) }
    }

    /// Discards the kept audio of the far end, which belongs to another call, unless a call continues.
    @_noLocks
    private mutating func forgetDownlink(of call: CallPointer) {
        if gap.call == call.pointee.id { gap.blocks = 0 }
        if isPCMClocked || calls.all.contains(where: { !same($0, call) && $0.pointee.isClocked }) { return }
        history.forget()
        isBereft = false
    }

    /// Removes a call and releases its storage and descriptor.
    @_noLocks
    mutating func release(_ call: CallPointer) {
        call.pointee.close()
        forgetDownlink(of: call)
        if calls.remove(call) { report(.callReleased(call)) }
        forgetInjections()
    }

    @_noLocks
    private mutating func close(_ call: CallPointer, code: Int32) {
        if call.pointee.isClosed { return }
        // A provider that disappears without reading everything counts as closed, too.
        let isOrderly = code == EPIPE || code == ECONNRESET
        report(.callClosed(call, code: isOrderly ? 0 : code))
        release(call)
    }

    @_noLocks
    mutating func clockStarted(_ call: CallPointer) {
        if master == nil && now &- lastTick > Self.tickNanoseconds { lastTick = now }
        report(.callStarted(call.pointee.id))
    }

    /// Reads the messages of providers whose descriptors are readable, or that did not wake the thread. To be called before
    /// anything that takes a block.
    @_noLocks
    mutating func servicePolledCalls() {
        for call in calls.all where call.pointee.pollIndex > 0 {
            let poll = polls[call.pointee.pollIndex]
            if poll.revents == 0 && poll.events != 0 { continue }
            let isOver = Int32(poll.revents) & (POLLHUP | POLLERR) != 0
            drain(call, isOver: isOver, isTimed: poll.revents != 0)
        }
    }

    /// Reads the messages of all providers.
    @_noLocks
    mutating func serviceCalls() {
        for call in calls.all {
            drain(call, isOver: false, isTimed: true)
        }
    }

    /// - Parameters:
    ///   - isOver: the provider has closed its end: read the rest.
    ///   - isTimed: what is read has just arrived.
    @_noLocks
    private mutating func drain(_ call: CallPointer, isOver: Bool, isTimed: Bool) {
        var left = CallPort.ringBlocks
        while left > 0 && (isOver || !call.pointee.isResting) {
            left -= 1
            let result = call.pointee.receive(now: now, isTimed: isTimed)
            if result == 0 { break }
            if result < 0 {
                close(call, code: Int32(truncatingIfNeeded: -1 - result))
                return
            }
            if result == 2 { clockStarted(call) }
            call.pointee.enforceLimit(blocks: waitingLimit(of: call), isRouted: master != nil || isManual, now: now)
        }
    }

    /// Limit of a call's waiting blocks. While no device takes blocks, no more wait than were primed, or than a queue that
    /// adapts wants: the first device would play everything that much later.
    @_noLocks
    private func waitingLimit(of call: CallPointer) -> Int {
        if takesBlocks() { return downlinkLimitBlocks }
        let kept = call.pointee.keptBlocks(primed: primeBlocks < 1 ? 1 : primeBlocks)
        return kept < downlinkLimitBlocks ? kept : downlinkLimitBlocks
    }

    /// After a stall, more blocks may be due at once than the providers have stored. They answer as soon as they run:
    /// returns true while the clock should wait briefly for them. A provider that misses this wait is not waited for again
    /// until it has answered.
    @_noLocks
    mutating func mustWaitForProviders(_ terminal: TerminalPointer) -> Bool {
        if !same(terminal, master) { return false }
        if lacksAnswers(terminal) {
            if heldSince == 0 {
                heldSince = now
                holdEnd = now &+ longestHold(terminal)
            }
            if now < holdEnd { return true }
            for call in calls.all { call.pointee.endWait() }
        }
        if heldSince != 0 {
            hasWaited = true
            // The link's packets stayed in its socket meanwhile.
            if terminal.pointee.link != nil { grace = max64(grace, now &+ (now &- heldSince)) }
        }
        heldSince = 0
        couldWait = true
        return false
    }

    /// Whether a block that `terminal` takes now has to wait for a provider.
    @_noLocks
    func lacksAnswers(_ terminal: TerminalPointer) -> Bool {
        same(terminal, master) && calls.all.contains { $0.pointee.isAwaited() }
    }

    /// Maximum time to wait for the providers whose queues are empty. A sound card plays its own queue meanwhile; a headset
    /// hears a gap.
    @_noLocks
    private func longestHold(_ terminal: TerminalPointer) -> Int64 {
        if terminal.pointee.link == nil { return Self.holdLimit }
        var longest: Int64 = 0
        for call in calls.all where call.pointee.isAwaited() {
            longest = max64(longest, call.pointee.answerWait(most: Self.holdLimit, now: now))
        }
        return longest
    }

    /// Resumes the clock when the providers have answered or the wait has ended.
    @_noLocks
    mutating func endHold() {
        if heldSince == 0 { return }
        guard let master else {
            heldSince = 0
            return
        }
        if mustWaitForProviders(master) { return }
        if master.pointee.path != nil { runTicks(master) }
    }

    @_noLocks
    func isWaitingForProviders(_ terminal: TerminalPointer) -> Bool {
        heldSince != 0 && same(terminal, master)
    }

    /// Runs the ticks for which the clock has captured enough.
    @_noLocks
    mutating func runTicks(_ terminal: TerminalPointer) {
        var left = 64
        while left > 0 && same(terminal, master) && terminal.pointee.capture.available >= tickFrames {
            left -= 1
            // A link must be stopped before its packet is read, because each packet needs an answer.
            if terminal.pointee.path != nil && mustWaitForProviders(terminal) { return }
            tick()
            if terminal.pointee.capture.available >= tickFrames { serviceCalls() }
        }
    }

    /// 10 ms: one block from each active call to the terminals, one block from them to each active call.
    @_noLocks
    mutating func tick() {
        if isAhead { isAhead = false } else { tickDownlink() }
        tickUplink()
    }

    /// Makes the downlink half of the coming tick, of which the uplink half is still being captured.
    @_noLocks
    mutating func runAhead() {
        tickDownlink()
        isAhead = true
    }

    @_noLocks
    private mutating func tickDownlink() {
        followBus()
        mixDownlink()
        keepForListeners()
        giveManual(downlink)
        remember()
        mixPlaybacks()
        meterDownlink()
        play()
    }

    @_noLocks
    private mutating func tickUplink() {
        mixUplink()
        meterUplink()
        sendTaps()
        sendUplink()
        playToListeners()
        counters.pointee.ticks.add(1)
        lastTick = now
        if let alive = lastSign(of: master) { heardUntil = alive }
        if isManual { heardUntil = now }
        if crossFade.isRunning {
            crossFade.advance(tickFrames)
            if !crossFade.isRunning { endFade() }
        }
    }

    /// Blocks are taken from the calls: somebody hears them, or did until just now.
    @_noLocks
    private func takesBlocks() -> Bool { master != nil || fading != nil || isBereft || isManual }

    /// Adds up the active calls' next blocks. Before the first device the blocks are kept for it.
    @_noLocks
    private mutating func mixDownlink() {
        clear(downlink, tickFrames)
        isDownlinkDoubled = !hasChangedBus
        let isHeard = takesBlocks()
        mixPCM(isHeard: isHeard)
        // Where the clock waits for providers, a burst after a stall says nothing about them.
        let isFair = !couldWait || now &- lastTick >= CallPort.burstNanoseconds
        for call in calls.all where call.pointee.isClocked {
            call.pointee.noteTick(now: now, isFair: isFair, isLate: hasWaited, isTaken: isHeard)
        }
        couldWait = false
        hasWaited = false
        if !isHeard { return }
        for call in calls.all where call.pointee.isClocked {
            if !call.pointee.takeBlock(scratch, tickFrames) {
                fillGap(of: call)
                isDownlinkDoubled = false
            } else {
                endGap(of: call)
                if !call.pointee.doubles { isDownlinkDoubled = false }
            }
            call.pointee.hearing.apply(scratch, tickFrames)
            tapRemote(call.pointee.id, scratch)
            Mixer.add(scratch, tickFrames, to: downlink)
        }
    }

    /// Stores the block and the amount of audio that nobody has heard, and replaces the block by the next one to play: the
    /// same block, or an earlier one while a device catches up.
    @_noLocks
    private mutating func remember() {
        if !takesBlocks() || isManual { return }
        var unheard = -1
        if let master, let alive = lastSign(of: master) {
            let queued = master.pointee.counters.pointee.queuedMilliseconds.read()
            unheard = (Int((now &- alive) / 1_000_000) + queued) * busRate / 1000 + tickFrames
        }
        // An earlier block may begin at an odd frame, and voices are shortened.
        if history.backlogFrames > 0 { isDownlinkDoubled = false }
        history.pass(downlink, tickFrames, unheard: unheard)
    }

    @_noLocks
    private mutating func play() {
        if let fading {
            Mixer.copy(downlink, tickFrames, to: scratch)
            crossFade.fadeOut(scratch, tickFrames)
            play(scratch, on: fading, isDoubled: isDownlinkDoubled)
        }
        if let master {
            if continuesLead {
                leadFade.fadeIn(downlink, tickFrames)
                leadFade.advance(tickFrames)
            } else if crossFade.isRunning {
                crossFade.fadeIn(downlink, tickFrames)
            }
            play(downlink, on: master, isDoubled: isDownlinkDoubled)
        }
    }

    /// Plays `block` on a terminal; changes its samples.
    @_noLocks
    mutating func play(
        _ block: UnsafeMutablePointer<Int16>, on terminal: TerminalPointer, isDoubled: Bool = false
    ) {
        terminal.pointee.speaker.apply(block, tickFrames)
        switch terminal.pointee.device {
        case .link(let link):
            link.pointee.convert(block, tickFrames, into: terminal.pointee.playback, isDoubled: isDoubled)
        case .stream(let stream, _):
            play(block, on: terminal, stream)
            return
        case .path(let path):
            path.pointee.convert(block, tickFrames, into: terminal.pointee.playback, terminal.pointee.counters)
            if same(terminal, master) {
                let captured = terminal.pointee.capture.available - tickFrames
                path.pointee.topUp(
                    coming: terminal.pointee.playback.available + captured * path.pointee.playbackRate / busRate)
            }
            let code = path.pointee.flush(
                terminal.pointee.playback, now: now, steer: same(terminal, master) || terminal.pointee.isAlone,
                terminal.pointee.counters)
            if code < 0 { fail(terminal, code: Int32(truncatingIfNeeded: -code)) }
        }
        terminal.pointee.enforceCeiling()
    }

    /// Produces the uplink: the routed microphone, plus the old one while it fades; without a microphone, noise like that of
    /// the room.
    @_noLocks
    private mutating func mixUplink() {
        isUplinkDoubled = false
        if takesManual {
            readManual(uplink)
        } else if let master, isHeard(master) {
            readMicrophone(of: master, into: uplink)
            isUplinkDoubled = master.pointee.doubles && !hasChangedBus
            noise.follow(uplink, tickFrames)
        } else {
            // Only the time of what a dead link conceals is used, not its audio.
            if let master { readMicrophone(of: master, into: uplink) }
            noise.fill(uplink, tickFrames)
        }
        // A talk gate opens with a ramp of its own: the far end is not to hear the old microphone.
        if passPreroll() {
            isUplinkDoubled = false
        } else if crossFade.isRunning {
            crossFade.fadeIn(uplink, tickFrames)
            if let fading {
                readMicrophone(of: fading, into: scratch)
                crossFade.fadeOut(scratch, tickFrames)
                Mixer.add(scratch, tickFrames, to: uplink)
                if !fading.pointee.doubles { isUplinkDoubled = false }
            }
        }
        processVoice()
        microphoneGain.apply(uplink, tickFrames)
        microphoneGate.apply(uplink, tickFrames)
        mixInjections(uplink)
        muting.apply(uplink, tickFrames)
    }

    /// - Returns: whether the uplink is that of a link that speaks at once.
    @_noLocks
    private mutating func passPreroll() -> Bool {
        // What is said while the microphone is muted must not be heard after it.
        if microphoneGate.isSilent {
            preroll.end()
            return false
        }
        var source: UInt32?
        if !takesManual, let master, isHeard(master) { source = master.pointee.id }
        return preroll.pass(uplink, from: source, isOpen: isListenedTo())
    }

    @_noLocks
    private mutating func readMicrophone(of terminal: TerminalPointer, into output: UnsafeMutablePointer<Int16>) {
        let frames = terminal.pointee.capture.read(output, tickFrames)
        clear(output + frames, tickFrames - frames)
        if frames > 0 { hasSentMicrophone = true }
    }

    /// Sends the tick to one call.
    @_noLocks
    func spoken(to call: CallPointer) -> UnsafePointer<Int16> {
        if call.pointee.speaking.isOpen { return UnsafePointer(uplink) }
        Mixer.copy(uplink, tickFrames, to: scratch)
        call.pointee.speaking.apply(scratch, tickFrames)
        return UnsafePointer(scratch)
    }

    @_noLocks
    private mutating func sendUplink() {
        for call in calls.all where call.pointee.isClocked && call.pointee.isInTick {
            call.pointee.isInTick = false
            let code = call.pointee.sendBlock(spoken(to: call), tickFrames, isDoubled: isUplinkDoubled, now: now)
            if code != 0 { close(call, code: code) }
        }
        sendPCM()
    }
}
