package import BluetoothTypes
import Telephony

/// The audio connection: requests of the routing policy and of the headset, and their results; noise reduction and voice
/// recognition.
extension AudioGateway {
    /// The routing policy's request about the audio connection.
    package enum AudioRequest: Hashable, Sendable {
        /// - Parameter hint: rung of the codec ladder to start from; nil for the best.
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
                deferredAudio = DeferredAudioRequest(hint: hint)
            }
        case .disconnect:
            deferredAudio = nil
            deferred.removeAll { line in
                if case .codec = line.line { true } else { false }
            }
            perform(audio.stop())
        }
        return finish()
    }

    /// Handles a link that the headset is opening: `acceptAudio` with the agreed codec, otherwise CVSD, or `rejectAudio`
    /// before the service level connection and while a link is open or being opened.
    package mutating func audioIncoming() -> [Action] {
        guard isOpen, connection.isEstablished else { return [.rejectAudio] }
        perform(audio.incoming())
        return finish()
    }

    /// Handles an opened link, whichever side opened it.
    package mutating func audioOpened(_ codec: VoiceCodec, at now: Instant) -> [Action] {
        perform(audio.opened(codec))
        if case .connected = audio.state { planVolumeResend(at: now) }
        return finish()
    }

    /// Handles a closed link, whichever side closed it. Reopening is the policy's decision.
    package mutating func audioClosed(at now: Instant) -> [Action] {
        volume.forgetResend()
        perform(audio.closed(at: now))
        return finish()
    }

    /// Handles a link that failed to open: the next lower codec is tried; `audioFailed` reports that none is left.
    package mutating func audioFailed(_ failure: AudioFailure, at now: Instant) -> [Action] {
        perform(audio.failed(failure, at: now))
        return finish()
    }

    /// Reports that voice recognition was switched here. Only headsets with the feature receive it (docs/inside/Gateway.md
    /// rule 9), and only changes that they did not request.
    package mutating func setVoiceRecognition(_ isOn: Bool) -> [Action] {
        guard hasVoiceRecognition, isVoiceRecognitionOn != isOn else { return finish() }
        isVoiceRecognitionOn = isOn
        sendUnsolicited(.voiceRecognition(isOn, state: hasEnhancedVoiceRecognition ? (isOn ? 1 : 0) : nil))
        return finish()
    }

    /// Starts the audio. The virtual call is shown before it, so that the headset does not mute it.
    mutating func startAudio(hint: VoiceCodec?, at now: Instant) {
        let steps = audio.start(hint: hint, at: now)
        followAudio()
        perform(steps)
    }

    /// Delays links that are opened within the configured time from now.
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
            // Off for the rest of the connection: it cannot be switched on again (HFP 1.9 §4.34.2, AT+NREC).
            guard try !flag(command) else { throw .range }
            guard features.contains(.echoCancelling) else { return .refuse(.notSupported) }
            tell(.ownNoiseReduction)
            return .done
        case (.voiceRecognition, .set): return try respondToVoiceRecognition(command.parameters)
        case (.voiceTag, .set):
            guard try parameters.number() == 1 else { throw .range }
            try parameters.end()
            guard features.contains(.voiceTag), let number = configuration.voiceTagNumber else {
                return .refuse(.notSupported)
            }
            send(.voiceTag(number))
            return .done
        default: return .refuse(.notSupported)
        }
    }

    /// AT+BVRA=1 and 0; 2 (ready to listen) when both sides support the enhanced form.
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
