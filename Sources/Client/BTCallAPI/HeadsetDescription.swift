package import BluetoothTypes
package import DBus

/// The properties of `Headset1`.
package struct HeadsetDescription: Hashable, Sendable {
    package var address: BluetoothAddress
    package var name: String
    package var isConnected: Bool
    /// Whether calls can use it: its service level connection is up, or it is connected by the Headset Profile.
    package var hasVoice: Bool { !codecs.isEmpty }
    /// The codec of the open link; nil without one.
    package var codec: String?
    /// The codecs that both the headset and btcalld support, best first.
    package var codecs: [String]
    /// Reason why btcalld's best codec is not used, in words; nil while it is.
    package var codecReason: String?
    /// Battery charge in per cent; nil when unknown.
    package var battery: Int?
    /// 0…15, as reported by the headset.
    package var speakerVolume: UInt8
    /// 0…15, as reported by the headset.
    package var microphoneVolume: UInt8
    /// The headset's policy for calls: `calls`, `activation` and `inbandRing`, each `unspecified`, `allowed` or
    /// `notAllowed`; empty when it sent none.
    package var audioPolicy: [String: String]
    /// Whether the wearer has muted the microphone at the headset.
    package var isMicrophoneMuted: Bool
    /// `battery` or `external`; nil when the headset does not report it.
    package var powerSource: String?
    /// Whether the headset's safety features are on; nil when it does not report it.
    package var isSafetyEnhanced: Bool?
    /// Its talk key: `pressed` or `released`; nil while it has shown none.
    package var talk: String?
    /// Milliseconds for which the last first word waited for a voice link that the press opened; nil: none did.
    package var talkDelay: Int?
    /// Its A2DP; nil while A2DP is not connected.
    package var media: Media?

    /// The A2DP of a headset.
    package struct Media: Hashable, Sendable {
        /// For example `SBC 48000 Hz joint, bitpool 51`; nil when the program that uses it does not report it.
        package var codec: String?
        /// 0…127; nil for a headset whose volume cannot be set.
        package var volume: Int?
        package var state: State

        package enum State: String, Hashable, Sendable, CaseIterable {
            /// No playback.
            case idle
            case playing
            /// Paused because of calls.
            case suspended
            /// Another program uses it.
            case foreign
        }

        package init(codec: String?, volume: Int?, state: State) {
            self.codec = codec
            self.volume = volume
            self.state = state
        }
    }

    package static let pressed = "pressed"
    package static let released = "released"
    package static let on = "on"
    package static let off = "off"
    package static let callsPolicy = "calls"
    package static let activationPolicy = "activation"
    package static let inbandRingPolicy = "inbandRing"

    package init(
        address: BluetoothAddress, name: String, isConnected: Bool = true, codec: String? = nil, codecs: [String] = [],
        codecReason: String? = nil, battery: Int? = nil, speakerVolume: UInt8 = 0, microphoneVolume: UInt8 = 0,
        audioPolicy: [String: String] = [:], isMicrophoneMuted: Bool = false, powerSource: String? = nil,
        isSafetyEnhanced: Bool? = nil, talk: String? = nil, talkDelay: Int? = nil, media: Media? = nil
    ) {
        self.address = address
        self.name = name
        self.isConnected = isConnected
        self.codec = codec
        self.codecs = codecs
        self.codecReason = codecReason
        self.battery = battery
        self.speakerVolume = speakerVolume
        self.microphoneVolume = microphoneVolume
        self.audioPolicy = audioPolicy
        self.isMicrophoneMuted = isMicrophoneMuted
        self.powerSource = powerSource
        self.isSafetyEnhanced = isSafetyEnhanced
        self.talk = talk
        self.talkDelay = talkDelay
        self.media = media
    }

    package init(_ fields: Fields) throws(APIError) {
        let text = try fields.string(BTCallName.Headset.address)
        guard let address = BluetoothAddress(text) else {
            throw APIError(.invalidArgument, "Address in \(fields.subject) is \"\(text)\", not AA:BB:CC:DD:EE:FF")
        }
        self.address = address
        name = try fields.optionalString(BTCallName.Headset.name) ?? ""
        isConnected = try fields.optionalBool(BTCallName.Headset.connected) ?? true
        codec = try fields.optionalString(BTCallName.Headset.codec)?.nonEmpty
        codecs = try fields.strings(BTCallName.Headset.codecs)
        codecReason = try fields.optionalString(BTCallName.Headset.codecReason)?.nonEmpty
        battery = try fields.optionalInteger(BTCallName.Headset.battery).flatMap { (0...100).contains($0) ? $0 : nil }
        speakerVolume = try fields.optionalInteger(BTCallName.Headset.speakerVolume) ?? 0
        microphoneVolume = try fields.optionalInteger(BTCallName.Headset.microphoneVolume) ?? 0
        isMicrophoneMuted = try fields.optionalBool(BTCallName.Headset.microphoneMuted) ?? false
        powerSource = try fields.optionalString(BTCallName.Headset.powerSource)?.nonEmpty
        talk = try fields.optionalString(BTCallName.Headset.talk)?.nonEmpty
        talkDelay = try fields.optionalInteger(BTCallName.Headset.talkDelay).flatMap { $0 < 0 ? nil : $0 }
        isSafetyEnhanced = try fields.optionalString(BTCallName.Headset.enhancedSafety)?.nonEmpty.map { $0 == Self.on }
        media = try fields.optionalString(BTCallName.Headset.mediaState).flatMap { Media.State(rawValue: $0) }.map {
            state throws(APIError) in
            let volume = try fields.optionalInteger(BTCallName.Headset.mediaVolume) ?? -1
            return Media(
                codec: try fields.optionalString(BTCallName.Headset.mediaCodec)?.nonEmpty,
                volume: (0...127).contains(volume) ? volume : nil, state: state)
        }
        audioPolicy = [:]
        guard let policy = fields.values[BTCallName.Headset.audioPolicy] else { return }
        let policies = try Fields(policy, of: "AudioPolicy in \(fields.subject)")
        for name in [Self.callsPolicy, Self.activationPolicy, Self.inbandRingPolicy] {
            audioPolicy[name] = try policies.optionalString(name)
        }
    }

    /// All properties by name.
    package var properties: [String: Value] {
        [
            BTCallName.Headset.address: .string(address.description),
            BTCallName.Headset.name: .string(name),
            BTCallName.Headset.connected: .bool(isConnected),
            BTCallName.Headset.codec: .string(codec ?? ""),
            BTCallName.Headset.codecs: .strings(codecs),
            BTCallName.Headset.codecReason: .string(codecReason ?? ""),
            BTCallName.Headset.audioPolicy: .vardict(audioPolicy.mapValues { .string($0) }),
            BTCallName.Headset.battery: .int32(Int32(clamping: battery ?? -1)),
            BTCallName.Headset.speakerVolume: .byte(speakerVolume),
            BTCallName.Headset.microphoneVolume: .byte(microphoneVolume),
            BTCallName.Headset.microphoneMuted: .bool(isMicrophoneMuted),
            BTCallName.Headset.powerSource: .string(powerSource ?? ""),
            BTCallName.Headset.enhancedSafety: .string(isSafetyEnhanced.map { $0 ? Self.on : Self.off } ?? ""),
            BTCallName.Headset.talk: .string(talk ?? ""),
            BTCallName.Headset.talkDelay: .int32(Int32(clamping: talkDelay ?? -1)),
            BTCallName.Headset.mediaVolume: .int32(Int32(clamping: media?.volume ?? -1)),
            BTCallName.Headset.mediaCodec: .string(media?.codec ?? ""),
            BTCallName.Headset.mediaState: .string(media?.state.rawValue ?? ""),
        ]
    }
}
