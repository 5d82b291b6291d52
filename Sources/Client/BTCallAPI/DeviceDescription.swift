package import DBus

/// A device that calls can use: an element of `Router1.Devices`.
package struct DeviceDescription: Hashable, Sendable {
    /// A local device, or one headset with its address.
    package var device: DeviceWord
    /// Name for people: a headset's own, or the local device's.
    package var name: String
    package var isAvailable: Bool
    /// Reason why it is not available, in words; nil when it is available.
    package var unavailableBecause: String?
    /// Playback endpoint: `speaker`, `earpiece`, `jack`, `sco:ADDRESS`, `a2dp:ADDRESS`; nil when it cannot play.
    package var output: String?
    /// Capture endpoint: `builtinMic`, `jackMic`, `sco:ADDRESS`; nil when it cannot record.
    package var input: String?
    /// Battery charge in per cent; nil when unknown.
    package var battery: Int?
    /// Volume set at the headset's own buttons, 0…15; nil for a local device and for a headset that is not connected.
    package var speakerVolume: Int?
    package var microphoneVolume: Int?
    /// Whether the wearer has muted the microphone at the headset; nil as for the volumes.
    package var isMicrophoneMuted: Bool?
    /// `battery` or `external`; nil when the headset does not report it.
    package var powerSource: String?
    /// Whether the headset's safety features are on; nil when it does not report it.
    package var isSafetyEnhanced: Bool?
    /// Voice codecs that both the headset and btcalld support, best first: `CVSD`, `mSBC`, `LC3-SWB`.
    package var codecs: [String]
    /// Reason why a connected headset does not use btcalld's best codec, in words; nil while it does.
    package var codecReason: String?
    /// `headset`, `speaker` or `watch`; nil for a local device.
    package var category: String?
    /// State of the device for calls: `active`, `pending`, `silent`, `available`, `settling`, `waiting`, `penalty`,
    /// `unsupported` or `unavailable`.
    package var state: String
    /// `hfp` or `a2dp`, as the headset is or would be used; nil for a local device and while it cannot be used.
    package var mode: String?
    /// Whether the device itself both plays and records.
    package var isDuplex = false
    /// Sample rates in Hz of the currently possible voice path, best first; empty without one.
    package var rates: [Int] = []
    /// Whether the connected headset accepts the ring tone in its link.
    package var hasInbandRing = false
    /// Highest volumes; nil where btcalld does not set the volume.
    package var speakerVolumeMax: Int?
    package var microphoneVolumeMax: Int?
    /// A2DP state of a headset: `idle`, `playing`, `suspended` or `foreign`; nil while A2DP is not connected.
    package var mediaState: String?
    /// For example `SBC 48000 Hz joint, bitpool 51`.
    package var mediaCodec: String?
    /// 0…127; nil where it cannot be set.
    package var mediaVolume: Int?
    /// Reconnection state of a headset that is away: `waiting`, `paging`, `leftAlone` or `quarantined`; nil for none.
    package var reconnect: String?

    package init(
        device: DeviceWord, name: String, isAvailable: Bool, unavailableBecause: String? = nil, output: String? = nil,
        input: String? = nil, battery: Int? = nil, speakerVolume: Int? = nil, microphoneVolume: Int? = nil,
        codecs: [String] = [], category: String? = nil, state: String? = nil
    ) {
        self.device = device
        self.name = name
        self.isAvailable = isAvailable
        self.unavailableBecause = unavailableBecause
        self.output = output
        self.input = input
        self.battery = battery
        self.speakerVolume = speakerVolume
        self.microphoneVolume = microphoneVolume
        self.codecs = codecs
        self.category = category
        self.state = state ?? (isAvailable ? "available" : "unavailable")
    }

    package init(_ fields: Fields) throws(APIError) {
        device = try fields.device("device")
        name = try fields.optionalString("name") ?? ""
        isAvailable = try fields.bool("available")
        unavailableBecause = try fields.optionalString("unavailableBecause")?.nonEmpty
        output = try fields.optionalString("output")?.nonEmpty
        input = try fields.optionalString("input")?.nonEmpty
        battery = try fields.optionalInteger("battery").flatMap { (0...100).contains($0) ? $0 : nil }
        speakerVolume = try fields.optionalInteger("speakerVolume").flatMap { (0...15).contains($0) ? $0 : nil }
        microphoneVolume = try fields.optionalInteger("microphoneVolume").flatMap { (0...15).contains($0) ? $0 : nil }
        isMicrophoneMuted = try fields.optionalBool("microphoneMuted")
        powerSource = try fields.optionalString("powerSource")?.nonEmpty
        isSafetyEnhanced = try fields.optionalBool("enhancedSafety")
        codecs = try fields.strings("codecs")
        codecReason = try fields.optionalString("codecReason")?.nonEmpty
        category = try fields.optionalString("category")?.nonEmpty
        state = try fields.optionalString("state")?.nonEmpty ?? (isAvailable ? "available" : "unavailable")
        mode = try fields.optionalString("mode")?.nonEmpty
        isDuplex = try fields.optionalBool("duplex") ?? false
        rates = try fields.integers("rates")
        hasInbandRing = try fields.optionalBool("inbandRing") ?? false
        speakerVolumeMax = try fields.optionalInteger("speakerVolumeMax").flatMap { $0 >= 0 ? $0 : nil }
        microphoneVolumeMax = try fields.optionalInteger("microphoneVolumeMax").flatMap { $0 >= 0 ? $0 : nil }
        mediaState = try fields.optionalString("mediaState")?.nonEmpty
        mediaCodec = try fields.optionalString("mediaCodec")?.nonEmpty
        mediaVolume = try fields.optionalInteger("mediaVolume").flatMap { (0...127).contains($0) ? $0 : nil }
        reconnect = try fields.optionalString("reconnect")?.nonEmpty
    }

    /// The entries of one `a{sv}`, without those that do not apply to the device or are unknown.
    package var fields: [String: Value] {
        [String: Value](present: [
            "device": .string(device.description),
            "kind": .string(device.kind),
            "address": .text(device.address.map { "\($0)" }),
            "name": .string(name),
            "available": .bool(isAvailable),
            "unavailableBecause": .text(unavailableBecause),
            "output": .text(output),
            "input": .text(input),
            "battery": .number(battery),
            "speakerVolume": .number(speakerVolume),
            "microphoneVolume": .number(microphoneVolume),
            "microphoneMuted": isMicrophoneMuted.map { .bool($0) },
            "powerSource": .text(powerSource),
            "enhancedSafety": isSafetyEnhanced.map { .bool($0) },
            "codecs": .strings(codecs),
            "codecReason": .text(codecReason),
            "category": .text(category),
            "state": .string(state),
            "mode": .text(mode),
            "duplex": .bool(isDuplex),
            "rates": .array("u", rates.map { .uint32(UInt32(clamping: $0)) }),
            "inbandRing": .bool(hasInbandRing),
            "speakerVolumeMax": .number(speakerVolumeMax),
            "microphoneVolumeMax": .number(microphoneVolumeMax),
            "mediaState": .text(mediaState),
            "mediaCodec": .text(mediaCodec),
            "mediaVolume": .number(mediaVolume),
            "reconnect": .text(reconnect),
        ])
    }
}

extension Value {
    /// An `aa{sv}`.
    package static func vardicts(_ elements: [[String: Value]]) -> Value {
        .array("a{sv}", elements.map { .vardict($0) })
    }
}
