package import BluetoothTypes
import Telephony

/// The audio connection: what the policy wants, what the headset wants, what became of it; noise reduction and voice
/// recognition.
extension AudioGateway {
    /// What the routing policy wants of the audio connection.
    package enum AudioRequest: Hashable, Sendable {
        /// - Parameter hint: the rung of the codec ladder to start from; nil: the best.
        case connect(hint: VoiceCodec? = nil)
        case disconnect
    }

    /// Before the service level connection is established, `connect` waits for it.
    package mutating func audioRequested(_ request: AudioRequest, at now: Instant) -> [Action] {
        guard isOpen else { return finish() }
        switch request {
        case .connect(let hint):
            if connection.isEstablished {
                startAudio(hint: hint, at: now)
            } else {
                audioWanted = AudioWish(hint: hint)
            }
        case .disconnect:
            audioWanted = nil
            deferred.removeAll { line in
                if case .codec = line.line { true } else { false }
            }
            perform(audio.stop())
        }
        return finish()
    }

    /// The headset is opening the link: `acceptAudio` with the codec agreed on, else CVSD, or `rejectAudio` before the
    /// service level connection and when a link is there or on its way already.
    package mutating func audioIncoming() -> [Action] {
        guard isOpen, connection.isEstablished else { return [.rejectAudio] }
        perform(audio.incoming())
        return finish()
    }

    /// The link is open, whoever opened it.
    package mutating func audioOpened(_ codec: VoiceCodec, at now: Instant) -> [Action] {
        perform(audio.opened(codec))
        if case .connected = audio.state { planVolumeResend(at: now) }
        return finish()
    }

    /// The link that was open is closed, whoever closed it. Nothing is reopened here: that is the policy's.
    package mutating func audioClosed(at now: Instant) -> [Action] {
        volume.resendAt = nil
        perform(audio.closed(at: now))
        return finish()
    }

    /// The link did not open: the next lower codec is tried, or `audioFailed` tells that there is none.
    package mutating func audioFailed(_ failure: AudioFailure, at now: Instant) -> [Action] {
        perform(audio.failed(failure, at: now))
        return finish()
    }

    /// Voice recognition was switched here. Only a headset that has the feature is told (docs/inside/Gateway.md rule 9), and only of
    /// a change that it did not ask for itself.
    package mutating func setVoiceRecognition(_ isOn: Bool) -> [Action] {
        guard hasVoiceRecognition, isVoiceRecognitionOn != isOn else { return finish() }
        isVoiceRecognitionOn = isOn
        sendUnsolicited(.voiceRecognition(isOn, state: hasEnhancedVoiceRecognition ? (isOn ? 1 : 0) : nil))
        return finish()
    }

    /// A call that is shown is there before the audio, so that the headset does not mute it.
    mutating func startAudio(hint: VoiceCodec?, at now: Instant) {
        let steps = audio.start(hint: hint, at: now)
        followAudio()
        perform(steps)
    }

    /// From now on no link is opened for a while.
    mutating func delayAudio(at now: Instant) {
        let quirk = configuration.quirks.audioDelayMilliseconds.map { Duration.milliseconds($0) }
        let delay = quirk ?? configuration.audioDelay
        audio.earliest = delay > .zero ? now.advanced(by: delay) : nil
    }

    private var hasVoiceRecognition: Bool {
        features.contains(.voiceRecognition) && connection.features.contains(.voiceRecognition)
    }

    private var hasEnhancedVoiceRecognition: Bool {
        features.contains(.enhancedVoiceRecognition) && connection.features.contains(.enhancedVoiceRecognition)
    }

    mutating func respondAboutAudio(
        _ name: CommandName, _ command: ATCommand, at now: Instant
    ) throws(ATSyntaxError) -> Reply {
        var parameters = command.parameters
        switch (name, command.form) {
        case (.availableCodecs, .set):
            let list = try parameters.numbers(limit: 32)
            guard !list.isEmpty else { throw .missing }
            let codecs = list.compactMap { UInt8(exactly: $0).flatMap(VoiceCodec.init(rawValue:)) }
            guard features.contains(.codecNegotiation) else { return .refuse(.notSupported) }
            tell(.codecs(codecs))
            afterReply = audio.codecsOffered(codecs, at: now)
            return .done
        case (.codecConnection, .action):
            guard command.parameters.isAtEnd else { throw .excess }
            guard connection.usesCodecNegotiation, connection.isEstablished else { return .refuse(.notAllowed) }
            tell(.audioRequested)
            afterReply = audio.start(hint: nil, at: now)
            return .done
        case (.codecSelection, .set):
            let id = try parameters.number()
            try parameters.end()
            let (isAccepted, actions) = audio.confirmed(id, at: now)
            afterReply = actions
            return isAccepted ? .done : .refuse(.notAllowed)
        case (.noiseReduction, .set):
            // Off for the rest of the connection: nothing switches it on again (HFP 1.9 §4.34.2, AT+NREC).
            guard try !flag(command) else { throw .malformed }
            guard features.contains(.echoCancelling) else { return .refuse(.notSupported) }
            tell(.ownNoiseReduction)
            return .done
        case (.voiceRecognition, .set): return try respondToVoiceRecognition(command.parameters)
        case (.voiceTag, .set):
            guard try parameters.number() == 1 else { throw .malformed }
            try parameters.end()
            guard features.contains(.voiceTag), let number = configuration.voiceTagNumber else {
                return .refuse(.notSupported)
            }
            send(.voiceTag(number))
            return .done
        default: return .refuse(.notSupported)
        }
    }

    /// AT+BVRA=1 and 0; 2, ready to hear, when both sides have the enhanced form.
    private mutating func respondToVoiceRecognition(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        let value = try parameters.number(in: 0...2)
        try parameters.end()
        guard hasVoiceRecognition, value < 2 || hasEnhancedVoiceRecognition else { return .refuse(.notSupported) }
        guard value < 2 else { return isVoiceRecognitionOn ? .done : .refuse(.notAllowed) }
        isVoiceRecognitionOn = value == 1
        tell(.voiceRecognition(isVoiceRecognitionOn))
        return .done
    }
}
