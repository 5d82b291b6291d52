import BluetoothTypes
import HandsFree

/// One line of a dialogue's configuration: a key of `btcall-lab gateway`'s `configure`, and its value in words.
struct DialogueSetting: Sendable {
    let key: String
    let value: String

    static let keys: Set<String> = [
        "profile", "version", "features", "codecs", "chld", "hf_indicators", "network", "subscriber_numbers",
        "last_dialed", "memory", "inband_ring", "response_and_hold", "voice_tag_number", "quirks", "extras",
    ]

    /// Changes the configuration; an error describes accepted values.
    func apply(to configuration: inout AudioGatewayConfiguration) throws(Refusal) {
        switch key {
        case "profile": configuration.profile = try profile()
        case "version": configuration.version = try version()
        case "features": configuration.features = try features(items)
        case "codecs": configuration.codecs = try codecs(items)
        case "chld": configuration.threeWay = try all(items, "0, 1, 1x, 2, 2x, 3 or 4") { ThreeWayOption(rawValue: $0) }
        case "hf_indicators":
            let pairs = try all(items, "NUMBER enabled or NUMBER disabled") { item -> (HFIndicator, Bool)? in
                let words = DialogueReader.words(item)
                let states = ["enabled": true, "disabled": false]
                guard words.count == 2, let state = states[words[1]],
                    let indicator = Int(words[0]).flatMap(HFIndicator.init(rawValue:))
                else { return nil }
                return (indicator, state)
            }
            configuration.hfIndicators = Dictionary(pairs) { _, last in last }
        case "network": try network(&configuration)
        case "subscriber_numbers":
            configuration.subscriberNumbers = try all(items, "NUMBER TYPE SERVICE") { item in
                let words = DialogueReader.words(item)
                guard words.count == 3, let type = Int(words[1]), let service = Int(words[2]) else { return nil }
                return SubscriberNumber(number: words[0], type: type, service: service)
            }
        case "last_dialed": configuration.lastDialed = value
        case "memory":
            let pairs = try all(items, "LOCATION NUMBER") { item -> (Int, String)? in
                let words = DialogueReader.words(item)
                guard words.count == 2, let location = Int(words[0]) else { return nil }
                return (location, words[1])
            }
            configuration.memory = Dictionary(pairs) { _, last in last }
        case "inband_ring":
            guard let isOn = ["on": true, "off": false][value] else {
                throw Refusal("inband_ring: on or off, not “\(value)”")
            }
            configuration.inbandRing = isOn
        case "response_and_hold":
            guard value == "on" else { throw Refusal("response_and_hold: on, not “\(value)”") }
            configuration.responseAndHold = true
        case "voice_tag_number": configuration.voiceTagNumber = value
        case "quirks": try quirks(&configuration.quirks)
        case "extras": try extras(&configuration)
        default: throw Refusal("there is no key “\(key)”")
        }
    }

    /// Reason for refusing a value.
    struct Refusal: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    private var items: [String] { value == "-" ? [] : DialogueReader.split(value, at: ",") }

    private func all<Value>(_ items: [String], _ shape: String, _ read: (String) -> Value?) throws(Refusal) -> [Value] {
        var values: [Value] = []
        for item in items {
            guard let value = read(item) else { throw Refusal("\(key): \(shape), not “\(item)”") }
            values.append(value)
        }
        return values
    }

    private func profile() throws(Refusal) -> AudioGatewayConfiguration.Profile {
        guard let profile = AudioGatewayConfiguration.Profile(rawValue: value) else {
            throw Refusal("profile: HFP_AG or HSP_AG, not “\(value)”")
        }
        return profile
    }

    private func version() throws(Refusal) -> ProfileVersion {
        guard let version = ProfileVersion(word: value) else { throw Refusal("version: 1.5 to 1.10, not “\(value)”") }
        return version
    }

    private func features(_ words: [String]) throws(Refusal) -> AudioGatewayFeatures {
        try all(words, "the name of a feature") { AudioGatewayFeatures(word: $0) }.reduce([]) { $0.union($1) }
    }

    private func codecs(_ words: [String]) throws(Refusal) -> [VoiceCodec] {
        try all(words, "cvsd, msbc or lc3_swb") { VoiceCodec(word: $0) }
    }

    private func network(_ configuration: inout AudioGatewayConfiguration) throws(Refusal) {
        for item in items {
            let words = DialogueReader.words(item)
            guard words.count >= 2 else { throw Refusal("network: NAME VALUE, not “\(item)”") }
            let rest = DialogueReader.trimmed(item.dropFirst(words[0].count))
            if words[0] == "operator" {
                configuration.networkOperator = rest == "-" ? nil : rest
                continue
            }
            guard let indicator = Indicator.allCases.first(where: { $0.name == words[0] && !$0.isMandatory }),
                let number = Int(rest), indicator.range.contains(number)
            else {
                throw Refusal(
                    "network: service, signal, roam or battchg and its value, or operator NAME, not “\(item)”")
            }
            configuration.indicators[indicator] = number
        }
    }

    private func quirks(_ quirks: inout Quirks) throws(Refusal) {
        for item in items {
            let words = DialogueReader.words(item)
            switch words.first {
            case "mask": quirks.maskedFeatures.formUnion(try features(Array(words.dropFirst())))
            case "broken_codec": quirks.brokenCodecs.formUnion(try codecs(Array(words.dropFirst())))
            case "no_microphone_volume" where words.count == 1: quirks.noMicrophoneVolume = true
            case "setup_seconds" where words.count == 2 && Int(words[1]) != nil: quirks.setUpSeconds = Int(words[1])
            case "audio_delay" where words.count == 2 && Int(words[1]) != nil:
                quirks.audioDelayMilliseconds = Int(words[1])
            case "refuses_first_audio" where words.count == 1: quirks.refusesFirstAudio = true
            case "forgets_volume" where words.count == 1: quirks.forgetsVolume = true
            case "software_volume" where words.count == 1: quirks.softwareVolume = true
            case "apple_name" where words.count == 2: quirks.appleName = words[1]
            case "second_call_waits" where words.count == 1: quirks.secondCallWaits = true
            case "forgets_waiting_call" where words.count == 1: quirks.forgetsWaitingCall = true
            default:
                throw Refusal(
                    """
                    quirks: mask FEATURE…, broken_codec CODEC…, no_microphone_volume, setup_seconds N, audio_delay N, \
                    refuses_first_audio, forgets_volume, software_volume, apple_name NAME, second_call_waits or \
                    forgets_waiting_call, not “\(item)”
                    """)
            }
        }
    }

    /// Product additions to the profile; all off in the standard gateway.
    private func extras(_ configuration: inout AudioGatewayConfiguration) throws(Refusal) {
        for item in items {
            let words = DialogueReader.words(item)
            let number = words.count == 2 ? Int(words[1]) : nil
            switch (words.first, number) {
            case ("audio_delay", let number?): configuration.audioDelay = .milliseconds(number)
            case ("volume_resend", let number?): configuration.volumeResend = .milliseconds(number)
            case ("speaker_ceiling", let number?) where (0...15).contains(number):
                configuration.speakerCeiling = number
            case ("recorded_features", let number?):
                configuration.recordedFeatures = HandsFreeFeatures(rawValue: UInt32(clamping: number))
            case ("no_audio_policy", nil) where words.count == 1: configuration.takesAudioPolicy = false
            case ("virtual_call", nil) where words.count == 2:
                guard let policy = VirtualCall(rawValue: words[1]) else { throw extra(item) }
                configuration.virtualCall = policy
            default: throw extra(item)
            }
        }
    }

    private func extra(_ item: String) -> Refusal {
        Refusal(
            """
            extras: audio_delay N, volume_resend N, speaker_ceiling N, recorded_features N, no_audio_policy, \
            virtual_call onRequest or virtual_call withAudio, not “\(item)”
            """)
    }
}

extension Dialogue {
    func configuration() throws(DialogueSetting.Refusal) -> AudioGatewayConfiguration {
        var configuration = AudioGatewayConfiguration()
        for setting in settings { try setting.apply(to: &configuration) }
        return configuration
    }
}
