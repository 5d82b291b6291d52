package import AudioDSP
package import BluetoothTypes
package import HandsFree
package import Logging
package import Routing
package import Telephony

/// Everything that can be set about the daemon, with the values that hold when nothing is.
///
/// A value: read once from a file (`init(file:)`) or made by a test or the simulator.
package struct Configuration: Sendable {
    /// A local device: an ALSA card's playback and capture with what belongs to it.
    package struct SoundCard: Equatable, Sendable {
        /// ALSA names; nil where the device has no such direction.
        package var playback: String?
        package var capture: String?
        /// Simple mixer control for the playback volume, as `amixer scontrols` names it.
        package var mixer: String?
        /// Per cent that the mixer control is set to; nil is the level that is found at the start.
        package var volume: Int?
        /// What tells whether something is plugged; nil finds it by itself. Of the wired headset only.
        package var jack: JackSpecification?
        /// What tells whether the handset is lifted. Of the earpiece only.
        package var hook: HookSpecification?

        /// The PCM whose card has the jack and the mixer.
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

    /// What holds for one headset in place of what holds for all.
    package struct OwnHeadset: Equatable, Sendable {
        /// The loudest that its speaker may be, 0…15; nil is as for all.
        package var volumeCeiling: Int?

        package init(volumeCeiling: Int? = nil) {
            self.volumeCeiling = volumeCeiling
        }
    }

    /// How long the daemon waits for others; a test is less patient.
    package struct Waits: Sendable {
        /// For a provider to do what it is asked.
        package var provider = Duration.seconds(5)
        /// For a contact resolver to know who calls, before it rings without a name.
        package var contact = Duration.milliseconds(500)
        /// Between two looks at local devices that are missing or busy; nothing runs while all are there.
        package var localDevice = Duration.seconds(5)
        /// Between two requests for a bus name that is taken.
        package var busName = Duration.seconds(5)
        /// Between two attempts to register a profile that somebody else has.
        package var profile = Duration.seconds(10)
        /// For bluetoothd to list its adapters after it has appeared.
        package var adapter = Duration.seconds(3)
        /// For a headset to establish the service level connection.
        package var setUp = Duration.seconds(20)
        /// For what is done about an incident, before it is written to a file.
        package var incident = Duration.seconds(1)
        /// Between a change of a headset's volume and the file, and between two writes of it.
        package var volumes = Duration.seconds(5)
        /// Between two attempts at what could not be written to the state directory.
        package var state = StateWriter.pause
        /// Between two looks at the quality of a call, and over how long it is.
        package var quality = Duration.seconds(1)
        package var qualityWindow = Duration.seconds(5)
        /// For audio to go between an application, a device and back, before a call counts as one that nobody hears.
        package var silence = Duration.seconds(2)

        /// For somebody to allow that a call is recorded.
        package var recording = Duration.seconds(30)

        /// For bluetoothd to answer when it is told of us, before the daemon is active without that.
        package var activation = Duration.seconds(3)

        /// After a profile of a headset has come up, before a missing other one is asked for; and between two attempts.
        package var profileQuiet = Duration.seconds(4)
        package var profilePause = Duration.seconds(10)
        /// What a second is to the keys about headsets that come back.
        package var reconnectSecond = Duration.seconds(1)
        /// For another program's stream to a headset to end before its link is opened all the same, and for the program that
        /// suspends and restores music.
        package var foreignMusic = Duration.milliseconds(500)
        package var mediaCommand = Duration.seconds(5)

        /// For a client to answer for a change of media.
        package var media = Duration.seconds(20)

        /// For a command of a hook to end.
        package var hook = Duration.seconds(10)
        /// For a monitoring system to ask and to take the answer.
        package var metrics = Duration.seconds(2)

        /// For a program to say how a local device is to be opened.
        package var audioSettings = Duration.milliseconds(200)

        /// For an application to come back with its calls after the bus has been restarted.
        package var absence = Duration.seconds(15)

        package init() {}
    }

    package var logLevel: Logger.Level = .info
    /// Directory for what is set at run time; nil keeps nothing.
    package var stateDirectory: String? = "/var/lib/btcall"
    /// Keeps a file of what led to a failure of routing, in the state directory.
    package var incidents = true
    /// Registers profiles, accepts providers and starts the policy at once.
    package var autostart = true
    package var routing = RoutingConfiguration()
    /// Local devices by kind; those that are not here do not exist for the policy.
    package var localDevices: [LocalDevice: SoundCard] = [:]
    /// Codecs offered to headsets, best first; CVSD is always possible.
    package var codecs: [VoiceCodec] = [.mSBC, .cvsd]
    /// Claims HFP 1.10's call duration (+BRSF bit 14).
    package var callDuration = false
    /// Shown by the headset as the network's name (+COPS).
    package var operatorName = "btcall"
    /// Numbers that headsets dial by their place (ATD>n;), 1…99.
    package var memory: [Int: String] = [:]
    /// For headsets that ask (+CNUM); nil: none is told.
    package var ownNumber: String?
    /// The file that gets a line for each call that has ended; nil keeps no record.
    package var callRecord: String?
    /// The other party's number and name are in it.
    package var recordsNumbers = false
    /// Which ways audio and video of calls go where nobody says it for one.
    package var audioDirection = MediaDirection.sendReceive
    package var videoDirection = MediaDirection.sendReceive
    /// Who says yes when an application wants the media of a call to go other ways.
    package var mediaChange = MediaChangeRule.accept
    /// A headset whose microphone volume becomes 0 mutes the calls.
    package var mutesByHeadset = true
    /// Serves headsets that have only the Headset Profile.
    package var headsetProfile = false
    /// Music and announcements go to headsets over A2DP.
    package var a2dp = true
    package var a2dpQuality = SBCQuality.standard
    /// The headset that hears over A2DP what calls on another device say; nil: none does.
    package var listener: BluetoothAddress?
    /// From a headset's connection to the look at which of its profiles are missing; zero looks at none.
    package var profileCheck = Duration.seconds(6)
    /// Headsets that are known and away are paged.
    package var reconnect = ReconnectConfiguration()
    /// Players on the bus are paused for calls on headsets.
    package var pausesPlayers = true
    /// The program that suspends and restores the music of a headset; nil: none.
    package var mediaCommand: String?
    /// Whether controllers are told to send voice to the host.
    package var scoRouting = VoiceRoutingWish.leave
    /// What a headset is shown while its audio is used without a call.
    package var virtualCall = VirtualCall.onRequest
    /// Least time in milliseconds between the connection, or the answer, and a headset's audio link, 0…2000.
    package var audioDelayMilliseconds = 200
    /// The loudest that a headset's speaker may be, 0…15.
    package var volumeCeiling = 15
    /// Where the charge of the board's own battery comes from.
    package var boardBattery = BoardBatterySource.upower
    /// Headsets that have a section of their own.
    package var headsets: [BluetoothAddress: OwnHeadset] = [:]
    /// What the board itself lets people hear.
    package var ring = RingConfiguration()
    /// Opens sound cards so that other programs can use them as well.
    package var mixesWithOthers = false
    /// Calls are held while somebody else has the audio, where their applications can do that.
    package var holdsInterrupted = true
    /// What becomes of an incoming call: refused while do not disturb is on, or while another one is up.
    package var callPolicy = CallTable.Configuration()
    /// Seconds after which an incoming call that nobody answers is missed; 0: never.
    package var ringSeconds = 120
    package var ringLimit: Duration { .seconds(ringSeconds) }
    /// Blocks of 10 ms that are under way between the daemon and a telephony application, 2…6.
    package var callQueueBlocks = 3
    /// Where programs on the ALSA PCM find the daemon; nil serves none.
    package var pcmSocket: String? = "/run/btcall/pcm.sock"
    /// Whether programs may record calls.
    package var recording = RecordingConsent.deny
    /// Who is told with whom calls are.
    package var callers = CallerAudience.group
    /// The group whose members may do everything, as the bus's policy has it.
    package var group = "btcall"
    /// Period asked of a sound card in milliseconds, 5…40.
    package var periodMilliseconds = 10
    /// Who takes the echo and the noise out of the microphone.
    package var voiceProcessing = VoiceProcessingKind.preferred
    /// What is done to the microphone, unless nobody does.
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
    /// Mixer controls are set as well.
    package var autoConfigure = true
    /// The board's microphone runs between calls, too.
    package var alwaysPrepared = false
    /// Who may let the far end hear the microphone.
    package var microphone = MicrophoneRule.allow
    /// What shows that a microphone is heard; nil: nothing.
    package var privacyOutput: PrivacyOutputSpecification?
    /// What the box has for pairing without a screen.
    package var pairing = PairingConfiguration()
    /// Paths of the quirks databases, shipped and the administrator's; nil has none.
    package var quirksFile: String? = Configuration.shippedQuirks
    package var quirksOverlay: String? = Configuration.adminQuirks
    /// What is done for single headsets, before any row of the quirks database; in the order of the file.
    package var headsetEffects: [BluetoothAddress: [QuirkEffect]] = [:]
    /// Whose calls these are.
    package var identity = Identity()
    /// TCP port of 127.0.0.1 where metrics are read; 0: none.
    package var metricsPort = 0
    /// Commands for what happens, and what buttons do.
    package var hooks: [HookEvent: CommandWords] = [:]
    package var buttons: [ButtonGesture: ButtonAction] = [:]
    /// Whether anything is configured that starts a program: a hook, a button, `mediaCommand`, the helper of `scoRouting`.
    package var namesProgram: Bool {
        let runs = buttons.values.contains { action in
            if case .run = action { true } else { false }
        }
        return runs || !hooks.isEmpty || mediaCommand != nil || scoRouting == .host
    }
    /// Size in KiB at which the record of calls is begun anew; 0: never.
    package var recordKiB = 1024
    /// The rows of both files; no key sets them.
    package var quirks = QuirksDatabase()
    /// The settings that the file gives, by their names (`routing.exclude`).
    package var givenSettings: Set<String> = []
    /// What the file says in a way of earlier versions, which is still understood.
    package var warnings: [ConfigurationError] = []
    /// No key sets them.
    package var waits = Waits()

    package init() {}

    /// Where the files are when no key says otherwise; those need not exist.
    package static let shippedQuirks = "/usr/share/btcall/quirks.conf"
    package static let adminQuirks = "/etc/btcall/quirks.conf"
}

/// A value that a key does not take, and what it takes.
package struct ConfigurationValueError: Error {
    package let accepted: String
}
