import AudioDSP
import RealTimeStorage

// The rate of the bus: that of the calls and of the routed device, whichever is lower.
extension RealtimeThread {
    /// Ticks for which the converters of the coming rate run along before it is used; their filters reach over 10 ms at most,
    /// and a link's captured audio waits for up to 20.
    private static var busTicks: Int { @_noLocks get { 4 } }

    /// Changes the rate of the bus between two ticks, once every converter of the coming rate is full.
    @_noLocks
    mutating func followBus() {
        hasChangedBus = false
        if bus.count < 2 { return }
        let wanted = wantedBus()
        if wanted == busIndex {
            if comingBus >= 0 { prepareBus(-1) }
            return
        }
        if wanted != comingBus {
            prepareBus(wanted)
            return
        }
        comingTicks += 1
        if comingTicks < Self.busTicks { return }
        if !canChangeBus() {
            openVoice()
            return
        }
        // The processor's conversions start empty: the tick before fades the microphone out.
        if changesAnything(voice.port) && !voice.isClosedForBus {
            voice.isClosedForBus = true
            voice.gate.setMuted(true)
            return
        }
        changeBus(to: wanted)
    }

    /// Index of the lowest rate that is enough for the device or for every call. Without a device the present one, so that
    /// what nobody has heard waits for the next device; also the present one while a word is heard late.
    @_noLocks
    private func wantedBus() -> Int {
        if preroll.isWaiting { return busIndex }
        var device = 0
        if let master {
            if !isHeard(master) { return busIndex }
            device = master.pointee.deviceRate
        } else if isManual, let manual {
            device = manual.pointee.rate
        } else {
            return busIndex
        }
        let called = highestCallRate()
        return bus.index(for: device < called ? device : called)
    }

    /// Highest sample rate of the calls in Hz; 0 without one.
    @_noLocks
    private func highestCallRate() -> Int {
        var highest = 0
        for call in calls.all
        where !call.pointee.isInactive && !call.pointee.isClosed && call.pointee.rate > highest {
            highest = call.pointee.rate
        }
        if !isPCMClocked { return highest }
        for port in pcms.all where port.pointee.rate > highest {
            highest = port.pointee.rate
        }
        return highest
    }

    /// Nothing is going on that counts frames over several ticks: no cut, no device that catches up, no burst of packets, no
    /// wave in place of a missing block, no beginning of a word that waits at the present rate only.
    @_noLocks
    private func canChangeBus() -> Bool {
        if fading != nil || crossFade.isRunning || history.backlogFrames > 0 { return false }
        if voice.isChanging || voice.settlingFrames > 0 || isFillingGap { return false }
        for terminal in terminals.all where terminal.pointee.speaksAtOnce && !terminal.pointee.isFailed {
            if !terminal.pointee.isPrepared(for: comingBus, from: busRate) { return false }
        }
        guard let master else { return true }
        return master.pointee.capture.available < 3 * tickFrames
    }

    /// - Parameter index: of the coming rate; negative: the present one stays.
    @_noLocks
    private mutating func prepareBus(_ index: Int) {
        comingBus = index
        comingTicks = 0
        openVoice()
        for terminal in terminals.all { terminal.pointee.prepareBus(index) }
        for capture in captures.all { capture.pointee.prepareBus(index) }
        for call in calls.all { call.pointee.prepareBus(index) }
        for injection in injections.all { injection.pointee.prepareBus(index) }
        for playback in playbacks.all { playback.pointee.prepareBus(index) }
        for port in pcms.all { port.pointee.prepareBus(index) }
        if let manual { manual.pointee.prepareBus(index) }
    }

    /// Opens the microphone that was closed for a change that does not come now.
    @_noLocks
    private mutating func openVoice() {
        if !voice.isClosedForBus { return }
        voice.isClosedForBus = false
        if !voice.isChanging && voice.settlingFrames <= 0 { voice.gate.setMuted(false) }
    }

    @_noLocks
    private mutating func changeBus(to index: Int) {
        let old = busRate
        let frames = tickFrames
        busIndex = index
        busRate = bus.rate(index)
        tickFrames = busRate / 100
        counters.pointee.busRate.set(busRate)
        comingBus = -1
        comingTicks = 0
        hasChangedBus = true
        changeTerminals(from: old)
        for capture in captures.all where capture.pointee.terminal == nil { capture.pointee.adoptBus(index) }
        for call in calls.all {
            if call.pointee.isClocked {
                call.pointee.changeBus(to: index, after: uplink, frames)
            } else {
                call.pointee.adoptBus(index)
            }
        }
        for injection in injections.all { injection.pointee.changeBus(to: index) }
        for playback in playbacks.all { playback.pointee.changeBus(to: index, after: uplink, frames) }
        for port in pcms.all { port.pointee.changeBus(to: index, after: uplink, frames) }
        for tap in taps.all { tap.pointee.changeBus(to: index, after: uplink, heard, frames) }
        if let manual { manual.pointee.changeBus(to: index, after: heard, frames) }
        changeVoiceBus()
        history.setBus(index)
        crossFade.setLength(busRate * 20 / 1000)
        noise.setRate(busRate)
        lineNoise.setRate(busRate)
        preroll.setRate(busRate)
        followBusInGap()
        setGainRates()
    }

    /// The routed terminal's playback goes on after the last block; of one that plays alone no block is kept, so that its
    /// converter's 2 ms are silent.
    @_noLocks
    private mutating func changeTerminals(from old: Int) {
        for terminal in terminals.all {
            let last = same(terminal, master) ? UnsafePointer(downlink) : nil
            terminal.pointee.changeBus(to: busIndex, from: old, after: last)
        }
    }

    /// The processor is heard again once its output contains the microphone's audio.
    @_noLocks
    private mutating func changeVoiceBus() {
        voice.isClosedForBus = false
        guard let port = voice.port else { return }
        port.pointee.processor.setBus(busIndex)
        // Nobody hears the processor, and its gate is not used.
        if takesManual {
            voice.gate.setMuted(false)
            return
        }
        if port.pointee.isListener { return }
        voice.gate.setMuted(true)
        voice.gate.settle()
        voice.settlingFrames = port.pointee.processor.delayFrames &+ tickFrames
    }

    @_noLocks
    private mutating func setGainRates() {
        farEndGain.setRate(busRate)
        microphoneGain.setRate(busRate)
        applicationGain.setRate(busRate)
        pcmHearing.setRate(busRate)
        pcmSpeaking.setRate(busRate)
        // Twice as fast as other changes: done within one tick.
        muting.setRate(busRate / 2)
        microphoneGate.setRate(busRate / 2)
        voice.gate.setRate(busRate / 2)
    }
}
