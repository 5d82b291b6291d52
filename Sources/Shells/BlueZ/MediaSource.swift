package import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// The A2DP source of this box towards bluetoothd (`org.bluez.Media1`, `MediaEndpoint1`, `MediaTransport1`): one SBC endpoint
/// on every adapter, the streams that are set up with it, and a player that takes the headsets' buttons for music.
///
/// It registers by itself on each adapter and whenever bluetoothd, the bus or an adapter comes back. A headset's stream is
/// *configured* from the moment at which bluetoothd has set it up until it is *cleared*; that is the A2DP connection, and
/// `transport(of:)` has it. Sound can be sent while it is acquired: `acquire(_:)` starts the stream at the headset,
/// `release(_:)` suspends it.
///
/// - An acquired stream is lost when the headset suspends it (`stateChanged` to anything but `.active`), when it is cleared,
///   or when bluetoothd goes: all of them end the acquisition, `release(_:)` is not needed then, and the descriptor is worth
///   nothing any more. The order of events: `stateChanged(.active)` follows the return of `acquire(_:)`.
/// - A headset that starts by itself is `.pending`: `acquire(_:)` then takes the running stream.
/// - `volumeChanged` comes for the headset's changes and for the outcome of ours alike.
/// - Streams that another program's endpoint has are `foreign`: they cannot be acquired here, and bluetoothd sets up one at a
///   time with a headset. `foreignPlaying` tells when they begin and end.
///
/// Everything happens on the control loop. Events come after the state has changed.
@ControlPlane
package final class MediaSource {
    package enum Event: Equatable, Sendable {
        /// A2DP of this headset is connected; `transport(of:)` has the stream.
        case configured(BluetoothAddress)
        /// A2DP of this headset is not connected any more.
        case cleared(BluetoothAddress)
        case stateChanged(BluetoothAddress, TransportState)
        /// 0…127
        case volumeChanged(BluetoothAddress, Int)
        case delayChanged(BluetoothAddress, Duration)
        case buttonPressed(MediaButton)
        /// Another program has the headset's A2DP stream; nil: none that is known to.
        case foreign(BluetoothAddress, owner: BusPeer?)
        case foreignPlaying(BluetoothAddress, Bool)
        case foreignGone(BluetoothAddress)
        /// An adapter has not taken the endpoint or the player; tried again by itself where that makes sense.
        case refused(MediaRefusal)
        /// An adapter has taken the endpoint.
        case registered
        case playerRegistered
    }

    enum Phase {
        case stopped
        case absent
        /// What changes while the tree is being read is kept.
        case reading(owner: String, attempt: Int, changes: [ObjectMirror.Change])
        case present(owner: String)
    }

    /// How far the registration of one part on one adapter has come.
    enum Registration {
        case asked(attempt: Int)
        case registered
        /// Not asked again before bluetoothd or the adapter comes back, or the adapter gets `org.bluez.Media1`.
        case refused(hadMedia: Bool)
        case pausing(Timer)
    }

    struct RegistrationKey: Hashable, Comparable {
        let adapter: String
        let part: MediaRefusal.Part
        /// bluetoothd sets up one stream with each endpoint: the first, and spare ones for further headsets.
        var number = 0

        static func < (left: Self, right: Self) -> Bool {
            (left.adapter, left.part.rawValue, left.number) < (right.adapter, right.part.rawValue, right.number)
        }
    }

    /// On one adapter: as many headsets can have A2DP at once.
    static let mostEndpoints = 6

    /// What we have of one of our transports.
    enum Holding {
        case acquiring(PendingAcquisition)
        case held
        case releasing(Task<Void, Never>)
    }

    /// A transport that is not ours.
    struct Foreigner {
        let address: BluetoothAddress
        /// Whether bluetoothd has been asked since it appeared: until then its `SetConfiguration` may be on the way to us.
        var isCertain = false
        var owner: BusPeer?
        var isTold = false
        var isPlaying = false
    }

    static let readTimeout = Duration.seconds(10)
    static let callTimeout = Duration.seconds(10)
    static let farewellTimeout = Duration.seconds(2)
    static let changesWhileReading = 2048

    /// Of streams that are set up from here on.
    package var quality: SBCQuality
    package var onEvent: (@ControlPlane (Event) -> Void)?
    /// Between two attempts after bluetoothd has failed to register something.
    let retryInterval: Duration
    /// How long a headset may take to start its stream; bluetoothd itself gives up after 20 s.
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
    /// Adapters that bluetoothd has refused `DelayReporting` on.
    var withoutDelay: Set<String> = []
    /// Adapters whose objects are on the bus.
    var exported: Set<String> = []
    /// Ours, by object path.
    var transports: [String: Transport] = [:]
    var holdings: [String: Holding] = [:]
    /// By object path.
    var foreigners: [String: Foreigner] = [:]
    /// Transports of ours that we have refused or that are cleared, and that are still in the tree.
    var discarded: Set<String> = []
    var isPlaying = false
    /// Endpoints and players are being taken back.
    var withdrawal: Task<Void, Never>?
    /// Whether headsets are offered A2DP; what other programs stream to them is followed all the same. Without it the streams
    /// are cleared at once, and bluetoothd disconnects A2DP.
    package var isServing = true {
        didSet { if isServing != oldValue { followServing() } }
    }

    /// - Parameters:
    ///   - registry: for the names of headsets in messages.
    ///   - path: above the objects of all adapters.
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

    /// Follows bluetoothd, and registers as soon as it is there. Set `onEvent` before.
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

    /// Releases what is acquired and takes the endpoints and players back, with which bluetoothd disconnects A2DP. Returns when
    /// it has answered, or after two seconds each. No event follows but `cleared` and `foreignGone`.
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

    /// The stream that is set up with this headset; nil without A2DP, and where another program has it.
    package func transport(of address: BluetoothAddress) -> Transport? {
        let known = transports.values.filter { $0.address == address }.sorted { $0.path < $1.path }
        // A headset that two adapters have streams with: the one that runs.
        return known.first { $0.state != .idle } ?? known.first
    }

    /// Headsets with a stream of ours, by address.
    package var configured: [BluetoothAddress] {
        Set(transports.values.map(\.address)).sorted()
    }

    /// bluetoothd has taken our endpoint on an adapter.
    package var isRegistered: Bool {
        registrations.contains { key, value in
            if key.part == .endpoint, case .registered = value { true } else { false }
        }
    }

    /// Tells headsets whether music plays, so that their one button means the right thing.
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

    /// The unique name of bluetoothd, while it is there.
    var owner: String? {
        switch phase {
        case .stopped, .absent: nil
        case .reading(let owner, _, _), .present(let owner): owner
        }
    }
}

// What bluetoothd tells.
extension MediaSource {
    private func ownerChanged(_ owner: String?) {
        if case .stopped = phase { return }
        phase = .absent
        forgetEverything()
        if let owner { read(owner) }
    }

    /// Everything that bluetoothd knew of us and we of it.
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
        // Signals of other forms are for `DeviceRegistry` to complain about, which gets them as well.
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
        // `DeviceRegistry` complains of what is wrong with adapters.
        for problem in problems { logger.warning("ignored what bluetoothd sent: \(problem)") }
    }

    /// Brings registrations and streams up to date with the tree.
    func refresh() {
        refreshRegistrations()
        refreshTransports(.gone)
    }
}
