import BlueZ
import BluetoothSockets
import BluetoothTypes
import ControlLoop
import DBus
import Diagnostics
import Logging
import Talk

/// One device with a talk key on a serial port or in notifications. While it is away, btcalld asks bluetoothd to connect it,
/// at growing intervals.
@ControlPlane
final class TalkDevice {
    /// Most times that the pause between two attempts is doubled.
    private static let mostDoublings = 5

    let row: TalkRow
    private let address: BluetoothAddress
    private let key: TalkKeyID
    private let bus: BusConnection
    private let registry: DeviceRegistry
    private let keys: TalkKeys
    private let logger: Logger

    private enum Way {
        case none
        /// Notifications are being started.
        case starting
        case notifications(CharacteristicNotifications)
        case stream(RFCOMMChannel)
    }

    private var way = Way.none
    private var serial: SerialTalkReader?
    private let notification: NotificationTalkReader?
    private var retry: Timer?
    private let firstPause: Duration
    private var failures = 0
    private var pause: Duration { firstPause * (1 << min(failures, Self.mostDoublings)) }
    private var isConnecting = false
    private var isStopped = false
    /// The last line of the log; it is not repeated while the device stays away.
    private var said: String?

    init(
        _ address: BluetoothAddress, _ row: TalkRow, _ bus: BusConnection, _ registry: DeviceRegistry,
        _ keys: TalkKeys, pause: Duration, _ logger: Logger
    ) {
        firstPause = pause
        self.address = address
        self.row = row
        self.bus = bus
        self.registry = registry
        self.keys = keys
        self.logger = logger.about(headset: address)
        key = TalkKeyID(.button, address)
        serial = SerialTalkReader(row)
        notification = NotificationTalkReader(row)
    }

    /// Whether it is a device with a serial port of this service.
    func takes(_ wanted: ServiceUUID) -> Bool {
        if case .serial(wanted, _, _) = row.reading { true } else { false }
    }

    func stop() {
        isStopped = true
        retry?.cancel()
        retry = nil
        switch way {
        case .notifications(let notifications): notifications.stop()
        case .stream(let channel): channel.close()
        case .none, .starting: break
        }
        way = .none
        keys.remove(key)
    }

    /// The radio link, or the stream, has ended.
    func lost() {
        switch way {
        case .notifications(let notifications): notifications.drop()
        case .stream(let channel): channel.close()
        case .none, .starting: break
        }
        way = .none
        serial?.reset()
        keys.remove(key)
        connectSoon()
    }

    /// Handles a changed device of bluetoothd's.
    func follow(_ device: DeviceRegistry.Device) {
        guard device.connected else { return connectSoon() }
        guard row.protocol == .notification else { return connectSoon() }
        guard device.servicesResolved, case .none = way else { return }
        way = .starting
        Task { @ControlPlane in await startNotifications(device.path) }
    }

    // MARK: Connecting

    func connectSoon() {
        guard !isStopped, retry == nil, !isConnecting, case .none = way else { return }
        retry = ControlLoop.shared.schedule(after: pause) { [weak self] in
            guard let self else { return }
            retry = nil
            Task { @ControlPlane in await self.connect() }
        }
    }

    private func connect() async {
        guard !isStopped, case .none = way, let device = registry.device(address) else { return }
        // bluetoothd connects Low Energy devices that are trusted, as headsets.
        guard device.trusted || device.connected else { return }
        if row.protocol == .notification, device.connected { return follow(device) }
        isConnecting = true
        do throws(DeviceCallError) {
            if case .serial(let service, _, _) = row.reading {
                try await registry.connectProfile(service, of: address)
            } else {
                try await registry.connect(address)
            }
            failures = 0
        } catch {
            failures += 1
            say("not connected yet: \(error)")
        }
        isConnecting = false
        connectSoon()
    }

    private func say(_ text: String) {
        guard text != said else { return }
        said = text
        logger.info("\(key): \(text)")
    }

    // MARK: Serial port

    func connected(_ channel: RFCOMMChannel) {
        if case .stream(let old) = way {
            old.close()
            keys.remove(key)
        }
        retry?.cancel()
        retry = nil
        failures = 0
        said = nil
        way = .stream(channel)
        channel.onBytes = { [weak self] bytes in
            guard let self else { return }
            for signal in serial?.read(bytes) ?? [] { keys.signal(signal, from: key) }
        }
        channel.onClosed = { [weak self] _ in self?.lost() }
        keys.add(key)
    }

    // MARK: Notifications

    private func startNotifications(_ path: String) async {
        guard case .notification(let service, let characteristic, _, _) = row.reading else { return }
        do throws(DeviceCallError) {
            let all = try await GATTCharacteristic.notifying(of: path, on: bus)
            guard let found = all.first(where: { $0.service == service && $0.uuid == characteristic }) else {
                return fail(
                    "it has no characteristic \(characteristic.notationInRow) that notifies: see its row \(row.name)")
            }
            let notifications = CharacteristicNotifications(of: found, on: bus)
            notifications.onValue = { [weak self] value in
                guard let self, let signal = notification?.read(value) else { return }
                keys.signal(signal, from: key)
            }
            try await notifications.start()
            guard !isStopped, case .starting = way else { return notifications.stop() }
            way = .notifications(notifications)
            failures = 0
            said = nil
            keys.add(key)
        } catch {
            fail("its notifications do not start: \(error)")
        }
    }

    private func fail(_ text: String) {
        guard case .starting = way else { return }
        way = .none
        failures += 1
        say(text)
        connectSoon()
    }
}
