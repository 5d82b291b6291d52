import AudioDSP
import RealTimeStorage

// What is done to the microphone between the terminal that it belongs to and its volume.
extension RealtimeThread {
    /// Another processor, or none, from the next block but one on.
    @_noLocks
    mutating func setVoice(_ port: VoicePointer?, _ stages: VoiceStages) {
        // One that has never been used goes back at once.
        if let waiting = voice.next { giveBack(waiting) }
        voice.next = port
        voice.stages = stages
        voice.isChanging = true
        voice.gate.setMuted(true)
        if hasClockedCall() && (changesAnything(voice.port) || changesAnything(voice.next)) { return }
        // Nobody is listening, or it stays as it is: there is nothing to fade out.
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

    /// A headset takes echo and noise out itself, or has them taken out here.
    @_noLocks
    mutating func setOwnVoice(_ terminal: TerminalPointer, _ isOwn: Bool) {
        terminal.pointee.hasOwnVoiceProcessing = isOwn
        if same(terminal, master) { followStages() }
    }

    /// Speech is reported while `isMuted`, but not the end of what was being said.
    @_noLocks
    mutating func listenWhileMuted(_ isMuted: Bool) {
        if isMuted && !voice.isMuted { voice.nextReport = now &+ VoiceState.firstReport }
        voice.isMuted = isMuted
    }

    /// Another loudspeaker and another microphone: what was learnt of the old ones is forgotten.
    @_noLocks
    mutating func followRoute() {
        guard let port = voice.port, let master else { return }
        port.pointee.processor.reset(farDelayMilliseconds: echoMilliseconds(of: master))
        followStages()
    }

    /// Changes the microphone's block in place.
    @_noLocks
    mutating func processVoice() {
        if takesManual {
            // What an application says is taken as it is.
            if voice.isChanging { changeVoiceUnheard() }
            return
        }
        if let port = voice.port { process(port) }
        voice.gate.apply(uplink, tickFrames)
        if voice.isChanging {
            changeVoice()
        } else if voice.settlingFrames > 0 {
            voice.settlingFrames &-= tickFrames
            if voice.settlingFrames <= 0 { voice.gate.setMuted(false) }
        }
    }

    /// The routed sound card's microphone is closed: there is nothing to process, and nothing to be learnt from silence.
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

    /// The block that has been given to the routed loudspeaker in this tick, as loud as it was given; while the last one
    /// fades out, that one's; silence where there is none.
    @_noLocks
    private func loudspeaker(_ port: VoicePointer) -> UnsafePointer<Int16> {
        let terminal = master == nil ? fading : master
        guard let terminal else { return UnsafePointer(port.pointee.silence) }
        if case .path(let path) = terminal.pointee.device, path.pointee.playback == nil {
            return UnsafePointer(port.pointee.silence)
        }
        return UnsafePointer(downlink)
    }

    /// Links: what the processor expects is right for what a radio and a headset take.
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

    /// The routed headset tells how late it plays.
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
    private func changesAnything(_ port: VoicePointer?) -> Bool {
        guard let port else { return false }
        return !port.pointee.isListener
    }

    @_noLocks
    private mutating func changeVoiceUnheard() {
        changeVoice()
        voice.settlingFrames = 0
        voice.gate.setMuted(false)
    }

    /// The old one goes back; the new one is heard when it gives what the microphone says.
    @_noLocks
    private mutating func changeVoice() {
        voice.isChanging = false
        if let old = voice.port { giveBack(old) }
        voice.port = voice.next
        voice.next = nil
        voice.settlingFrames = 1
        guard let port = voice.port else { return }
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
