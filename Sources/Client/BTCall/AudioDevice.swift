import BTCallAPI

/// A choice of device for the audio device manager: a kind of device, one headset, or none.
public struct DeviceChoice: Hashable, Sendable, CustomStringConvertible {
    let word: DeviceWord

    public static let speakerphone = DeviceChoice(word: .speakerphone)
    public static let wiredHeadset = DeviceChoice(word: .wiredHeadset)
    public static let earpiece = DeviceChoice(word: .earpiece)
    /// Any headset.
    public static let bluetooth = DeviceChoice(word: .bluetooth)
    /// No choice: the next level of the policy decides.
    public static let none = DeviceChoice(word: .none)

    /// One headset.
    ///
    /// - Parameter address: `AA:BB:CC:DD:EE:FF`, in either case. Returns nil for anything else.
    public static func bluetooth(address: String) -> DeviceChoice? {
        DeviceChoice("bluetooth:" + address)
    }

    /// The words that ``init(_:)`` accepts, for messages.
    public static let accepted = DeviceWord.accepted

    /// Reads a device word, for example `earpiece` or `bluetooth:AA:BB:CC:DD:EE:FF`; nil for anything else.
    public init?(_ text: String) {
        guard let word = DeviceWord(text) else { return nil }
        self.word = word
    }

    init(word: DeviceWord) {
        self.word = word
    }

    /// The word, as D-Bus and the command line write it.
    public var description: String { word.description }
}

/// A device that calls can use, in both directions.
public struct AudioDevice: Hashable, Sendable {
    /// The choice that makes ``AudioDeviceManager/setAudioDevice(_:)`` use exactly this device.
    public let choice: DeviceChoice
    /// `speakerphone`, `wiredHeadset`, `earpiece` or `bluetooth`.
    public let kind: String
    /// The headset's address; nil for a local device.
    public let address: String?
    public let name: String
    public let isAvailable: Bool
    /// Reason why the device is not available, in words; nil when it is available.
    public let unavailableBecause: String?
    /// `speaker`, `earpiece`, `jack`, `sco:ADDRESS` or `a2dp:ADDRESS`; nil when it cannot play.
    public let output: String?
    /// `builtinMic`, `jackMic` or `sco:ADDRESS`; nil when it cannot record.
    public let input: String?
    /// Battery charge in per cent; nil when unknown.
    public let battery: Int?
    /// Volume set at the headset's own buttons, 0…15; nil unless this is a connected headset.
    public let speakerVolume: Int?
    public let microphoneVolume: Int?
    /// Whether the wearer has muted the microphone at the headset; nil unless this is a connected headset.
    public let isMicrophoneMuted: Bool?
    /// `battery` or `external`; nil when the headset does not report it.
    public let powerSource: String?
    /// Whether the headset's safety features are on; nil when it does not report it.
    public let isSafetyEnhanced: Bool?
    /// Voice codecs of a headset, best first.
    public let codecs: [String]
    /// Reason why a connected headset does not use btcalld's best codec, in words; nil while it does.
    public let codecReason: String?
    /// `headset`, `speaker` or `watch`; nil for a local device.
    public let category: String?
    /// State of the device for calls.
    ///
    /// `active` (carries the call), `pending` (its link is being set up), `silent` (its open link delivers no audio),
    /// `available`, `settling` (available for too short a time to take over a running call), `waiting` (another headset has
    /// just taken the call, or this one has done so too often), `penalty` (rests after failed attempts), `unsupported` (by
    /// the present call) or `unavailable`.
    public let state: String
    /// `hfp` or `a2dp`; nil for a local device and while the device cannot be used.
    public let mode: String?
    /// Whether the device itself both plays and records.
    public let isDuplex: Bool
    /// Sample rates in Hz of the currently possible voice path, best first.
    public let rates: [Int]
    /// Whether the connected headset accepts the ring tone in its link.
    public let hasInbandRing: Bool
    /// Highest volumes; nil where btcalld does not set the volume.
    public let speakerVolumeMax: Int?
    public let microphoneVolumeMax: Int?
    /// A2DP state of a headset; nil while A2DP is not connected.
    public let mediaState: MediaState?
    /// For example `SBC 48000 Hz joint, bitpool 51`; nil while A2DP is not connected or another program uses it.
    public let mediaCodec: String?
    /// Volume of the headset's A2DP playback, 0…127; nil where it cannot be set.
    public let mediaVolume: Int?
    /// Reconnection state of a headset that is away.
    ///
    /// `waiting` (btcalld pages it, at growing intervals), `paging` (right now), `leftAlone` (somebody disconnected it, or
    /// it disconnected itself: btcalld does not page it), `quarantined` (it connected and disconnected too often: btcalld
    /// does not page it for a while); nil for all other devices.
    public let reconnect: String?

    /// Use of a headset's A2DP.
    public enum MediaState: String, Hashable, Sendable, CaseIterable {
        case idle, playing
        /// Paused because of calls.
        case suspended
        /// Another program uses it.
        case foreign
    }

    init(_ description: DeviceDescription) {
        choice = DeviceChoice(word: description.device)
        kind = description.device.kind
        address = description.device.address.map { "\($0)" }
        name = description.name
        isAvailable = description.isAvailable
        unavailableBecause = description.unavailableBecause
        output = description.output
        input = description.input
        battery = description.battery
        speakerVolume = description.speakerVolume
        microphoneVolume = description.microphoneVolume
        isMicrophoneMuted = description.isMicrophoneMuted
        powerSource = description.powerSource
        isSafetyEnhanced = description.isSafetyEnhanced
        codecs = description.codecs
        codecReason = description.codecReason
        category = description.category
        state = description.state
        mode = description.mode
        isDuplex = description.isDuplex
        rates = description.rates
        hasInbandRing = description.hasInbandRing
        speakerVolumeMax = description.speakerVolumeMax
        microphoneVolumeMax = description.microphoneVolumeMax
        mediaState = description.mediaState.flatMap { MediaState(rawValue: $0) }
        mediaCodec = description.mediaCodec
        mediaVolume = description.mediaVolume
        reconnect = description.reconnect
    }
}
