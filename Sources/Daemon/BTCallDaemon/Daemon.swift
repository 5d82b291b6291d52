package import AudioEngine
package import AudioPaths
import BTCallAPI
package import BlueZ
package import BoardControl
import BusObjects
import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HeadsetControl
package import Logging
package import Routing
import TalkControl

/// The composition root: creates the components, wires them together, starts and stops them.
///
/// Each component subscribes to what it needs in its initialiser, so they are created in the order of their dependencies:
/// the audio graph, the policy that routes it, the calls, the headsets, then the bus objects that people and programs see.
@ControlPlane
package final class Daemon {
    package nonisolated static let version = ProductVersion.current

    /// The environment of the daemon, which tests and the simulator replace.
    package struct Environment {
        package var paths: any PathOpening
        /// Opens voice links; created with a way to find a headset's adapter.
        package var opener: any AudioLinkOpening
        /// Starts to accept links that headsets open; called again whenever an adapter appears.
        package var listen: @ControlPlane () -> (what: String, remedy: String)?
        /// Jacks, hooks and mixers; nil on a board without them.
        package var board: (any BoardOpening)?
        /// The kernel's information about Bluetooth controllers.
        package var controllers = ControllerFacts()
        /// The program that tells a controller where to send voice.
        package var voiceRoutingHelper = VoiceRouting.installedHelper
        /// Reports why radio links end; nil: only bluetoothd does, if it can.
        package var radioLinkEnds: (any RadioLinkEnds)?
        /// Settings of the audio engine, completed from the configuration.
        package var engine = AudioEngineConfiguration()
        /// Storage for the routing events; must be empty.
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

    package let settings: Settings
    package let problems: ProblemList
    package let router: RouteController
    package let lifecycle: DaemonLifecycle
    package let logger: Logger
    let audioParts: AudioParts
    let callParts: CallParts
    let headsetParts: HeadsetParts
    let figures: MetricsFeed
    private let bus: BusConnection
    private let busName: BusName
    private let board: Board
    private let inputs: RoutingInputs
    private let commands: EventCommands
    private let buttons: Buttons
    private let talk: TalkParts
    private let mixer: PCMMixer
    private let pairingButton: PairingByButton?
    private let keeper: PreferenceKeeper
    private let face: BusFace
    /// Writes the files in the state directory.
    private let writer: StateWriter
    private var sleepMonitor: SleepMonitor?

    /// - Parameters:
    ///   - registry: the mirror of BlueZ on the same bus.
    ///   - environment: sound cards and voice links.
    /// - Throws: `DaemonError` when the audio engine does not start.
    package init(
        configuration base: Configuration, bus: BusConnection, registry: DeviceRegistry, environment: Environment,
        logger: Logger
    ) throws(DaemonError) {
        self.bus = bus
        self.logger = logger
        writer = StateWriter(pause: base.timeouts.state)
        let store = base.stateDirectory.map { PreferenceStore(directory: $0) }
        let kept = store?.restored(logger) ?? .init()
        settings = Settings(base: base, kept: kept.settings, writer: writer)
        for line in settings.renamed { logger.warning("a setting kept from before: \(line)") }
        for line in settings.ignored { logger.warning("a setting kept from before is ignored: \(line)") }
        let configuration = settings.configuration
        if configuration.logLevel != base.logLevel { LogThreshold.level = configuration.logLevel }
        settings.formerNames.subscribe(settings) { _, name in
            logger.warning(
                "the setting \(name.given) is now called \(name.current): a program still uses the former name")
        }
        problems = ProblemList(logger: logger)
        board = Board(
            configuration: configuration, source: environment.board, problems: problems, logger: logger,
            isPaused: configuration.routing.manualRendering)
        (audioParts, router) = try Self.audio(settings, bus, environment, board, problems, logger)
        callParts = CallParts(
            settings: settings, bus: bus, audio: audioParts, router: router, writer: writer, problems: problems,
            logger: logger)
        headsetParts = HeadsetParts(
            settings: settings, bus: bus, registry: registry, environment: environment.headsets, audio: audioParts,
            calls: callParts, router: router, writer: writer, problems: problems, logger: logger)
        router.serve(links: headsetParts.directory, streams: headsetParts.music.links)
        inputs = RoutingInputs(
            router: router, board: board, audio: audioParts, calls: callParts, settings: settings)
        commands = EventCommands(
            configuration, calls: callParts.directory, headsets: headsetParts.directory, router: router,
            problems: problems, logger: logger)
        buttons = Buttons(
            configuration, commands: commands, headsets: headsetParts.directory, music: headsetParts.music,
            calls: callParts.directory, audio: audioParts, logger: logger)
        talk = TalkParts(
            settings: settings, bus: bus, board: environment.board, audio: audioParts, calls: callParts,
            headsets: headsetParts, router: router, problems: problems, logger: logger)
        pairingButton = PairingByButton(
            configuration.pairing, board: environment.board, pairing: headsetParts.pairing, problems: problems,
            logger: logger)
        mixer = PCMMixer(
            audio: audioParts, router: router, headsets: headsetParts.directory, calls: callParts.directory,
            logger: logger)
        figures = MetricsFeed(
            version: Self.version, audio: audioParts, calls: callParts.directory, headsets: headsetParts,
            commands: commands, router: router, problems: problems)
        keeper = PreferenceKeeper(
            store: store, kept: kept, writer: writer, settings: settings, router: router, audio: audioParts,
            problems: problems, logger: logger)
        lifecycle = DaemonLifecycle(
            settings: settings, calls: callParts.directory, headsets: headsetParts, logger: logger)
        let devices = DeviceList(
            cards: configuration.localDevices, router: router, headsets: headsetParts, board: board,
            graph: audioParts.graph, problems: problems)
        face = BusFace(
            bus: bus, version: Self.version, lifecycle: lifecycle,
            parts: .init(
                settings: settings, problems: problems, router: router, audio: audioParts, calls: callParts,
                headsets: headsetParts, talk: talk, buttons: buttons, mixer: mixer, devices: devices,
                figures: figures, keeper: keeper),
            logReaders: LogReaders(logger: logger))
        busName = BusName(bus: bus, pause: configuration.timeouts.busName, problems: problems, logger: logger)
        settings.changes.subscribe(self) { $0.apply($1.new, replacing: $1.old) }
    }

    /// Creates the graph, the policy that routes it, and the other audio components.
    private static func audio(
        _ settings: Settings, _ bus: BusConnection, _ environment: Environment, _ board: Board, _ problems: ProblemList,
        _ logger: Logger
    ) throws(DaemonError) -> (AudioParts, RouteController) {
        let configuration = settings.configuration
        environment.paths.setPeriod(configuration.periodMilliseconds)
        environment.paths.setMixing(configuration.mixesWithOthers)
        let locals = LocalDeviceMonitor(
            wanted: Set(configuration.localDevices.keys), paths: environment.paths, problems: problems,
            hasCardNotifications: board.watchesCards, interval: configuration.timeouts.localDevice,
            isPaused: configuration.routing.manualRendering)
        let graph: AudioGraph
        do throws(AudioEngineError) {
            var engine = environment.engine
            engine.setCallQueue(configuration.callQueueBlocks)
            graph = try AudioGraph.started(
                engine, paths: environment.paths, silentLimit: configuration.routing.silentLimit, logger: logger)
        } catch {
            throw DaemonError(
                what: "the audio engine does not start: \(error)", remedy: "see the limits of the process")
        }
        let recorder = FlightRecorder(version: version, recording: environment.recording)
        let files = configuration.incidents ? configuration.stateDirectory : nil
        let router = RouteController(
            policy: RoutingPolicy(
                configuration: configuration.routing,
                localDevices: locals.present.subtracting(board.managesWired ? [.wiredHeadset] : [])),
            graph: graph, hardware: board, recorder: recorder,
            incidents: IncidentMonitor(
                recorder: recorder, files: files.map { IncidentFiles(stateDirectory: $0) },
                delay: configuration.timeouts.incident, logger: logger),
            logger: logger)
        let parts = AudioParts(
            settings: settings, bus: bus, graph: graph, locals: locals, paths: environment.paths, router: router,
            problems: problems, logger: logger)
        return (parts, router)
    }

    /// Hands a changed configuration to the components: the policy first, so that it closes and opens routes while the
    /// others still have the old settings.
    private func apply(_ new: Configuration, replacing old: Configuration) {
        if new.logLevel != old.logLevel { LogThreshold.level = new.logLevel }
        inputs.follow(new, replacing: old)
        audioParts.follow(new, replacing: old)
        callParts.follow(new, replacing: old)
        headsetParts.follow(new, replacing: old)
    }

    // MARK: Lifecycle

    /// Takes the name on the bus and, with `autostart`, becomes active.
    package func start() async {
        keeper.restore()
        sleepMonitor = SleepMonitor(
            bus: bus, interruptions: callParts.interruptions, graph: audioParts.graph, logger: logger)
        board.start()
        pairingButton?.start()
        talk.start()
        audioParts.pcm.start()
        if settings.configuration.autostart {
            lifecycle.begin()
            router.handle(.start)
        }
        await busName.acquire()
    }

    /// Stops everything in order; calls of providers end with `providerGone`.
    package func stop() async {
        headsetParts.reconnector.stop()
        await lifecycle.end()
        pairingButton?.stop()
        await talk.stop()
        await headsetParts.stop()
        await commands.stop()
        buttons.stop()
        audioParts.pcm.stop()
        busName.stop()
        audioParts.locals.stop()
        board.stop()
        sleepMonitor?.stop()
        callParts.stop()
        audioParts.sounds.tones.stop()
        face.close()
        busName.release()
        audioParts.graph.close()
        audioParts.microphone.stop()
        bus.flush()
        await writer.finish()
    }
}

extension Daemon.Environment {
    fileprivate var headsets: HeadsetParts.Environment {
        HeadsetParts.Environment(
            opener: opener, listen: listen, controllers: controllers, voiceRoutingHelper: voiceRoutingHelper,
            radioLinkEnds: radioLinkEnds)
    }
}

/// A reason why the daemon cannot start, with a remedy.
package struct DaemonError: Error, CustomStringConvertible {
    package let what: String
    package let remedy: String

    package var description: String { "\(what); \(remedy)" }
}
