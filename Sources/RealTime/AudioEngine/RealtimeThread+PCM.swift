import AudioDSP
import RealTimeStorage

// The ALSA PCM of calls: all its playback streams together are the remote party of a call, and all its capture streams
// receive the uplink.
extension RealtimeThread {
    /// A call uses the PCM for its audio, and streams are running.
    var isPCMClocked: Bool {
        @_noLocks get { pcmCall != nil && !pcms.isEmpty }
    }

    @_noLocks
    mutating func addPCM(_ port: PCMPointer) {
        if !pcms.insert(port, as: port.pointee.id) {
            // Not reached: the control side limits the number.
            report(.pcmRemoved(port))
            return
        }
        port.pointee.adoptBus(busIndex)
        port.pointee.prepareBus(comingBus)
        startPCMClock()
    }

    @_noLocks
    mutating func removePCM(_ id: UInt32) {
        for port in pcms.all where port.pointee.id == id {
            pcms.remove(port)
            port.pointee.disengage()
            report(.pcmRemoved(port))
            endPCMClock()
        }
    }

    /// - Parameter call: number of the call whose audio the PCM is; nil for none.
    @_noLocks
    mutating func setPCMCall(_ call: UInt32?) {
        pcmCall = call
        pcmHearing.setMuted(false)
        pcmHearing.settle()
        pcmSpeaking.setMuted(false)
        pcmSpeaking.settle()
        if call != nil {
            startPCMClock()
            return
        }
        for port in pcms.all {
            port.pointee.disengage()
        }
        endPCMClock()
    }

    @_noLocks
    private mutating func startPCMClock() {
        if isPCMClocked && master == nil && now &- lastTick > Self.tickNanoseconds { lastTick = now }
    }

    /// Discards the kept audio of the far end, which belongs to another call, unless a call continues.
    @_noLocks
    private mutating func endPCMClock() {
        if hasClockedCall() { return }
        history.forget()
        isBereft = false
        forgetInjections()
    }

    /// Adds the streams' playback to the downlink. Their time advances also while nobody hears it.
    @_noLocks
    mutating func mixPCM(isHeard: Bool) {
        if !isPCMClocked { return }
        clear(injected, tickFrames)
        let queued = queuedFrames(of: master)
        for port in pcms.all where !port.pointee.isCapture {
            if port.pointee.takeBlock(scratch, tickFrames) {
                Mixer.add(scratch, tickFrames, to: injected)
                if isHeard && !port.pointee.doubles { isDownlinkDoubled = false }
            }
            port.pointee.setLatency(queued)
        }
        if !isHeard { return }
        pcmHearing.apply(injected, tickFrames)
        if let pcmCall { tapRemote(pcmCall, injected) }
        Mixer.add(injected, tickFrames, to: downlink)
    }

    /// Gives the uplink to all capture streams.
    @_noLocks
    mutating func sendPCM() {
        if !isPCMClocked { return }
        var spoken = uplink
        if !pcmSpeaking.isOpen {
            Mixer.copy(uplink, tickFrames, to: scratch)
            pcmSpeaking.apply(scratch, tickFrames)
            spoken = scratch
        }
        var queued = 0
        if let master { queued = master.pointee.capture.available }
        for port in pcms.all where port.pointee.isCapture {
            port.pointee.giveBlock(spoken, tickFrames, isDoubled: isUplinkDoubled)
            port.pointee.setLatency(queued)
        }
    }

    /// Sets the directions of a call's audio.
    @_noLocks
    mutating func setGates(of id: UInt32, hears: Bool, speaks: Bool) {
        if let call = calls.find(id) { call.pointee.setGates(hears: hears, speaks: speaks) }
        if !isPCM(id) { return }
        pcmHearing.setMuted(!hears)
        pcmSpeaking.setMuted(!speaks)
        if isPCMClocked { return }
        pcmHearing.settle()
        pcmSpeaking.settle()
    }

    /// Whether this call's uplink is silenced.
    @_noLocks
    func isSilent(_ id: UInt32) -> Bool {
        if let call = calls.find(id) { return call.pointee.speaking.isSilent }
        return isPCM(id) && pcmSpeaking.isSilent
    }

    /// Whether the PCM is the audio of this call.
    @_noLocks
    func isPCM(_ id: UInt32) -> Bool {
        guard let pcmCall else { return false }
        return pcmCall == id
    }

    /// Whether a program captures from the PCM of a call.
    @_noLocks
    func hasPCMListener() -> Bool {
        if !isPCMClocked || pcmSpeaking.isSilent { return false }
        return pcms.all.contains { $0.pointee.isCapture }
    }

    /// Frames of the bus that a terminal still has to play.
    @_noLocks
    func queuedFrames(of terminal: TerminalPointer?) -> Int {
        guard let terminal else { return 0 }
        var milliseconds = terminal.pointee.counters.pointee.queuedMilliseconds.read()
        if let stream = terminal.pointee.stream { milliseconds += stream.pointee.delayMilliseconds }
        return milliseconds * busRate / 1000
    }
}
