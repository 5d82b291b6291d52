package import AudioDSP
package import BluetoothTypes
package import HandsFree
package import Logging
package import Routing
package import Talk
package import Telephony

/// All settings of the daemon, with their default values.
///
/// Read once from a file (`init(file:)`), or created by a test or the simulator.
package struct Configuration: Sendable {
    /// A local device: an ALSA card's playback and capture with the controls that belong to them.
    package struct SoundCard: Equatable, Sendable {
        /// ALSA names; nil for a missing direction.
        package var playback: String?
        package var capture: String?
        /// Simple mixer control of the playback volume, as `amixer scontrols` names it.
        package var mixer: String?
        /// Level of the mixer control in per cent; nil: the level found at the start.
        package var volume: Int?
        /// Source of the plug state; nil: detected. Only for the wired headset.
        package var jack: JackSpecification?
        /// Source of the hook state. Only for the earpiece.
        package var hook: HookSpecification?

        /// The PCM of the card that has the jack and the mixer.
        package var pcm: String? { playback ?? capture }

        package init(
            playback: String? = nil, capture: String? = nil, mixer: String? = nil, volume: Int? = nil,
            jack: JackSpecification? = nil, hook: HookSpecification? = nil
        ) {
            self.playback = playback
            self.capture = capture
            self.mixer = mixer
            self.volume = volume
            self.jack = jack
            self.hook = hook
        }
    }

    /// Values for one headset that replace those for all headsets.
    package struct OwnHeadset: Equatable, Sendable {
        /// The highest volume of its speaker, 0…15; nil: as for all headsets.
        package var volumeCeiling: Int?
        /// When its voice link is open for push to talk; nil: as for all headsets.
        package var talkLink: TalkConfiguration.Link?

        package init(volumeCeiling: Int? = nil, talkLink: TalkConfiguration.Link? = nil) {
            self.volumeCeiling = volumeCeiling
            self.talkLink = talkLink
        }
    }

    /// Timeouts and intervals of the daemon; tests use shorter ones.
    package struct Timeouts: Sendable {
        /// How long a provider may take to carry out a request.
        package var provider = Duration.seconds(5)
        /// How long a contact resolver may take before the call rings without a name.
        package var contact = Duration.milliseconds(500)
        /// Interval between two checks for local devices that are missing or busy; no timer runs while all are present.
        package var localDevice = Duration.seconds(5)
        /// Time between two requests for a bus name that is taken.
        package var busName = Duration.seconds(5)
        /// Time between two attempts to register a profile that another program has.
        package var profile = Duration.seconds(10)
        /// How long bluetoothd may take to list its adapters after it has appeared.
        package var adapter = Duration.seconds(3)
        /// How long a headset may take to establish the service level connection.
        package var setUp = Duration.seconds(20)
        /// Time from an incident until it is written to a file, so that the file has the reaction to it.
        package var incident = Duration.seconds(1)
        /// Time between a change of a headset's volume and its file, and between two writes of the file.
        package var volumes = Duration.seconds(5)
        /// Time between two attempts to write to the state directory.
        package var state = StateWriter.pause
        /// Interval between two readings of a call's quality, and the period that the recent quality covers.
        package var quality = Duration.seconds(1)
        package var qualityWindow = Duration.seconds(5)
        /// How long a call may have no audio exchange or no device before it counts as one that nobody hears.
        package var silence = Duration.seconds(2)

        /// How long a request to record a call waits for consent.
        package var recording = Duration.seconds(30)

        /// How long to wait for bluetoothd to confirm registration before going active without it.
        package var activation = Duration.seconds(3)

        /// Time from one profile of a headset coming up until btcalld connects a missing one, and time between two attempts.
        package var profileQuiet = Duration.seconds(4)
        package var profilePause = Duration.seconds(10)
        /// How long bluetoothd may take to end the radio link after the profiles; it takes two seconds.
        package var radioLinkEnd = Duration.milliseconds(2500)
        /// The length of a second in the keys about reconnecting headsets.
        package var reconnectSecond = Duration.seconds(1)
        /// How long btcalld waits for another program's stream to a headset to end before it opens the link anyway, and how
        /// long `mediaCommand` may run.
        package var foreignMusic = Duration.milliseconds(500)
        package var mediaCommand = Duration.seconds(5)

        /// How long a client may take to answer a media change.
        package var media = Duration.seconds(20)

        /// How long a hook's command may run.
        package var hook = Duration.seconds(10)

        /// How long a program may take to configure a local device.
        package var audioSettings = Duration.milliseconds(200)

        /// How long a voice link that the press opens (`[talk] link`) stays open after somebody has talked.
        package var talkLink = Duration.seconds(5)
        /// Time before btcalld has a button with a talk key connected; doubled after each failure.
        package var talkDevice = Duration.seconds(2)

        /// How long an application may take to come back with its calls after a restart of the bus.
        package var absence = Duration.seconds(15)

        package init() {}
    }

    package var logLevel: Logger.Level = .info
    /// Directory of the values set at run time; nil keeps nothing.
    package var stateDirectory: String? = "/var/lib/btcall"
    /// Keeps the recording of a routing failure in a file in the state directory.
    package var incidents = true
    /// Registers profiles, accepts providers and starts the policy when the daemon starts.
    package var autostart = true
    package var routing = RoutingConfiguration()
    /// Local devices by kind; for the policy no others exist.
    package var localDevices: [LocalDevice: SoundCard] = [:]
    /// Codecs offered to headsets, best first; CVSD is always possible.
    package var codecs: [VoiceCodec] = [.mSBC, .cvsd]
    /// Claims HFP 1.10's call duration (+BRSF bit 14).
    package var callDuration = false
    /// Shown by the headset as the network's name (+COPS).
    package var operatorName = "btcall"
    /// Numbers that headsets dial by their place (ATD>n;), 1…99.
    package var memory: [Int: String] = [:]
    /// The box's own number for headsets that ask for it (+CNUM); nil: none.
    package var ownNumber: String?
    /// The file that gets one line for each ended call; nil keeps no record.
    package var callRecord: String?
    /// Whether the record has the other party's number and name.
    package var recordsNumbers = false
    /// Default directions of the audio and video of calls.
    package var audioDirection = MediaDirection.sendReceive
    package var videoDirection = MediaDirection.sendReceive
    /// How an application's request to change the media of a call is decided.
    package var mediaChange = MediaChangeRule.accept
    /// Whether a headset that sets its microphone volume to 0 mutes the calls.
    package var mutesByHeadset = true
    /// Whether headsets with only the Headset Profile are served.
    package var headsetProfile = false
    /// Whether audio without a microphone goes to headsets over A2DP.
    package var a2dp = true
    package var a2dpQuality = SBCQuality.standard
    /// The headset that plays both sides of calls on other devices, over A2DP; nil: none.
    package var listener: BluetoothAddress?
    /// Time from a headset's connection to the check for missing profiles; zero: no check.
    package var profileCheck = Duration.seconds(6)
    /// How known headsets that are away are paged.
    package var reconnect = ReconnectConfiguration()
    /// Whether players on the bus are paused for calls on headsets.
    package var pausesPlayers = true
    /// The program that suspends and restores the music of a headset; nil: none.
    package var mediaCommand: String?
    /// Whether btcalld makes controllers send voice to the host.
    package var scoRouting = VoiceRoutingSetting.leave
    /// When headsets see a virtual call for audio that belongs to no call.
    package var virtualCall = VirtualCall.onRequest
    /// Shortest time in milliseconds from the connection, or the answer, to a headset's audio link, 0…2000.
    package var audioDelayMilliseconds = 200
    /// The highest volume of a headset's speaker, 0…15.
    package var volumeCeiling = 15
    /// Source of the charge of the board's own battery.
    package var boardBattery = BoardBatterySource.upower
    /// Headsets with their own section.
    package var headsets: [BluetoothAddress: OwnHeadset] = [:]
    /// Ringing, tones and announcements of the board itself.
    package var ring = RingConfiguration()
    /// Opens sound cards so that other programs can use them as well.
    package var mixesWithOthers = false
    /// Keeps the device that calls would fall back to open and silent while a headset carries them.
    package var warmStandby = true
    /// Whether a device may stand by: cards that others may use are left to them.
    package var allowsStandby: Bool { warmStandby && !mixesWithOthers }
    /// Whether calls are held during an interruption, if their applications can hold.
    package var holdsInterrupted = true
    /// How incoming calls are handled: refused while do not disturb is on, or while another call is up.
    package var callPolicy = CallTable.Configuration()
    /// Seconds after which an incoming call that nobody answers is missed; 0: never.
    package var ringSeconds = 120
    package var ringLimit: Duration { .seconds(ringSeconds) }
    /// Blocks of 10 ms queued between the daemon and a telephony application, 2…6; nil: as few as its answers allow.
    package var callQueueBlocks: Int?
    /// The socket for programs on the ALSA PCM; nil: none.
    package var pcmSocket: String? = "/run/btcall/pcm.sock"
    /// Whether programs may record calls.
    package var recording = RecordingConsent.deny
    /// Who may see the other party of calls.
    package var callers = CallerAudience.group
    /// The group whose members have full access, as in the bus's policy.
    package var group = "btcall"
    /// Period requested from sound cards in milliseconds, 5…40.
    package var periodMilliseconds = 10
    /// The processor that removes echo and noise from the microphone.
    package var voiceProcessing = VoiceProcessingKind.preferred
    /// The stages of the voice processor, if there is one.
    package var takesEcho = true
    package var takesNoise = true
    package var adjustsGain = true
    package var takesHum = true
    package var voiceStages: VoiceStages {
        var stages: VoiceStages = []
        if takesEcho { stages.insert(.echoCancellation) }
        if takesNoise { stages.insert(.noiseSuppression) }
        if adjustsGain { stages.insert(.automaticGain) }
        if takesHum { stages.insert(.highPass) }
        return stages
    }
    /// Whether btcalld sets mixer controls.
    package var autoConfigure = true
    /// Whether the board's microphone also runs between calls.
    package var alwaysPrepared = false
    /// Who may allow the far end to hear the microphone.
    package var microphone = MicrophoneRule.allow
    /// The output that shows that a microphone is in use; nil: none.
    package var privacyOutput: PrivacyOutputSpecification?
    /// Push to talk.
    package var talk = TalkConfiguration()
    /// Paths of the files of talk keys, the shipped one and the administrator's; nil: none.
    package var talkKeysFile: String? = Configuration.shippedTalkKeys
    package var talkKeysOverlay: String? = Configuration.adminTalkKeys
    /// The rows of both files; no key sets them.
    package var talkRows = TalkRows()
    /// The box's own button and light for pairing without a screen.
    package var pairing = PairingConfiguration()
    /// Paths of the quirks databases, the shipped one and the administrator's; nil: none.
    package var quirksFile: String? = Configuration.shippedQuirks
    package var quirksOverlay: String? = Configuration.adminQuirks
    /// Effects for single headsets, in the order of the file; they go before all rows of the quirks database.
    package var headsetEffects: [BluetoothAddress: [QuirkEffect]] = [:]
    /// The identity of the box.
    package var identity = Identity()
    /// Commands for events, and actions of buttons.
    package var hooks: [HookEvent: CommandWords] = [:]
    package var buttons: [ButtonGesture: ButtonAction] = [:]
    /// Whether a setting starts a program: a hook, a button, `mediaCommand`, the helper of `scoRouting`.
    package var namesProgram: Bool {
        let runs = buttons.values.contains { action in
            if case .run = action { true } else { false }
        }
        return runs || !hooks.isEmpty || mediaCommand != nil || scoRouting == .host
    }
    /// Size in KiB at which the record of calls is renamed and a new one started; 0: never.
    package var recordKiB = 1024
    /// The rows of both files; no key sets them.
    package var quirks = QuirksDatabase()
    /// Names of the settings given in the file (`routing.exclude`).
    package var givenSettings: Set<String> = []
    /// Uses of names from earlier versions, which are still accepted.
    package var warnings: [ConfigurationError] = []
    /// Set by tests only; no key sets them.
    package var timeouts = Timeouts()

    package init() {}

    /// Default paths of the files; they need not exist.
    package static let shippedQuirks = "/usr/share/btcall/quirks.conf"
    package static let adminQuirks = "/etc/btcall/quirks.conf"
    package static let shippedTalkKeys = "/usr/share/btcall/talk-keys.conf"
    package static let adminTalkKeys = "/etc/btcall/talk-keys.conf"
}

/// A refused value of a key, with the accepted values.
package struct ConfigurationValueError: Error {
    package let accepted: String
}
