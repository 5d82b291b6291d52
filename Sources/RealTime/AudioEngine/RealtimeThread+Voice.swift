import AudioDSP
import RealTimeStorage

// Processing of the microphone between its terminal and its volume.
extension RealtimeThread {
    /// Replaces the processor, or removes it (nil), from the next block but one on.
    @_noLocks
    mutating func setVoice(_ port: VoicePointer?, _ stages: VoiceStages) {
        // Return one that was never used at once.
        if let waiting = voice.next { giveBack(waiting) }
        voice.next = port
        voice.stages = stages
        voice.isChanging = true
        voice.gate.setMuted(true)
        if hasClockedCall() && (changesAnything(voice.port) || changesAnything(voice.next)) { return }
        // Nobody is listening, or nothing changes: no fade needed.
        changeVoiceUnheard()
    }

    @_noLocks
    mutating func setVoiceStages(_ stages: VoiceStages) {
        voice.stages = stages
        followStages()
    }

    @_noLocks
    mutating func setVoiceBypassed(_ isBypassed: Bool) {
        voice.isBypassed = isBypassed
        if let port = voice.port { port.pointee.processor.setBypassed(isBypassed) }
    }

    /// Sets whether a headset removes echo and noise itself.
    @_noLocks
    mutating func setOwnVoice(_ terminal: TerminalPointer, _ isOwn: Bool) {
        terminal.pointee.hasOwnVoiceProcessing = isOwn
        if same(terminal, master) { followStages() }
    }

    /// Enables reports of speech while `isMuted`; the end of an utterance in progress is not reported.
    @_noLocks
    mutating func listenWhileMuted(_ isMuted: Bool) {
        if isMuted && !voice.isMuted { voice.nextReport = now &+ VoiceState.firstReport }
        voice.isMuted = isMuted
    }

    /// Forgets what was learnt of the old loudspeaker and microphone.
    @_noLocks
    mutating func followRoute() {
        guard let port = voice.port, let master else { return }
        port.pointee.processor.reset(farDelayMilliseconds: echoMilliseconds(of: master))
        followStages()
    }

    /// Processes the microphone's block in place.
    @_noLocks
    mutating func processVoice() {
        if takesManual {
            // An application's audio is left unprocessed.
            if voice.isChanging { changeVoiceUnheard() }
            return
        }
        if let port = voice.port {
            process(port)
            if !port.pointee.isListener { isUplinkDoubled = false }
        }
        voice.gate.apply(uplink, tickFrames)
        if voice.isChanging {
            changeVoice()
        } else if voice.settlingFrames > 0 {
            voice.settlingFrames &-= tickFrames
            if voice.settlingFrames <= 0 { voice.gate.setMuted(false) }
        }
    }

    /// The routed sound card's microphone is closed: there is nothing to process or to learn.
    private var isMicrophoneClosed: Bool {
        @_noLocks get {
            guard fading == nil, let path = master?.pointee.path else { return false }
            return path.pointee.capture == nil
        }
    }

    @_noLocks
    private mutating func process(_ port: VoicePointer) {
        if isMicrophoneClosed { return }
        if port.pointee.isListener {
            if !voice.isMuted { return }
            Mixer.copy(uplink, tickFrames, to: scratch)
            port.pointee.processor.process(scratch, far: loudspeaker(port))
        } else {
            port.pointee.processor.process(uplink, far: loudspeaker(port))
        }
        if voice.isMuted && port.pointee.processor.isSpeaking && now >= voice.nextReport && hasClockedCall() {
            voice.nextReport = now &+ VoiceState.reportPause
            report(.speakingWhileMuted)
        }
    }

    /// Returns the block given to the routed loudspeaker in this tick, at its volume; during a fade without a new one, the
    /// old loudspeaker's block; without any, silence.
    @_noLocks
    private func loudspeaker(_ port: VoicePointer) -> UnsafePointer<Int16> {
        let terminal = master == nil ? fading : master
        guard let terminal else { return UnsafePointer(port.pointee.silence) }
        if case .path(let path) = terminal.pointee.device, path.pointee.playback == nil {
            return UnsafePointer(port.pointee.silence)
        }
        return UnsafePointer(downlink)
    }

    /// Echo delay for the processor; 0 for links, because its own assumption fits a radio and a headset.
    @_noLocks
    private func echoMilliseconds(of terminal: TerminalPointer) -> Int {
        switch terminal.pointee.device {
        case .link: return 0
        case .path(let path): return path.pointee.echoMilliseconds()
        case .stream(let stream, let path):
            return path.pointee.echoMilliseconds() + stream.pointee.delayMilliseconds
                + stream.pointee.packetMilliseconds
        }
    }

    /// Updates the echo delay after the routed headset reported its playback delay.
    @_noLocks
    mutating func followDelay(of terminal: TerminalPointer) {
        voice.port?.pointee.processor.setFarDelay(milliseconds: echoMilliseconds(of: terminal))
    }

    @_noLocks
    private mutating func followStages() {
        guard let port = voice.port, !port.pointee.isListener else { return }
        let isOwn = master?.pointee.hasOwnVoiceProcessing ?? false
        port.pointee.processor.setStages(isOwn ? VoiceStages(rawValue: 0) : voice.stages)
    }

    @_noLocks
    func changesAnything(_ port: VoicePointer?) -> Bool {
        guard let port else { return false }
        return !port.pointee.isListener
    }

    @_noLocks
    private mutating func changeVoiceUnheard() {
        changeVoice()
        voice.settlingFrames = 0
        voice.gate.setMuted(false)
    }

    /// Returns the old processor; the new one is heard once its output contains the microphone's audio.
    @_noLocks
    private mutating func changeVoice() {
        voice.isChanging = false
        if let old = voice.port { giveBack(old) }
        voice.port = voice.next
        voice.next = nil
        voice.settlingFrames = 1
        guard let port = voice.port else { return }
        port.pointee.processor.setBus(busIndex)
        if !port.pointee.isListener { voice.settlingFrames = port.pointee.processor.delayFrames &+ 1 }
        if let master { port.pointee.processor.setFarDelay(milliseconds: echoMilliseconds(of: master)) }
        port.pointee.processor.setBypassed(voice.isBypassed)
        followStages()
    }

    @_noLocks
    private mutating func giveBack(_ port: VoicePointer) {
        report(.voiceReturned(port))
    }
}
