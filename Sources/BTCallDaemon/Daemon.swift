import AudioEngine
package import BTCallAPI
package import BlueZ
import BluetoothSockets
import BluetoothTypes
package import ControlLoop
package import DBus
import HandsFree
package import Logging
import Routing
import Telephony

/// The composition root: makes every part, joins them, and lets none of them know another that it need not.
@ControlPlane
package final class Daemon: Activating {
    package nonisolated static let version = "0.1.0"

    /// The outside that a test or the simulator replaces.
    package struct Outside {
        package var paths: any PathOpening
        /// Given the way to find the adapter of a headset.
        package var opener: any AudioLinkOpening
        /// Begins to take links that headsets open; called again whenever an adapter appears.
        package var listen: @ControlPlane () -> (what: String, remedy: String)?

        package init(
            paths: any PathOpening, opener: any AudioLinkOpening,
            listen: @escaping @ControlPlane () -> (what: String, remedy: String)? = { nil }
        ) {
            self.paths = paths
            self.opener = opener
            self.listen = listen
        }
    }

    package private(set) var state = ManagerDescription.State.inactive {
        didSet { manager?.stateChanged() }
    }
    package let problems: ProblemList
    package let router: RouteController
    package let graph: AudioGraph
    package let calls: CallDirectory
    package let headsets: HeadsetDirectory
    private let configuration: Configuration
    private let bus: BusConnection
    private let registry: DeviceRegistry
    private let profile: ProfileRegistration
    private let outside: Outside
    private let audio: CallAudio
    private let locals: LocalDeviceMonitor
    private let mute: MuteState
    private let store: PreferenceStore?
    private let logger: Logger
    private var manager: ManagerObject?
    private var routerObject: RouterObject?
    private var callsObject: CallsObject?
    private var audioObject: AudioObject?
    private var headsetObjects: HeadsetObjects?
    private var nameRetry: Timer?
    private var isPowered = true
    /// bluetoothd has just appeared and may list its adapters later.
    private var adapterGrace: Timer?
    private var isActivationWanted = false

    /// - Parameters:
    ///   - registry: the mirror of BlueZ on the same bus.
    ///   - outside: sound cards and voice links.
    /// - Throws: what keeps the audio engine from starting.
    package init(
        configuration: Configuration, bus: BusConnection, registry: DeviceRegistry, outside: Outside, logger: Logger
    ) throws(DaemonError) {
        self.configuration = configuration
        self.bus = bus
        self.registry = registry
        self.outside = outside
        self.logger = logger
        store = configuration.stateDirectory.map { PreferenceStore(directory: $0) }
        problems = ProblemList(logger: logger)
        locals = LocalDeviceMonitor(
            wanted: Set(configuration.localDevices.keys), paths: outside.paths, problems: problems,
            interval: configuration.waits.localDevice)
        do throws(AudioEngineError) {
            var engineConfiguration = AudioEngineConfiguration()
            engineConfiguration.primeBlocks = configuration.callQueueBlocks
            let engine = try AudioEngine(engineConfiguration)
            let limit = configuration.routing.silentLimit
            graph = try Self.graph(engine, outside.paths, limit > .zero ? limit : nil, logger)
        } catch {
            throw DaemonError(
                what: "the audio engine does not start: \(error)", remedy: "see the limits of the process")
        }
        router = RouteController(
            policy: RoutingPolicy(configuration: configuration.routing, localDevices: locals.present), graph: graph,
            logger: logger)
        calls = CallDirectory(bus: bus, deadline: configuration.waits.provider, logger: logger)
        audio = CallAudio(graph: graph, logger: logger)
        let graph = graph
        mute = MuteState { graph.setMuted($0) }
        let gateway = Self.gateway(configuration)
        var registration = ProfileRegistration.Configuration.handsFreeAudioGateway(features: gateway.sdpFeatures)
        registration.retryInterval = configuration.waits.profile
        profile = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        let admission = LinkAdmission(
            opener: outside.opener, graph: graph, pause: configuration.routing.reopenPause, logger: logger)
        headsets = HeadsetDirectory(
            registry: registry, calls: calls, graph: graph, admission: admission, opener: outside.opener,
            configuration: gateway, logger: logger)
        self.admission = admission
        join()
        export()
    }

    private let admission: LinkAdmission

    private static func graph(
        _ engine: AudioEngine, _ paths: any PathOpening, _ limit: Duration?, _ logger: Logger
    ) throws(AudioEngineError) -> AudioGraph {
        do throws(SystemError) {
            return try AudioGraph(engine: engine, paths: paths, silentLimit: limit, logger: logger)
        } catch {
            throw .failed(call: error.call, code: error.code)
        }
    }

    private static func gateway(_ configuration: Configuration) -> AudioGatewayConfiguration {
        var gateway = AudioGatewayConfiguration()
        gateway.codecs = configuration.codecs
        gateway.networkOperator = configuration.operatorName
        // There is no ring tone in the audio link yet: a headset that is told of one would stay silent.
        gateway.features.remove(.inbandRing)
        if configuration.callDuration { gateway.features.insert(.callDuration) }
        return gateway
    }

    // MARK: Joining

    private func join() {
        router.links = headsets
        router.onNotice = { [weak self] notice in self?.routerObject?.show(notice) }
        graph.onEvent = { [weak self] event in self?.take(event) }
        calls.audio = audio
        calls.onRoutingEvent = { [weak self] event in self?.router.handle(event) }
        calls.onSnapshot = { [weak self] snapshot in
            self?.headsets.callsChanged(snapshot)
            if snapshot.calls.isEmpty { self?.mute.set(false) }
        }
        calls.onChange = { [weak self] change in self?.callsObject?.show(change) }
        headsets.onRoutingEvent = { [weak self] event in self?.router.handle(event) }
        headsets.onChange = { [weak self] change in self?.show(change) }
        locals.onFound = { [weak self] device in self?.router.handle(.localFound(device)) }
        registry.onEvent = { [weak self] event in self?.take(event) }
        profile.onState = { [weak self] state in self?.take(state) }
        profile.onConnection = { [weak self] address, _, descriptor, _ in self?.headsets.connected(address, descriptor)
        }
        profile.onDisconnectionRequest = { [weak self] address in
            self?.headsets.closeSession(address, "a user of this machine disconnected it")
        }
    }

    private func export() {
        bus.exportObjectManager(at: BTCallPath.manager)
        manager = ManagerObject(bus: bus, daemon: self, problems: problems)
        routerObject = RouterObject(
            bus: bus, router: router, describe: { [weak self] in self?.describeDevices() ?? [] },
            codec: { [weak self] in self?.graph.codec(ofLink: $0) },
            onPreference: { [weak self] in self?.keepPreferences() })
        callsObject = CallsObject(bus: bus, calls: calls, mute: mute)
        audioObject = AudioObject(bus: bus, graph: graph, audio: audio)
        headsetObjects = HeadsetObjects(bus: bus, headsets: headsets)
    }

    private func describeDevices() -> [DeviceDescription] {
        router.policy.devices(at: ControlLoop.now).compactMap { listing in
            guard let word = DeviceWord(listing.device.description) else { return nil }
            let headset = word.address.flatMap { headsets.description(of: $0) }
            return DeviceDescription(
                device: word, name: word.address.map { headsets.name(of: $0) } ?? word.description,
                isAvailable: listing.isAvailable, unavailableBecause: unavailability(listing, word),
                output: listing.output?.description, input: listing.input?.description, battery: headset?.battery,
                speakerVolume: headset.map { Int($0.speakerVolume) },
                microphoneVolume: headset.map { Int($0.microphoneVolume) }, codecs: headset?.codecs ?? [],
                category: word.address.flatMap { headsets.category(of: $0) }?.rawValue)
        }
    }

    /// What keeps a local device away is known better here than by the policy.
    private func unavailability(_ listing: RoutingPolicy.Listing, _ word: DeviceWord) -> String? {
        guard !listing.isAvailable else { return nil }
        if word.address == nil, configuration.localDevices[LocalDevice(rawValue: word.description) ?? .earpiece] == nil
        {
            return "not configured"
        }
        return problems.problems.first { $0.id == "device.\(word)" }?.what ?? listing.unavailableBecause
    }

    // MARK: Events

    private func take(_ event: AudioGraph.Event) {
        switch event {
        case .firstPacket(let address, let bytes):
            logger.debug("\(address): packets of \(bytes) bytes")
            admission.firstPacketCame(address)
        case .linkSilent(let address, let milliseconds):
            logger.notice("\(address): nothing received for \(milliseconds) ms")
            headsets.linkSilent(address)
            router.handle(.linkSilent(address))
        case .linkResumed(let address):
            headsets.linkResumed(address)
            router.handle(.linkResumed(address))
        case .linkLost(let address, let code): headsets.linkLost(address, code: code)
        case .linkClosed(let address): headsets.linkClosed(address)
        case .pathFailed(let error):
            locals.lost(error)
            router.handle(.localLost(error.device))
        case .callAudioClosed(let call): audio.closed(call)
        case .routed(let endpoint, let gap):
            logger.debug("audio is on \(endpoint?.description ?? "no device"), gap \(gap) µs")
            routerObject?.refresh()
        }
    }

    private func take(_ event: DeviceRegistry.Event) {
        switch event {
        case .serviceAppeared:
            problems.end("bluetoothd")
            awaitAdapters()
        case .serviceVanished: noteMissingService()
        case .adapterChanged, .adapterRemoved: noteAdapters()
        case .deviceChanged(let device):
            headsets.describe(device)
            routerObject?.refresh()
        case .deviceRemoved: break
        case .deviceDisconnected(let address, _): headsets.closeSession(address, "the radio link ended")
        }
    }

    private func awaitAdapters() {
        adapterGrace?.cancel()
        adapterGrace = ControlLoop.shared.schedule(after: configuration.waits.adapter) { [weak self] in
            self?.adapterGrace = nil
            self?.noteAdapters()
        }
        noteAdapters()
    }

    private func noteMissingService() {
        problems.begin(
            "bluetoothd", what: "bluetoothd is not on the bus",
            remedy: "start it (`systemctl start bluetooth`); calls use local devices meanwhile")
        problems.end("adapter")
        adapterGrace?.cancel()
        adapterGrace = nil
    }

    private func noteAdapters() {
        guard registry.isServicePresent else { return }
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
        case .appeared(let address): headsetObjects?.appeared(address)
        case .vanished(let address): headsetObjects?.vanished(address)
        case .changed(let address): headsetObjects?.changed(address)
        case .buttonPressed(let address, let button): headsetObjects?.buttonPressed(address, button)
        }
        routerObject?.refresh()
    }

    // MARK: Life

    /// Takes the name on the bus and, with `autostart`, begins to work.
    package func start() async {
        noteUnusedKeys()
        restorePreferences()
        if !registry.isServicePresent { noteMissingService() }
        if configuration.autostart {
            await activate()
            router.handle(.start)
        }
        await takeName()
    }

    package func activate() async {
        isActivationWanted = true
        guard state == .inactive else { return }
        state = .activating
        calls.acceptsProviders = true
        profile.start()
        state = .active
        logger.notice("active")
    }

    package func deactivate() async {
        isActivationWanted = false
        guard state == .active else { return }
        state = .deactivating
        calls.acceptsProviders = false
        calls.releaseProviders()
        headsets.closeAll()
        await profile.stop()
        state = .inactive
        logger.notice("inactive")
        // Asked for while the profiles were taken back.
        if isActivationWanted { await activate() }
    }

    /// Ends everything in order; calls of providers end with `providerGone`.
    package func stop() async {
        await deactivate()
        nameRetry?.cancel()
        adapterGrace?.cancel()
        locals.stop()
        bus.releaseName(BTCallName.bus)
        graph.close()
        bus.flush()
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

    /// Keys that a later version acts on: whoever sets one should not wait for an effect.
    private func noteUnusedKeys() {
        for kind in LocalDevice.allCases {
            guard let card = configuration.localDevices[kind] else { continue }
            for (key, value) in [("mixer", card.mixer), ("jack", card.jack)] where value != nil {
                logger.notice("[device \(kind.rawValue)] \(key) has no effect yet: set it outside of btcalld")
            }
        }
    }

    // MARK: Preferences

    private func restorePreferences() {
        guard let store else { return }
        do throws(ConfigurationError) {
            let kept = try store.load()
            if let device = kept.preferred.flatMap({ AudioDevice(parsing: $0) }) {
                router.handle(.setPreferred(device))
            }
            if let device = kept.standard.flatMap({ AudioDevice(parsing: $0) }) { router.handle(.setDefault(device)) }
        } catch {
            logger.error("preferences are not restored: \(error)")
        }
    }

    private func keepPreferences() {
        guard let store else { return }
        let policy = router.policy
        do throws(PreferenceStore.Failure) {
            try store.save(
                PreferenceStore.Preferences(
                    preferred: policy.preferred.description, standard: policy.defaultDevice.description))
            problems.end("state")
        } catch {
            problems.begin("state", what: "preferences are not kept", remedy: "\(error)")
        }
    }
}

/// Why the daemon cannot start, and what to do.
package struct DaemonError: Error, CustomStringConvertible {
    package let what: String
    package let remedy: String

    package var description: String { "\(what); \(remedy)" }
}
