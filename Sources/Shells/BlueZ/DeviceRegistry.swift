package import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// A live mirror of BlueZ's adapters and devices, on the control loop.
///
/// Reads the whole tree when `org.bluez` gets an owner and follows the signals from then on. Properties without the
/// documented type are left out with a line in the log.
@ControlPlane
package final class DeviceRegistry {
    /// bluetoothd's name on the bus.
    package nonisolated static let serviceName = BlueZNames.service
    package enum Event: Equatable, Sendable {
        /// bluetoothd is on the bus and the lists are filled; events for each adapter and device follow.
        case serviceAppeared
        /// The first answer of the bus shows that bluetoothd is absent.
        case serviceMissing
        /// bluetoothd has gone and the lists are empty. That alone is no loss of a headset: its descriptors may stay valid.
        case serviceVanished
        case adapterChanged(Adapter)
        case adapterRemoved(path: String)
        /// The device is new, or a property has changed.
        case deviceChanged(Device)
        /// No adapter knows this address any more.
        case deviceRemoved(BluetoothAddress)
        /// The last radio link to the device ended. If BlueZ gives a reason, a second event with it follows.
        case deviceDisconnected(BluetoothAddress, reason: DisconnectionReason?)
    }

    private enum State {
        /// The bus has not answered yet.
        case unknown
        case absent
        /// Changes during the reading are kept, because reply and signals may be delivered out of order.
        case reading(owner: String, changes: [ObjectMirror.Change])
        case present(owner: String)
    }

    private static let readTimeout = Duration.seconds(10)
    private static let retryPause = Duration.seconds(1)
    private static let changesWhileReading = 2048

    /// Ordered by address.
    package private(set) var adapters: [Adapter] = []
    /// Ordered by address; a device known to two adapters appears once for each, ordered by path.
    package private(set) var devices: [Device] = []
    /// Sent after the lists have changed, in the order of the lists.
    package let events = Signal<Event>()

    let bus: BusConnection
    private let logger: Logger
    private var state = State.unknown
    private var mirror = ObjectMirror()
    private var subscriptions: [Subscription] = []

    /// Whether bluetoothd is on the bus and its objects are known.
    package var isServicePresent: Bool {
        switch state {
        case .present: true
        case .unknown, .absent, .reading: false
        }
    }

    /// Starts to follow `org.bluez`; subscribe to `events` before the next suspension.
    package init(bus: BusConnection, logger: Logger = Logger(label: "btcall.bluez")) {
        self.bus = bus
        self.logger = logger
        let service = BlueZNames.service
        subscriptions = [
            bus.subscribe(sender: service, interface: BlueZNames.objectManager) { [weak self] in self?.received($0) },
            bus.subscribe(sender: service, interface: BlueZNames.properties) { [weak self] in self?.received($0) },
            bus.subscribe(sender: service, interface: BlueZNames.device) { [weak self] in self?.received($0) },
            bus.subscribe(sender: service, interface: BlueZNames.bearer) { [weak self] in self?.received($0) },
            bus.watchName(service) { [weak self] in self?.ownerChanged($0) },
        ]
    }

    isolated deinit {
        for subscription in subscriptions { subscription.cancel() }
    }

    /// The device with this address; of several: a connected one, otherwise a paired one, otherwise the first.
    package func device(_ address: BluetoothAddress) -> Device? {
        let known = devices.filter { $0.address == address }
        return known.first(where: \.connected) ?? known.first(where: \.paired) ?? known.first
    }

    /// The adapter with this object path.
    package func adapter(path: String) -> Adapter? {
        adapters.first { $0.path == path }
    }

    private func ownerChanged(_ owner: String?) {
        let wasPresent = isServicePresent
        let isNews = if case .unknown = state { true } else { false }
        state = .absent
        mirror = ObjectMirror()
        adapters = []
        devices = []
        if wasPresent {
            logger.warning("bluetoothd has left the bus: start it with `systemctl start bluetooth`")
            events.send(.serviceVanished)
        }
        if let owner {
            read(owner)
        } else if isNews {
            events.send(.serviceMissing)
        }
    }

    private func read(_ owner: String) {
        state = .reading(owner: owner, changes: [])
        bus.send(
            owner, "/", BlueZNames.objectManager, "GetManagedObjects", timeout: Self.readTimeout
        ) { [weak self] in self?.finishReading(owner, $0) }
    }

    private func finishReading(_ expected: String, _ result: Result<[Value], BusError>) {
        guard case .reading(let owner, let changes) = state, owner == expected else { return }
        switch result {
        case .success(let values):
            var problems = values.first.map { mirror.replace(with: $0) } ?? ["GetManagedObjects: an empty answer"]
            for change in changes { problems += mirror.apply(change).problems }
            log(problems)
            state = .present(owner: owner)
            (adapters, devices) = tree()
            let appeared = (adapters, devices)
            logger.info("bluetoothd is on the bus: \(adapters.count) adapters, \(devices.count) devices")
            events.send(.serviceAppeared)
            for adapter in appeared.0 { events.send(.adapterChanged(adapter)) }
            for device in appeared.1 { events.send(.deviceChanged(device)) }
        case .failure(let error):
            logger.warning("bluetoothd does not list its devices, trying again: \(error)")
            ControlLoop.shared.schedule(after: Self.retryPause) { [weak self] in
                guard let self, case .reading(owner, _) = state else { return }
                read(owner)
            }
        }
    }

    private func received(_ signal: BusSignal) {
        guard let change = change(of: signal) else { return }
        switch state {
        case .unknown, .absent: return
        case .reading(let owner, var changes):
            guard signal.sender == owner else { return }
            guard changes.count < Self.changesWhileReading else { return read(owner) }
            changes.append(change)
            state = .reading(owner: owner, changes: changes)
        case .present(let owner):
            guard signal.sender == owner else { return }
            let (isDifferent, problems) = mirror.apply(change)
            log(problems)
            if isDifferent { publish() }
            if case .disconnected(let path, let reason) = change, let address = BluetoothAddress(devicePath: path) {
                events.send(.deviceDisconnected(address, reason: reason))
            }
        }
    }

    private func change(of signal: BusSignal) -> ObjectMirror.Change? {
        do throws(ObjectMirror.MalformedSignal) {
            return try ObjectMirror.change(of: signal)
        } catch {
            log(["\(error)"])
            return nil
        }
    }

    private func log(_ problems: [String]) {
        for problem in problems { logger.warning("ignored what bluetoothd sent: \(problem)") }
    }

    private func tree() -> ([Adapter], [Device]) {
        var adapters: [Adapter] = []
        var devices: [Device] = []
        for (path, interfaces) in mirror.objects {
            if let adapter = interfaces[BlueZNames.adapter].flatMap({ Adapter(path: path, properties: $0) }) {
                adapters.append(adapter)
            }
            let battery = interfaces[BlueZNames.battery]
            if let device = interfaces[BlueZNames.device]
                .flatMap({ Device(path: path, properties: $0, battery: battery) })
            {
                devices.append(device)
            }
        }
        adapters.sort { ($0.address, $0.path) < ($1.address, $1.path) }
        devices.sort { ($0.address, $0.path) < ($1.address, $1.path) }
        return (adapters, devices)
    }

    /// Updates the lists from the mirror, then sends the differences.
    private func publish() {
        let (oldAdapters, oldDevices) = (adapters, devices)
        let (newAdapters, newDevices) = tree()
        (adapters, devices) = (newAdapters, newDevices)
        var events: [Event] = []
        for old in oldAdapters where !newAdapters.contains(where: { $0.path == old.path }) {
            events.append(.adapterRemoved(path: old.path))
        }
        for new in newAdapters where !oldAdapters.contains(new) { events.append(.adapterChanged(new)) }
        // Somebody in range can make bluetoothd know thousands of devices: use look-ups, no searches.
        let known = Dictionary(uniqueKeysWithValues: oldDevices.map { ($0.path, $0) })
        for new in newDevices where known[new.path] != new { events.append(.deviceChanged(new)) }
        let there = Set(newDevices.map(\.address))
        let connected = Set(newDevices.filter(\.connected).map(\.address))
        let wereConnected = Set(oldDevices.filter(\.connected).map(\.address))
        // An address known to two adapters is reported once.
        var previous: BluetoothAddress?
        for old in oldDevices where old.address != previous {
            previous = old.address
            if wereConnected.contains(old.address), !connected.contains(old.address) {
                events.append(.deviceDisconnected(old.address, reason: nil))
            }
            if !there.contains(old.address) { events.append(.deviceRemoved(old.address)) }
        }
        for event in events { self.events.send(event) }
    }
}
