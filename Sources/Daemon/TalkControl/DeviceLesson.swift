import BlueZ
import BluetoothSockets
import BluetoothTypes
import ControlLoop
import DBus
import Diagnostics
import Logging
import Talk

/// Listens to everything that a device says in a lesson: its serial port, and all characteristics that notify.
@ControlPlane
final class DeviceLesson {
    /// Services whose notifications are no keys: Generic Access, Generic Attribute, Device Information, Battery.
    private static let others: [ServiceUUID] = [0x1800, 0x1801, 0x180A, 0x180F].map { ServiceUUID(short: $0) }
    private static let mostCharacteristics = 16

    let address: BluetoothAddress
    private let bus: BusConnection
    private let registry: DeviceRegistry
    private let logger: Logger
    private let heard: @ControlPlane (TalkLesson.Observation) -> Void
    private var channel: RFCOMMChannel?
    private var notifications: [CharacteristicNotifications] = []
    private var isListing = false
    private var isConnecting = false
    private var isStopped = false

    init(
        _ address: BluetoothAddress, _ bus: BusConnection, _ registry: DeviceRegistry, _ logger: Logger,
        heard: @escaping @ControlPlane (TalkLesson.Observation) -> Void
    ) {
        self.address = address
        self.bus = bus
        self.registry = registry
        self.logger = logger.about(headset: address)
        self.heard = heard
    }

    func stop() {
        isStopped = true
        channel?.close()
        channel = nil
        for each in notifications { each.stop() }
        notifications = []
    }

    /// Connects the device once, and listens to what it has.
    func follow(_ device: DeviceRegistry.Device) {
        guard device.connected else {
            for each in notifications { each.drop() }
            notifications = []
            return connect(device)
        }
        if device.uuids.contains(.serialPort), channel == nil { connect(device) }
        guard device.servicesResolved, !isListing, notifications.isEmpty else { return }
        isListing = true
        Task { @ControlPlane in await listen(device.path) }
    }

    private func connect(_ device: DeviceRegistry.Device) {
        guard !isConnecting else { return }
        isConnecting = true
        Task { @ControlPlane in
            do throws(DeviceCallError) {
                if device.connected {
                    try await registry.connectProfile(.serialPort, of: address)
                } else {
                    try await registry.connect(address)
                }
            } catch {
                // What the device says otherwise is still heard.
                logger.info("\(address): not connected for the lesson: \(error)")
            }
        }
    }

    /// - Throws: why the connection is not used.
    func connected(_ descriptor: PassedDescriptor, by service: ServiceUUID) throws(ConnectionRefusal) {
        do throws(SystemError) {
            let channel = try RFCOMMChannel(descriptor: descriptor.take())
            channel.onBytes = { [weak self] bytes in self?.heard(.serial(service: service, bytes)) }
            channel.onClosed = { [weak self] _ in self?.channel = nil }
            self.channel?.close()
            self.channel = channel
        } catch {
            throw ConnectionRefusal("the connection cannot be used: \(error)")
        }
    }

    private func listen(_ path: String) async {
        defer { isListing = false }
        do throws(DeviceCallError) {
            let all = try await GATTCharacteristic.notifying(of: path, on: bus)
            for each in all.filter({ !Self.others.contains($0.service) }).prefix(Self.mostCharacteristics) {
                guard !isStopped else { return }
                let listener = CharacteristicNotifications(of: each, on: bus)
                listener.onValue = { [weak self] value in
                    self?.heard(.notification(service: each.service, characteristic: each.uuid, value))
                }
                try await listener.start()
                guard !isStopped else { return listener.stop() }
                notifications.append(listener)
            }
        } catch {
            logger.info("\(address): its notifications do not start: \(error)")
        }
    }
}
