package import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// The A2DP source of this box towards bluetoothd (`org.bluez.Media1`, `MediaEndpoint1`, `MediaTransport1`): one SBC
/// endpoint on every adapter, the streams that are set up with it, and a player that receives the headsets' music buttons.
///
/// Registers on each adapter, and again whenever bluetoothd, the bus or an adapter comes back. A headset's stream is
/// *configured* from the moment at which bluetoothd has set it up until it is *cleared*; that is the A2DP connection, and
/// `transport(of:)` returns it. Sound can be sent while the stream is acquired: `acquire(_:)` starts it at the headset,
/// `release(_:)` suspends it.
///
/// - An acquired stream is lost when the headset suspends it (`stateChanged` to anything but `.active`), when it is cleared,
///   or when bluetoothd leaves: each of these ends the acquisition, makes `release(_:)` unnecessary and the descriptor
///   useless. The order of events: `stateChanged(.active)` follows the return of `acquire(_:)`.
/// - A stream that a headset starts is `.pending`: `acquire(_:)` then takes the running stream.
/// - `volumeChanged` reports the headset's changes and the results of ours alike.
/// - Streams of another program's endpoint are `foreign`: they cannot be acquired here, and bluetoothd sets up one stream at
///   a time with a headset. `foreignPlaying` reports when they begin and end.
///
/// Everything happens on the control loop. Events come after the state has changed.
@ControlPlane
package final class MediaSource {
    package enum Event: Equatable, Sendable {
        /// A2DP of this headset is connected; `transport(of:)` returns the stream.
        case configured(BluetoothAddress)
        /// A2DP of this headset is disconnected.
        case cleared(BluetoothAddress)
        case stateChanged(BluetoothAddress, TransportState)
        /// 0…127
        case volumeChanged(BluetoothAddress, Int)
        case delayChanged(BluetoothAddress, Duration)
        case buttonPressed(MediaButton)
        /// Another program has the headset's A2DP stream; nil: an unknown program.
        case foreign(BluetoothAddress, owner: BusPeer?)
        case foreignPlaying(BluetoothAddress, Bool)
        case foreignGone(BluetoothAddress)
        /// An adapter has refused the endpoint or the player; retried where that makes sense.
        case refused(MediaRefusal)
        /// An adapter has accepted the endpoint.
        case registered
        case playerRegistered
    }

    enum Phase {
        case stopped
        case absent
        /// Changes during the reading are kept.
        case reading(owner: String, attempt: Int, changes: [ObjectMirror.Change])
        case present(owner: String)
    }

    /// State of the registration of one part on one adapter.
    enum Registration {
        case asked(attempt: Int)
        case registered
        /// Not retried before bluetoothd or the adapter comes back, or the adapter gets `org.bluez.Media1`.
        case refused(hadMedia: Bool)
        case pausing(Timer)
    }

    struct RegistrationKey: Hashable, Comparable {
        let adapter: String
        let part: MediaRefusal.Part
        /// bluetoothd sets up one stream with each endpoint: 0 is the first, higher numbers serve further headsets.
        var number = 0

        static func < (left: Self, right: Self) -> Bool {
            (left.adapter, left.part.rawValue, left.number) < (right.adapter, right.part.rawValue, right.number)
        }
    }

    /// Endpoints on one adapter: as many headsets can have A2DP at once.
    static let mostEndpoints = 6

    /// Acquisition state of one of our transports.
    enum Acquisition {
        case acquiring(PendingAcquisition)
        case held
        case releasing(Task<Void, Never>)
    }

    /// A transport of another program.
    struct Foreigner {
        let address: BluetoothAddress
        /// Whether bluetoothd has answered a call since it appeared: until then its `SetConfiguration` may be on the way to
        /// us.
        var isCertain = false
        var owner: BusPeer?
        var isReported = false
        var isPlaying = false
    }

    static let readTimeout = Duration.seconds(10)
    static let callTimeout = Duration.seconds(10)
    static let unregisterTimeout = Duration.seconds(2)
    static let changesWhileReading = 2048

    /// Quality of streams that are set up from now on.
    package var quality: SBCQuality
    package var onEvent: (@ControlPlane (Event) -> Void)?
    /// Time between two attempts after bluetoothd has failed to register something.
    let retryInterval: Duration
    /// Timeout for a headset to start its stream; bluetoothd itself gives up after 20 s.
    let acquireTimeout: Duration

    let bus: BusConnection
    let registry: DeviceRegistry
    let logger: Logger
    let path: String
    var phase = Phase.stopped
    var mirror = ObjectMirror(ObjectMirror.media)
    var subscriptions: [Subscription] = []
    var attempts = 0
    var registrations: [RegistrationKey: Registration] = [:]
    /// Adapters where bluetoothd has refused `DelayReporting`.
    var withoutDelay: Set<String> = []
    /// Adapters whose objects are on the bus.
    var exported: Set<String> = []
    /// Our transports, by object path.
    var transports: [String: Transport] = [:]
    var acquisitions: [String: Acquisition] = [:]
    /// By object path.
    var foreigners: [String: Foreigner] = [:]
    /// Transports of ours that were refused or cleared, but are still in the tree.
    var discarded: Set<String> = []
    var isPlaying = false
    /// Endpoints and players are being withdrawn.
    var withdrawal: Task<Void, Never>?
    /// Whether headsets are offered A2DP; streams of other programs are followed in any case. Switching it off clears the
    /// streams at once, and bluetoothd disconnects A2DP.
    package var isServing = true {
        didSet { if isServing != oldValue { followServing() } }
    }

    /// - Parameters:
    ///   - registry: for the names of headsets in messages.
    ///   - path: parent of the objects of all adapters.
    package init(
        bus: BusConnection, registry: DeviceRegistry, quality: SBCQuality = .standard,
        logger: Logger = Logger(label: "btcall.bluez"), path: String = "/org/btcall/media",
        retryInterval: Duration = .seconds(30), acquireTimeout: Duration = .seconds(10)
    ) {
        self.bus = bus
        self.registry = registry
        self.quality = quality
        self.logger = logger
        self.path = path
        self.retryInterval = retryInterval
        self.acquireTimeout = acquireTimeout
    }

    isolated deinit {
        for subscription in subscriptions { subscription.cancel() }
        for case .pausing(let timer) in registrations.values { timer.cancel() }
    }

    /// Follows bluetoothd, and registers as soon as it is on the bus. Set `onEvent` before.
    package func start() {
        guard case .stopped = phase else { return }
        phase = .absent
        let service = BlueZNames.service
        subscriptions = [
            bus.subscribe(sender: service, interface: BlueZNames.objectManager) { [weak self] in self?.received($0) },
            bus.subscribe(
                sender: service, interface: BlueZNames.properties, argument0: BlueZNames.mediaTransport
            ) { [weak self] in self?.received($0) },
            bus.watchName(service) { [weak self] in self?.ownerChanged($0) },
        ]
    }

    /// Releases acquired streams and withdraws endpoints and players, which makes bluetoothd disconnect A2DP. Returns when
    /// bluetoothd has answered, or after two seconds each. Only `cleared` and `foreignGone` may follow.
    package func stop() async {
        if case .stopped = phase { return }
        let owner = self.owner
        for path in transports.keys.sorted() { await release(path: path) }
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        phase = .stopped
        let registered = registrations.keys.sorted()
        forgetEverything()
        if let owner { await unregister(registered, with: owner) }
    }

    /// Our stream with this headset; nil without A2DP, and if another program has it.
    package func transport(of address: BluetoothAddress) -> Transport? {
        let known = transports.values.filter { $0.address == address }.sorted { $0.path < $1.path }
        // If two adapters have streams with the headset: the running one.
        return known.first { $0.state != .idle } ?? known.first
    }

    /// Headsets with a stream of ours, by address.
    package var configured: [BluetoothAddress] {
        Set(transports.values.map(\.address)).sorted()
    }

    /// Whether bluetoothd has registered our endpoint on an adapter.
    package var isRegistered: Bool {
        registrations.contains { key, value in
            if key.part == .endpoint, case .registered = value { true } else { false }
        }
    }

    /// Informs headsets whether music plays, so that a single play/pause button sends the right command.
    package func setPlaying(_ isPlaying: Bool) {
        guard self.isPlaying != isPlaying else { return }
        self.isPlaying = isPlaying
        for adapter in exported.sorted() {
            bus.propertiesChanged(
                path: object(RegistrationKey(adapter: adapter, part: .player)), interface: BlueZNames.player,
                ["PlaybackStatus"])
        }
    }

    func emit(_ event: Event) { onEvent?(event) }

    /// `Name (AA:BB:CC:DD:EE:FF)`, for messages.
    func describe(_ address: BluetoothAddress) -> String {
        registry.device(address).map { "\($0.name) (\(address))" } ?? "\(address)"
    }

    /// The unique name of bluetoothd, while it is on the bus.
    var owner: String? {
        switch phase {
        case .stopped, .absent: nil
        case .reading(let owner, _, _), .present(let owner): owner
        }
    }
}

// Events of bluetoothd.
extension MediaSource {
    private func ownerChanged(_ owner: String?) {
        if case .stopped = phase { return }
        phase = .absent
        forgetEverything()
        if let owner { read(owner) }
    }

    /// Drops all state that bluetoothd and we shared.
    private func forgetEverything() {
        for case .pausing(let timer) in registrations.values { timer.cancel() }
        registrations = [:]
        withoutDelay = []
        mirror = ObjectMirror(ObjectMirror.media)
        discarded = []
        refreshTransports(.serviceAbsent)
        for adapter in exported.sorted() { unexport(adapter) }
    }

    private func read(_ owner: String) {
        attempts += 1
        let attempt = attempts
        phase = .reading(owner: owner, attempt: attempt, changes: [])
        bus.send(
            owner, "/", BlueZNames.objectManager, "GetManagedObjects", timeout: Self.readTimeout
        ) { [weak self] in self?.finishReading(attempt, $0) }
    }

    private func finishReading(_ expected: Int, _ result: Result<[Value], BusError>) {
        guard case .reading(let owner, let attempt, let changes) = phase, attempt == expected else { return }
        switch result {
        case .success(let values):
            var problems = values.first.map { mirror.replace(with: $0) } ?? ["GetManagedObjects: an empty answer"]
            for change in changes { problems += mirror.apply(change).problems }
            log(problems)
            phase = .present(owner: owner)
            refresh()
        case .failure(let error):
            logger.warning("bluetoothd does not list its adapters, trying again: \(error)")
            ControlLoop.shared.schedule(after: .seconds(1)) { [weak self] in
                guard let self, case .reading(owner, attempt, _) = phase else { return }
                read(owner)
            }
        }
    }

    private func received(_ signal: BusSignal) {
        // `DeviceRegistry` receives malformed signals as well, and logs them.
        guard let change = try? ObjectMirror.change(of: signal) else { return }
        switch phase {
        case .stopped, .absent: return
        case .reading(let owner, let attempt, var changes):
            guard signal.sender == owner else { return }
            guard changes.count < Self.changesWhileReading else { return read(owner) }
            changes.append(change)
            phase = .reading(owner: owner, attempt: attempt, changes: changes)
        case .present(let owner):
            guard signal.sender == owner else { return }
            apply(change)
        }
    }

    func apply(_ change: ObjectMirror.Change) {
        let (isDifferent, problems) = mirror.apply(change)
        log(problems)
        if isDifferent { refresh() }
    }

    private func log(_ problems: [String]) {
        // `DeviceRegistry` logs what is wrong with adapters.
        for problem in problems { logger.warning("ignored what bluetoothd sent: \(problem)") }
    }

    /// Updates registrations and streams from the tree.
    func refresh() {
        refreshRegistrations()
        refreshTransports(.gone)
    }
}
