import BTCallAPI

/// What can be asked of the audio device manager: a kind of device, one headset, or nothing.
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
    /// - Parameter address: `AA:BB:CC:DD:EE:FF`, in either case; nil for anything else.
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
    /// What to give to ``AudioDeviceManager/setAudioDevice(_:)`` to get exactly this one.
    public let choice: DeviceChoice
    /// `speakerphone`, `wiredHeadset`, `earpiece` or `bluetooth`.
    public let kind: String
    /// The headset's address; nil for a local device.
    public let address: String?
    public let name: String
    public let isAvailable: Bool
    /// Why not, in words; nil when it is available.
    public let unavailableBecause: String?
    /// `speaker`, `earpiece`, `jack`, `sco:ADDRESS` or `a2dp:ADDRESS`; nil when it cannot play.
    public let output: String?
    /// `builtinMic`, `jackMic` or `sco:ADDRESS`; nil when it cannot record.
    public let input: String?
    /// The charge in per cent; nil when unknown.
    public let battery: Int?
    /// What a connected headset's own buttons set, 0…15; nil for everything else.
    public let speakerVolume: Int?
    public let microphoneVolume: Int?
    /// The voice codecs of a headset, best first.
    public let codecs: [String]
    /// Why the best codec of the daemon's is not used with a connected headset, in words; nil while it is.
    public let codecReason: String?
    /// `headset`, `speaker` or `watch`; nil for a local device.
    public let category: String?
    /// What it is to the calls now.
    ///
    /// `active` (it carries the call), `pending` (its link is being set up), `silent` (nothing comes from its open link),
    /// `available`, `settling` (not there for long enough to take a running call), `waiting` (another headset has just taken
    /// the call, or this one has too often), `penalty` (it rests after failed attempts), `unsupported` (by the present call)
    /// or `unavailable`.
    public let state: String
    /// `hfp` or `a2dp`; nil for a local device and while it cannot be used.
    public let mode: String?
    /// Whether the device itself both plays and records.
    public let isDuplex: Bool
    /// Frames per second of the voice path that is possible now, best first.
    public let rates: [Int]
    /// Whether the headset plays our ring tone.
    public let hasInbandRing: Bool
    /// The highest volumes; nil where the volume is not set here.
    public let speakerVolumeMax: Int?
    public let microphoneVolumeMax: Int?
    /// The A2DP of a headset; nil while that is not up.
    public let mediaState: MediaState?
    /// `SBC 48000 Hz joint, bitpool 51`; nil while it is not up, or another program has it.
    public let mediaCodec: String?
    /// How loud the headset plays what comes over A2DP, 0…127; nil where that cannot be set.
    public let mediaVolume: Int?
    /// What becomes of a headset that is away.
    ///
    /// `waiting` (it is paged, less often each time), `paging` (at this moment), `leftAlone` (somebody disconnected it, or it
    /// said good-bye: it is not paged), `quarantined` (it came and went too often: not paged for a while); nil for all other
    /// devices.
    public let reconnect: String?

    /// What the A2DP of a headset is used for.
    public enum MediaState: String, Hashable, Sendable, CaseIterable {
        case idle, playing
        /// Kept back because of calls.
        case suspended
        /// Another program has it.
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
