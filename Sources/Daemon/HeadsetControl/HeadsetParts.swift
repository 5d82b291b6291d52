package import AudioPaths
package import BlueZ
import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
import HandsFree
import HeadsetPolicy
package import Logging
import Routing

/// The headsets of the box: connections, links, music, pairing and reconnection.
@ControlPlane
package final class HeadsetParts {
    /// Parts of the environment that a test or the simulator replaces.
    package struct Environment {
        /// Opens links; built with a function that finds the adapter of a headset.
        package var opener: any AudioLinkOpening
        package var listen: BluetoothWatch.Listen
        package var controllers: ControllerFacts
        package var voiceRoutingHelper: [String]
        package var radioLinkEnds: (any RadioLinkEnds)?

        package init(
            opener: any AudioLinkOpening, listen: @escaping BluetoothWatch.Listen, controllers: ControllerFacts,
            voiceRoutingHelper: [String], radioLinkEnds: (any RadioLinkEnds)?
        ) {
            self.opener = opener
            self.listen = listen
            self.controllers = controllers
            self.voiceRoutingHelper = voiceRoutingHelper
            self.radioLinkEnds = radioLinkEnds
        }
    }

    package let registry: DeviceRegistry
    package let directory: HeadsetDirectory
    package let admission: LinkAdmission
    package let profiles: VoiceProfiles
    package let music: MusicControl
    package let peace: MediaPeace
    package let expectedProfiles: ExpectedProfiles
    package let reconnector: Reconnector
    package let pairing: PairingControl
    package let quirks: HeadsetQuirks
    package let voiceRouting: VoiceRouting
    package let foreignProfiles: ForeignProfileChanges
    package let boardBattery: BoardBattery
    private let settings: Settings
    private let observer: ReconnectObserver
    private let watch: BluetoothWatch
    private let volumesAndBattery: HeadsetVolumesAndBattery
    private let players: MusicPlayers
    private let adapterNames: AdapterNames
    private let headsetMute: HeadsetMute
    private let inbandRing: InbandRing
    private let problems: ProblemList

    package init(
        settings: Settings, bus: BusConnection, registry: DeviceRegistry, environment: Environment, audio: AudioParts,
        calls: CallParts, router: any RouteDeciding, writer: StateWriter, problems: ProblemList, logger: Logger
    ) {
        let configuration = settings.configuration
        let gateway = AudioGatewayConfiguration(configuration)
        self.settings = settings
        self.registry = registry
        self.problems = problems
        adapterNames = AdapterNames(configuration.identity.displayName, registry: registry, logger: logger)
        quirks = HeadsetQuirks(
            configuration: configuration, registry: registry, facts: environment.controllers, logger: logger)
        volumesAndBattery = Self.volumesAndBattery(configuration, bus, registry, writer, problems, logger)
        boardBattery = BoardBattery(bus: bus, source: configuration.boardBattery, logger: logger)
        let voiceRouting = VoiceRouting(
            configuration.scoRouting, helper: environment.voiceRoutingHelper, facts: environment.controllers,
            problems: problems, logger: logger)
        self.voiceRouting = voiceRouting
        admission = Self.admission(environment.opener, configuration, voiceRouting, registry, logger)
        let music = MusicControl(
            settings: settings, bus: bus, registry: registry, graph: audio.graph, router: router, problems: problems,
            logger: logger)
        self.music = music
        players = MusicPlayers(bus: bus, isOn: configuration.pausesPlayers, logger: logger)
        peace = MediaPeace(
            players: players, command: Self.mediaCommand(configuration, problems, logger), music: music,
            calls: calls.directory, admission: admission, router: router,
            delay: configuration.routing.mediaRestore, foreignStreamTimeout: configuration.timeouts.foreignMusic,
            logger: logger)
        directory = HeadsetDirectory(
            registry: registry, calls: calls.directory, graph: audio.graph, admission: admission,
            opener: environment.opener, configuration: gateway,
            codecMemories: Self.codecMemories(configuration, writer, logger), quirks: quirks,
            talk: HeadsetTalk(
                configuration, registry: registry, writer: writer, problems: problems, logger: logger),
            volumesAndBattery: volumesAndBattery,
            music: peace, media: { music.description(of: $0) }, logger: logger)
        directory.servesA2DP = configuration.a2dp
        profiles = VoiceProfiles(
            configuration, gateway: gateway, bus: bus, registry: registry, headsets: directory, problems: problems,
            logger: logger)
        expectedProfiles = ExpectedProfiles(
            registry: registry, headsets: directory, profiles: profiles, music: music, calls: calls.directory,
            admission: admission, problems: problems, delays: configuration.profileDelays, logger: logger)
        foreignProfiles = ForeignProfileChanges(
            registry: registry, headsets: directory, calls: calls.directory, admission: admission, router: router,
            timeout: configuration.timeouts.radioLinkEnd, problems: problems, logger: logger)
        observer = ReconnectObserver(
            registry: registry, headsets: directory, profiles: profiles, music: music, calls: calls,
            admission: admission)
        reconnector = Reconnector(
            registry: registry, observer: observer, problems: problems,
            store: configuration.stateDirectory.map { ReconnectStore(directory: $0) }, writer: writer,
            ends: environment.radioLinkEnds, settings: configuration.reconnectSettings, logger: logger)
        pairing = PairingControl(
            bus: bus, registry: registry, calls: calls.directory, admission: admission,
            light: PairingLight(configuration.pairing.light, problems: problems), logger: logger)
        watch = BluetoothWatch(
            registry: registry, headsets: directory, expectedProfiles: expectedProfiles, reconnector: reconnector,
            voiceRouting: voiceRouting, router: router, listen: environment.listen,
            hasLocalDevices: !configuration.localDevices.isEmpty, appearanceTimeout: configuration.timeouts.adapter,
            problems: problems)
        headsetMute = HeadsetMute(
            settings: settings, router: router, headsets: directory, calls: calls.directory, audio: audio,
            logger: logger)
        inbandRing = InbandRing(router: router, headsets: directory)
        set(configuration)
        subscribe(audio, calls, router)
    }

    private func subscribe(_ audio: AudioParts, _ calls: CallParts, _ router: any RouteDeciding) {
        directory.routing.subscribe { [weak router] event in router?.handle(event) }
        directory.talk.changes.subscribe(directory) { $0.followTalkRows() }
        directory.codecMemories.kept.subscribe(self) { $0.noteKept($1) }
        audio.graph.events.subscribe(self) { [weak router] parts, event in parts.handle(event, router) }
        music.arrivals.subscribe(self) { parts, address in
            if let device = parts.registry.device(address) { parts.directory.describe(device) }
        }
        boardBattery.changes.subscribe(self) { $0.updateGateway() }
        admission.events.subscribe(calls.quality) { quality, event in
            if case .retried(let address) = event { quality.retried(address) }
        }
        admission.events.subscribe(voiceRouting) { [registry] routing, event in
            guard case .nothingCameIn(let address) = event else { return }
            routing.nothingCame(through: registry.device(address)?.adapterPath)
        }
        router.notices.subscribe(voiceRouting) { routing, notice in
            if case .refreshed = notice { routing.refresh() }
        }
    }

    // MARK: Lifecycle

    /// Whether the daemon is active, which means that headsets are served and paged.
    package func setActive(_ isActive: Bool) {
        observer.isActive = isActive
        guard isActive else { return }
        profiles.serveHeadsetProfile(settings.configuration.headsetProfile, isActive: true)
        followA2DP()
    }

    /// Takes the registrations back from bluetoothd; returns when bluetoothd has confirmed it.
    package func withdraw() async {
        await profiles.stop()
        await music.source.stop()
    }

    package func stop() async {
        await pairing.stop()
        expectedProfiles.stop()
        foreignProfiles.stop()
        await peace.stop()
        watch.stop()
        boardBattery.stop()
        volumesAndBattery.stop()
    }

    // MARK: Events of the graph

    /// The headset's session is notified before the policy, because it has to be ready for the policy's effects.
    private func handle(_ event: AudioGraph.Event, _ router: (any RouteDeciding)?) {
        switch event {
        case .firstPacket(let address, let bytes):
            directory.logger.debug("\(address): packets of \(bytes) bytes")
            directory.firstPacketCame(address)
            voiceRouting.packetCame(through: registry.device(address)?.adapterPath)
        case .linkSilent(let address, let milliseconds):
            directory.logger.notice("\(address): nothing received for \(milliseconds) ms")
            directory.linkSilent(address)
            router?.handle(.linkSilent(address))
        case .linkResumed(let address):
            directory.linkResumed(address)
            router?.handle(.linkResumed(address))
        case .linkLost(let address, let code): directory.linkLost(address, code: code)
        case .linkClosed(let address): directory.linkClosed(address)
        case .pathFailed, .callAudioClosed, .injectionEnded, .speakingWhileMuted, .microphoneReady, .microphoneOpened,
            .microphoneFailed, .microphoneLive, .manualEnded, .tapEnded, .outputFailed, .routed:
            break
        }
    }

    private func noteKept(_ problem: String?) {
        guard let problem else { return problems.end("codecMemory") }
        problems.begin(
            "codecMemory", what: "learnt codecs of headsets are not saved: \(problem)",
            remedy: "make the directory writable for the daemon's user (StateDirectory=btcall in the unit does)")
    }

    // MARK: Configuration

    /// Applies a changed configuration.
    package func follow(_ new: Configuration, replacing old: Configuration) {
        if new.routing != old.routing { admission.pause = new.routing.reopenPause }
        boardBattery.source = new.boardBattery
        updateGateway()
        if new.headsetProfile != old.headsetProfile {
            profiles.serveHeadsetProfile(new.headsetProfile, isActive: observer.isActive)
        }
        voiceRouting.follow(new.scoRouting)
        if new.a2dp != old.a2dp || new.a2dpQuality != old.a2dpQuality || new.listener != old.listener { followA2DP() }
        expectedProfiles.follow(new.profileDelays)
        reconnector.follow(new.reconnectSettings)
        peace.setDelay(new.routing.mediaRestore)
        players.isOn = new.pausesPlayers
        adapterNames.name = new.identity.displayName
        set(new)
    }

    private func set(_ configuration: Configuration) {
        guard volumesAndBattery.mutesByVolume != configuration.mutesByHeadset else { return }
        volumesAndBattery.mutesByVolume = configuration.mutesByHeadset
        // A microphone volume of 0 is shown as a mute, or no longer.
        for address in directory.sessions.keys.sorted() { directory.changes.send(.changed(address)) }
    }

    private func followA2DP() {
        let isWanted = settings.configuration.a2dp
        if directory.servesA2DP != isWanted {
            directory.servesA2DP = isWanted
            for device in registry.devices { directory.describe(device) }
            directory.forgetUnpaired()
        }
        music.follow(isActive: observer.isActive)
    }

    /// Passes the configuration on to the headsets' sessions, with the present charge of the board's battery.
    private func updateGateway() {
        var gateway = AudioGatewayConfiguration(settings.configuration)
        // The service record announces it too, and the record is registered once.
        if directory.configuration.features.contains(.echoCancelling) {
            gateway.features.insert(.echoCancelling)
        } else {
            gateway.features.remove(.echoCancelling)
        }
        gateway.indicators[.battery] = BoardBattery.level(boardBattery.percent)
        if gateway != directory.configuration { directory.configuration = gateway }
    }

    // MARK: Stores

    private static func volumesAndBattery(
        _ configuration: Configuration, _ bus: BusConnection, _ registry: DeviceRegistry, _ writer: StateWriter,
        _ problems: ProblemList, _ logger: Logger
    ) -> HeadsetVolumesAndBattery {
        HeadsetVolumesAndBattery(
            memory: VolumeMemory(
                directory: configuration.stateDirectory, pause: configuration.timeouts.volumes, writer: writer,
                problems: problems, logger: logger),
            ceilings: configuration.headsets.compactMapValues(\.volumeCeiling), registry: registry,
            provider: BatteryProvider(bus: bus, registry: registry, logger: logger))
    }

    // MARK: Parts

    private static func admission(
        _ opener: any AudioLinkOpening, _ configuration: Configuration, _ voiceRouting: VoiceRouting,
        _ registry: DeviceRegistry, _ logger: Logger
    ) -> LinkAdmission {
        LinkAdmission(
            opener: opener, pause: configuration.routing.reopenPause,
            advice: { address in voiceRouting.advice(registry.device(address)?.adapterPath) }, logger: logger)
    }

    private static func mediaCommand(
        _ configuration: Configuration, _ problems: ProblemList, _ logger: Logger
    ) -> MediaCommand {
        MediaCommand(
            configuration.mediaCommand, limit: configuration.timeouts.mediaCommand, problems: problems, logger: logger)
    }

    private static func codecMemories(
        _ configuration: Configuration, _ writer: StateWriter, _ logger: Logger
    ) -> CodecMemories {
        CodecMemories(
            store: configuration.stateDirectory.map { CodecMemoryStore(directory: $0) }, codecs: configuration.codecs,
            writer: writer, logger: logger)
    }
}

extension Configuration {
    fileprivate var profileDelays: ProfileRepair.Delays {
        ProfileRepair.Delays(check: profileCheck, quiet: timeouts.profileQuiet, pause: timeouts.profilePause)
    }

    fileprivate var reconnectSettings: ReconnectManager.Settings {
        ReconnectManager.Settings(
            isOn: reconnect.isOn, first: timeouts.reconnectSecond * reconnect.seconds,
            longest: timeouts.reconnectSecond * max(reconnect.maxSeconds, reconnect.seconds),
            losses: reconnect.losses, quarantine: timeouts.reconnectSecond * reconnect.quarantineSeconds,
            gap: timeouts.reconnectSecond * 2, order: routing.headsetOrder)
    }
}
