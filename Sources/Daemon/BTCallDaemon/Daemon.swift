package import AudioEngine
package import AudioPaths
import BTCallAPI
package import BlueZ
import BluetoothSockets
import BluetoothTypes
package import BoardControl
package import BusObjects
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HandsFree
package import HeadsetControl
package import HeadsetPolicy
package import Logging
package import Routing
package import Telephony

/// The composition root: makes every part, joins them, and lets none of them know another that it need not.
@ControlPlane
package final class Daemon: Activating {
    package nonisolated static let version = ProductVersion.current

    /// The outside that a test or the simulator replaces.
    package struct Outside {
        package var paths: any PathOpening
        /// Given the way to find the adapter of a headset.
        package var opener: any AudioLinkOpening
        /// Begins to take links that headsets open; called again whenever an adapter appears.
        package var listen: @ControlPlane () -> (what: String, remedy: String)?
        /// Jacks, hooks and mixers; nil has none.
        package var board: (any BoardOpening)?
        /// What the kernel says of Bluetooth controllers.
        package var controllers = ControllerFacts()
        /// The program that tells a controller where to send voice.
        package var voiceRoutingHelper = VoiceRouting.installedHelper
        /// Who says why radio links end; nil: only bluetoothd, where it does.
        package var radioLinkEnds: (any RadioLinkEnds)?
        /// What the audio engine is asked for; the configuration adds its own.
        package var engine = AudioEngineConfiguration()
        /// What keeps the routing events; an empty one.
        package var recording = RoutingRecording()

        package init(
            paths: any PathOpening, opener: any AudioLinkOpening, board: (any BoardOpening)? = nil,
            listen: @escaping @ControlPlane () -> (what: String, remedy: String)? = { nil }
        ) {
            self.paths = paths
            self.opener = opener
            self.board = board
            self.listen = listen
        }
    }

    package let activation: Activation
    /// What `statusLine` says may have changed.
    package var onStatus: (@ControlPlane () -> Void)?
    package let adapterNames: AdapterNames
    package let problems: ProblemList
    package let router: RouteController
    package let graph: AudioGraph
    package let calls: CallDirectory
    package let headsets: HeadsetDirectory
    package let settings: Settings
    package let interruptions = Interruptions()
    package let configuration: Configuration
    package let bus: BusConnection
    package let registry: DeviceRegistry
    package let profile: ProfileRegistration
    package let headsetProfile: ProfileRegistration
    package let outside: Outside
    package let quirks: HeadsetQuirks
    package let audio: CallAudio
    package let applicationAudio: ApplicationAudio
    package let voice: VoiceControl
    package let sounds: LocalSounds
    package let interruptionHolds: InterruptionHolds
    package let pcm: PCMServer
    package let pcmCalls: PCMCalls
    /// How loud calls are on local devices, in per cent, as a mixer has set it.
    package var localVolume = 100
    package var isMixingSaid = false
    package let metrics = Metrics()
    package let metricsListener: MetricsListener
    package let began = WallClock.now
    package let hookRunner: HookRunner
    package var presses: PressRecogniser
    package var pressTimer: Timer?
    /// What a command was last run for, of each call.
    package var hookedCalls: [CallID: HookEvent] = [:]
    package var outputFailure: AudioGraph.OutputFailure?
    package let quality: CallQualityMonitor
    package let journal: CallJournal?
    package let callLog: CallLog
    package let locals: LocalDeviceMonitor
    package let manual: ManualRendering
    package let taps: CallTaps
    package let board: Board
    package let mute: MuteState
    package let microphone: MicrophoneControl
    package let store: PreferenceStore?
    package let kept: PreferenceStore.Preferences
    /// Writes what is kept in the state directory.
    package let writer: StateWriter
    package let logger: Logger
    package private(set) var manager: ManagerObject?
    package var routerObject: RouterObject?
    package var sessionObject: SessionObject?
    private var sleepMonitor: SleepMonitor?
    package var callsObject: CallsObject?
    package var audioObject: AudioObject?
    package var headsetObjects: HeadsetObjects?
    package let levels: HeadsetLevels
    package let boardBattery: BoardBattery
    package let logReaders: LogReaders
    package let audioConfigurator: AudioConfigurator
    private var nameRetry: Timer?
    private var isPowered = true
    /// bluetoothd has just appeared and may list its adapters later.
    private var adapterGrace: Timer?
    private var pairingCheck: Timer?
    package let pairing: PairingControl
    package var pairingObject: PairingObject?
    package var pairingButton: PairingButton?

    /// - Parameters:
    ///   - registry: the mirror of BlueZ on the same bus.
    ///   - outside: sound cards and voice links.
    /// - Throws: what keeps the audio engine from starting.
    package init(
        configuration base: Configuration, bus: BusConnection, registry: DeviceRegistry, outside: Outside,
        logger: Logger
    ) throws(DaemonError) {
        store = base.stateDirectory.map { PreferenceStore(directory: $0) }
        let writer = StateWriter(pause: base.waits.state)
        self.writer = writer
        kept = Self.load(store, logger)
        settings = Settings(base: base, kept: kept.settings)
        for line in settings.ignored { logger.warning("a setting kept from before is ignored: \(line)") }
        let configuration = settings.configuration
        self.configuration = configuration
        if configuration.logLevel != base.logLevel { LogThreshold.level = configuration.logLevel }
        outside.paths.setPeriod(configuration.periodMilliseconds)
        outside.paths.setMixing(configuration.mixesWithOthers)
        self.bus = bus
        self.registry = registry
        self.outside = outside
        self.logger = logger
        callerReaders = CallerReaders(bus: bus, group: configuration.group)
        activation = Activation(patience: configuration.waits.activation)
        adapterNames = AdapterNames(registry: registry, logger: logger)
        problems = ProblemList(logger: logger)
        board = Board(
            configuration: configuration, source: outside.board, problems: problems, logger: logger,
            isPaused: configuration.routing.manualRendering)
        locals = LocalDeviceMonitor(
            wanted: Set(configuration.localDevices.keys), paths: outside.paths, problems: problems,
            isToldOfCards: board.watchesCards, interval: configuration.waits.localDevice,
            isPaused: configuration.routing.manualRendering)
        do throws(AudioEngineError) {
            var engineConfiguration = outside.engine
            engineConfiguration.primeBlocks = configuration.callQueueBlocks
            let engine = try AudioEngine(engineConfiguration)
            if !engine.isRealtime { Self.warnOfLateness(engine, engineConfiguration, logger) }
            let limit = configuration.routing.silentLimit
            graph = try Self.graph(engine, outside.paths, limit > .zero ? limit : nil, logger)
        } catch {
            throw DaemonError(
                what: "the audio engine does not start: \(error)", remedy: "see the limits of the process")
        }
        let recorder = FlightRecorder(version: Self.version, recording: outside.recording)
        let files = configuration.incidents ? configuration.stateDirectory : nil
        router = RouteController(
            policy: RoutingPolicy(
                configuration: configuration.routing,
                localDevices: locals.present.subtracting(board.managesWired ? [.wiredHeadset] : [])), graph: graph,
            recorder: recorder,
            incidents: IncidentMonitor(
                recorder: recorder, files: files.map { IncidentFiles(stateDirectory: $0) },
                delay: configuration.waits.incident, logger: logger),
            logger: logger)
        calls = CallDirectory(
            bus: bus, deadline: configuration.waits.provider, contactBudget: configuration.waits.contact, logger: logger
        )
        audio = CallAudio(engine: graph.engine, logger: logger)
        applicationAudio = ApplicationAudio(engine: graph.engine, logger: logger)
        voice = VoiceControl(configuration, graph: graph, problems: problems)
        manual = ManualRendering(engine: graph.engine, bus: bus, logger: logger)
        taps = CallTaps(
            engine: graph.engine, calls: calls, consent: configuration.recording,
            patience: configuration.waits.recording,
            logger: logger)
        sounds = LocalSounds(
            graph: graph, configuration: configuration.soundedRing, playable: configuration.playable,
            problems: problems, logger: logger)
        interruptionHolds = InterruptionHolds(calls: calls, isOn: configuration.holdsInterrupted, logger: logger)
        pcm = PCMServer(
            path: configuration.pcmSocket, engine: graph.engine, announcements: sounds.announcements,
            problems: problems,
            logger: logger)
        pcmCalls = PCMCalls(calls: calls, logger: logger)
        quality = CallQualityMonitor(
            graph: graph, interval: configuration.waits.quality, window: configuration.waits.qualityWindow)
        journal = Self.journal(configuration, problems)
        metricsListener = MetricsListener(problems: problems, patience: configuration.waits.metrics, logger: logger)
        hookRunner = HookRunner(limit: configuration.waits.hook, problems: problems, logger: logger)
        presses = Self.presses(configuration)
        callLog = Self.callLog(configuration, writer, problems, logger)
        mute = MuteState()
        microphone = MicrophoneControl(
            configuration, graph: graph, mute: mute, paths: outside.paths, problems: problems, logger: logger)
        let gateway = Self.gateway(configuration)
        var registration = ProfileRegistration.Configuration.handsFreeAudioGateway(features: gateway.sdpFeatures)
        registration.version = gateway.version.rawValue
        registration.retryInterval = configuration.waits.profile
        profile = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        headsetProfile = Self.headsetProfile(configuration, bus, logger)
        logReaders = LogReaders(logger: logger)
        audioConfigurator = AudioConfigurator(
            bus: bus, budget: configuration.waits.audioSettings, patience: configuration.waits.provider, logger: logger)
        boardBattery = BoardBattery(bus: bus, source: configuration.boardBattery, logger: logger)
        levels = Self.levels(configuration, bus, registry, writer, problems, logger)
        let admission = LinkAdmission(
            opener: outside.opener, pause: configuration.routing.reopenPause, logger: logger)
        headsets = HeadsetDirectory(
            registry: registry, calls: calls, graph: graph, admission: admission, opener: outside.opener,
            configuration: gateway, codecMemories: Self.codecMemories(configuration, writer, logger),
            logger: logger)
        headsets.levels = levels
        self.admission = admission
        mediaSource = MediaSource(
            bus: bus, registry: registry, quality: configuration.a2dpQuality, logger: logger)
        media = MediaLinks(source: mediaSource, graph: graph, logger: logger)
        quirks = HeadsetQuirks(
            configuration: configuration, registry: registry, facts: outside.controllers, logger: logger)
        expectedProfiles = ExpectedProfiles(
            registry: registry, headsets: headsets, problems: problems, waits: configuration.profileWaits,
            logger: logger)
        reconnector = Self.reconnector(
            configuration, registry, outside.radioLinkEnds, writer, problems, logger)
        pairing = PairingControl(
            bus: bus, registry: registry, light: PairingLight(configuration.pairing.light, problems: problems),
            logger: logger)
        players = MusicPlayers(bus: bus, isOn: configuration.pausesPlayers, logger: logger)
        peace = MediaPeace(
            players: players,
            command: MediaCommand(
                configuration.mediaCommand, limit: configuration.waits.mediaCommand, problems: problems, logger: logger),
            delay: configuration.routing.mediaRestore, patience: configuration.waits.foreignMusic, logger: logger)
        voiceRouting = VoiceRouting(
            configuration.scoRouting, helper: outside.voiceRoutingHelper, facts: outside.controllers,
            problems: problems, logger: logger)
        join()
        export()
    }

    /// For how long programs that ask for all objects get the same answer: what no signal tells of is as old at most.
    private static let answerAge = Duration.milliseconds(100)
    package let callerReaders: CallerReaders
    package let admission: LinkAdmission
    package let expectedProfiles: ExpectedProfiles
    package let reconnector: Reconnector
    package let peace: MediaPeace
    package let players: MusicPlayers
    package let voiceRouting: VoiceRouting
    package let mediaSource: MediaSource
    package let media: MediaLinks

    private static func graph(
        _ engine: AudioEngine, _ paths: any PathOpening, _ limit: Duration?, _ logger: Logger
    ) throws(AudioEngineError) -> AudioGraph {
        do throws(SystemError) {
            return try AudioGraph(engine: engine, paths: paths, silentLimit: limit, logger: logger)
        } catch {
            throw .failed(call: error.call, code: error.code)
        }
    }

    private static func warnOfLateness(
        _ engine: AudioEngine, _ configuration: AudioEngineConfiguration, _ logger: Logger
    ) {
        logger.warning(
            """
            the audio thread has no real-time priority: sound cards play \(engine.playbackQueue) behind instead of \
            \(configuration.playbackQueue), and a busy machine may still be heard; give the unit LimitRTPRIO=20 or \
            AmbientCapabilities=CAP_SYS_NICE, and restart it
            """)
    }

    package static func gateway(_ configuration: Configuration) -> AudioGatewayConfiguration {
        var gateway = AudioGatewayConfiguration()
        gateway.codecs = configuration.codecs
        gateway.networkOperator = configuration.networkName
        gateway.memory = configuration.memory
        gateway.subscriberNumbers = configuration.ownNumber.map { [SubscriberNumber(number: $0)] } ?? []
        // The ringer plays in the link when the policy opens one while it rings; that is not announced yet. The policy
        // opens none for a headset without the feature, so that one that was told of a ring tone would stay silent.
        gateway.features.remove(.inbandRing)
        // Whether the calls of the moment can be joined is said when it is asked for.
        gateway.threeWay.append(.join)
        if configuration.takesOutEcho { gateway.features.insert(.echoCancelling) }
        gateway.volumeResend = AudioGateway.forgetfulness
        gateway.audioDelay = .milliseconds(configuration.audioDelayMilliseconds)
        gateway.virtualCall = configuration.virtualCall
        gateway.setUpTimeout = configuration.waits.setUp
        gateway.speakerCeiling = configuration.volumeCeiling
        if configuration.callDuration { gateway.features.insert(.callDuration) }
        // What a headset that holds its key asks for.
        if configuration.buttons[ButtonGesture(.callKey, .long)] != nil { gateway.features.insert(.voiceRecognition) }
        return gateway
    }

    // MARK: Joining

    private func join() {
        joinActivation()
        joinIdentity()
        router.links = headsets
        router.onNotice = { [weak self] notice in
            if case .devicesChanged = notice {
                self?.noteMissingWired()
                self?.endBusy()
            }
            if case .routeChanged(let old, let new, let reason) = notice {
                self?.metrics.routeChanged(reason)
                self?.runRouteHook(old, new, reason)
            }
            self?.routerObject?.show(notice)
        }
        joinMicrophone()
        joinAudioSettings()
        graph.onEvent = { [weak self] event in self?.take(event) }
        joinCalls()
        joinApplications()
        headsets.onRoutingEvent = { [weak self] event in self?.router.handle(event) }
        headsets.onChange = { [weak self] change in self?.show(change) }
        headsets.quirks = { [quirks] address in quirks.quirks(of: address) }
        admission.advice = { [weak self] address in
            guard let self else { return "" }
            return voiceRouting.advice(adapterPath(of: address))
        }
        joinBoard()
        boardBattery.onChange = { [weak self] in self?.boardBatteryChanged() }
        registry.onEvent = { [weak self] event in self?.take(event) }
        profile.onState = { [weak self] state in self?.take(state) }
        profile.onConnection = { [weak self] address, _, descriptor, _ throws(ConnectionRefusal) in
            try self?.headsets.connected(address, descriptor)
        }
        profile.onDisconnectionRequest = { [weak self] address in
            self?.dismissed(address)
            self?.headsets.closeSession(address, "a user of this machine disconnected it")
        }
        joinHeadsetProfile()
        joinA2DP()
        joinExpectedProfiles()
        joinReconnector()
        joinPeace()
        joinMetrics()
        joinHooks()
        settings.onChange = { [weak self] old, new in self?.apply(new, replacing: old) }
        settings.onRuntimeChange = { [weak self] in self?.keepPreferences() }
        showDropped()
        settings.settle = { [writer] in await writer.settle() }
        joinSounds()
    }

    private func joinBoard() {
        router.hardware = board
        board.onEvent = { [weak self] event in
            self?.router.handle(event)
            if event == .handsetOffHook { self?.handsetLifted() }
        }
        board.onCardsChanged = { [weak self] in
            guard let self else { return }
            locals.cardsChanged(except: router.policy.current?.local)
        }
        locals.onFound = { [weak self] device in
            guard let self else { return }
            // With its jack empty the wired headset is not there, whatever its card says.
            let isJacksToSay = device == .wiredHeadset && board.managesWired && router.policy.jack == .empty
            if !isJacksToSay { router.handle(.localFound(device)) }
        }
        locals.onLost = { [weak self] device in self?.router.handle(.localLost(device)) }
    }

    /// The jack says that the wired headset is there, and its sound card cannot be opened.
    private func noteMissingWired() {
        guard router.policy.jack != .empty, !locals.present.contains(.wiredHeadset) else { return }
        router.handle(.localLost(.wiredHeadset))
    }

    private func export() {
        bus.prefer(DeviceRegistry.serviceName)
        bus.exportObjectManager(at: BTCallPath.manager, answerAge: Self.answerAge)
        followCallers(configuration)
        manager = ManagerObject(
            bus: bus, version: Self.version, daemon: self, problems: problems, settings: settings, quirks: quirks,
            headsets: headsets, boardBattery: boardBattery, logReaders: logReaders)
        exportSession()
        routerObject = RouterObject(
            bus: bus, router: router, interruptions: interruptions,
            describe: { [weak self] in self?.describeDevices() ?? [] },
            codec: { [weak self] in self?.graph.codec(ofLink: $0) },
            onPreference: { [weak self] in self?.keepPreferences() }, notes: { [weak self] in self?.board.notes ?? [] })
        exportCalls()
        exportAudio()
        headsetObjects = HeadsetObjects(bus: bus, headsets: headsets, mediaSource: mediaSource)
        joinPCM()
        joinPairing()
        // Why a device is not available is a problem as well.
        let show = problems.onChange
        problems.onChange = { [weak self] in
            show?()
            self?.routerObject?.refresh()
            self?.onStatus?()
        }
    }

    // MARK: Events

    private func take(_ event: AudioGraph.Event) {
        switch event {
        case .firstPacket(let address, let bytes):
            logger.debug("\(address): packets of \(bytes) bytes")
            headsets.firstPacketCame(address)
            voiceRouting.packetCame(through: adapterPath(of: address))
            quality.sample()
        case .linkSilent(let address, let milliseconds):
            logger.notice("\(address): nothing received for \(milliseconds) ms")
            headsets.linkSilent(address)
            router.handle(.linkSilent(address))
            quality.sample()
        case .linkResumed(let address):
            headsets.linkResumed(address)
            router.handle(.linkResumed(address))
        case .linkLost(let address, let code):
            headsets.linkLost(address, code: code)
            quality.follow()
        case .linkClosed(let address): headsets.linkClosed(address)
        case .pathFailed(let error):
            locals.lost(error)
            router.handle(.localLost(error.device))
            noteBusy(error)
            quality.follow()
        case .callAudioClosed(let call): audio.closed(call)
        case .injectionEnded(let injection): applicationAudio.ended(injection)
        case .speakingWhileMuted: audioObject?.speakingWhileMuted()
        case .microphoneReady(let isReady): microphone.ready(isReady)
        case .microphoneOpened: microphone.opened()
        case .microphoneFailed(let error): microphone.failed(error)
        case .microphoneLive(let isLive): microphone.live(isLive)
        case .manualEnded: manual.ended()
        case .tapEnded(let tap): taps.ended(tap)
        case .outputFailed(let failure): noteOutput(failure)
        case .routed(let endpoint, let gap):
            logger.debug("audio is on \(endpoint?.description ?? "no device"), gap \(gap) µs")
            quality.follow()
            routerObject?.refresh()
            pcm.valuesChanged()
            onStatus?()
        }
    }

    private func take(_ event: DeviceRegistry.Event) {
        levels.refresh()
        adapterNames.follow()
        expectedProfiles.follow()
        reconnector.follow()
        pairing.follow()
        switch event {
        case .serviceAppeared:
            metrics.serviceAppeared()
            problems.end("bluetoothd")
            awaitAdapters()
        case .serviceVanished:
            pairing.serviceVanished()
            noteMissingService()
            activation.readinessChanged()
        case .adapterChanged, .adapterRemoved:
            noteAdapters()
            checkPairingsLater()
        case .deviceChanged(let device):
            headsets.describe(device)
            batteryChanged(of: device)
            routerObject?.refresh()
        case .deviceRemoved(let address):
            headsets.closeSession(address, "bluetoothd has forgotten it")
            headsets.forget(address)
        case .deviceDisconnected(let address, let reason):
            expectedProfiles.disconnected(address)
            if let reason { reconnector.disconnected(address, reason) }
            headsets.closeSession(address, "the radio link ended")
        }
    }

    private func awaitAdapters() {
        adapterGrace?.cancel()
        adapterGrace = ControlLoop.shared.schedule(after: configuration.waits.adapter) { [weak self] in
            self?.adapterGrace = nil
            self?.noteAdapters()
        }
        noteAdapters()
        checkPairingsLater()
    }

    /// Devices come to the bus after their adapter: which of them are missing shows later, counted from the last news of it.
    private func checkPairingsLater() {
        pairingCheck?.cancel()
        pairingCheck = ControlLoop.shared.schedule(after: configuration.waits.adapter) { [weak self] in
            self?.pairingCheck = nil
            self?.headsets.forgetUnpaired()
        }
    }

    private func noteMissingService() {
        problems.begin(
            "bluetoothd", what: "bluetoothd is not on the bus",
            remedy: "start it (`systemctl start bluetooth`); calls use local devices meanwhile")
        problems.end("adapter")
        adapterGrace?.cancel()
        adapterGrace = nil
        voiceRouting.adaptersChanged([])
    }

    private func noteAdapters() {
        guard registry.isServicePresent else { return }
        voiceRouting.adaptersChanged(registry.adapters)
        reconnector.adaptersChanged(registry.adapters)
        let powered = registry.adapters.contains(where: \.powered)
        // bluetoothd comes to the bus before its adapters do. Links that outlived it are not over for that.
        if registry.adapters.isEmpty, adapterGrace != nil { return }
        if powered {
            problems.end("adapter")
        } else if registry.adapters.isEmpty {
            problems.begin(
                "adapter", what: "there is no Bluetooth adapter",
                remedy: "plug one in, or see `dmesg` why the kernel does not take it")
        } else {
            problems.begin(
                "adapter", what: "the Bluetooth adapter is off",
                remedy: "switch it on (`bluetoothctl power on`); if that fails, `rfkill unblock bluetooth`")
        }
        if powered != isPowered {
            isPowered = powered
            router.handle(.adapterPowered(powered))
        }
        if powered { listen() }
    }

    private func listen() {
        if let problem = outside.listen() {
            problems.begin("sco", what: problem.what, remedy: problem.remedy)
        } else {
            problems.end("sco")
        }
    }

    private func take(_ state: ProfileRegistration.State) {
        defer { activation.readinessChanged() }
        expectedProfiles.follow()
        reconnector.follow()
        switch state {
        case .stopped: problems.end("profile")
        case .waitingForService: break
        case .registered:
            problems.end("profile")
            logger.notice("the Audio Gateway is registered with bluetoothd")
        case .refused(let refusal):
            problems.begin("profile", what: "\(refusal)", remedy: "tried again by itself")
        }
    }

    private func show(_ change: HeadsetDirectory.Change) {
        switch change {
        case .appeared(let address), .vanished(let address), .changed(let address): headsetObjects?.follow(address)
        case .buttonPressed(let address, let button): pressed(button, at: address)
        case .buttonHeld(let address): recogniseHeld(.callKey, at: address)
        }
        switch change {
        case .appeared(let address): runHook(.headsetConnected, address)
        case .vanished(let address): runHook(.headsetLost, address)
        case .changed, .buttonPressed, .buttonHeld: break
        }
        expectedProfiles.follow()
        reconnector.follow()
        pcm.valuesChanged()
        routerObject?.refresh()
    }

    // MARK: Life

    /// Takes the name on the bus and, with `autostart`, begins to work.
    package func start() async {
        restorePreferences()
        sleepMonitor = SleepMonitor(bus: bus, interruptions: interruptions, graph: graph, logger: logger)
        board.start()
        pairingButton?.start()
        pcm.start()
        metricsListener.follow(settings.configuration.metricsPort)
        if !registry.isServicePresent { noteMissingService() }
        if configuration.autostart {
            activation.beginActive()
            router.handle(.start)
        }
        await takeName()
    }

    /// Ends everything in order; calls of providers end with `providerGone`.
    package func stop() async {
        reconnector.stop()
        await activation.end()
        pairingButton?.stop()
        await pairing.stop()
        expectedProfiles.stop()
        await peace.stop()
        await hookRunner.stop()
        pressTimer?.cancel()
        metricsListener.stop()
        pcm.stop()
        pcmCalls.stop()
        nameRetry?.cancel()
        adapterGrace?.cancel()
        pairingCheck?.cancel()
        locals.stop()
        board.stop()
        boardBattery.stop()
        levels.stop()
        sleepMonitor?.stop()
        interruptions.close()
        sounds.tones.stop()
        routerObject?.close()
        sessionObject?.close()
        logReaders.close()
        bus.releaseName(BTCallName.bus)
        graph.close()
        microphone.stop()
        bus.flush()
        await writer.finish()
    }

    private func takeName() async {
        do throws(BusError) {
            try await bus.requestName(BTCallName.bus)
            problems.end("name")
            logger.notice("\(BTCallName.bus) is on the bus")
        } catch {
            let remedy =
                error.hasName(BusError.Name.accessDenied)
                ? "install dbus/org.btcall.conf as /usr/share/dbus-1/system.d/org.btcall.conf and run as user btcall or root"
                : "stop the other daemon; tried again every \(configuration.waits.busName)"
            problems.begin("name", what: "the bus does not give us \(BTCallName.bus): \(error.message)", remedy: remedy)
            nameRetry = ControlLoop.shared.schedule(after: configuration.waits.busName) { [weak self] in
                Task { @ControlPlane in await self?.takeName() }
            }
        }
    }
}

/// Why the daemon cannot start, and what to do.
package struct DaemonError: Error, CustomStringConvertible {
    package let what: String
    package let remedy: String

    package var description: String { "\(what); \(remedy)" }
}
