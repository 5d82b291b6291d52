package import BlueZ
import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
package import DBus
package import HeadsetControl
package import Logging
package import Talk

/// The talk keys of devices on a serial port or of Bluetooth Low Energy: connected when a row names them, and again whenever
/// they come back.
@ControlPlane
package final class TalkDevices {
    /// What a device says, for a lesson.
    package let heard = Signal<(BluetoothAddress, TalkLesson.Observation)>()
    private let bus: BusConnection
    private let registry: DeviceRegistry
    private let talk: HeadsetTalk
    private let keys: TalkKeys
    private let pause: Duration
    private let logger: Logger
    private var devices: [BluetoothAddress: TalkDevice] = [:]
    /// One for each service of a serial port that a device needs.
    private var ports: [ServiceUUID: ProfileRegistration] = [:]
    private var isActive = false
    private var lesson: DeviceLesson?

    /// - Parameter pause: time before the first attempt to connect a device; doubled after each failure, up to 32 times.
    package init(
        bus: BusConnection, registry: DeviceRegistry, talk: HeadsetTalk, keys: TalkKeys, pause: Duration, logger: Logger
    ) {
        self.pause = pause
        self.bus = bus
        self.registry = registry
        self.talk = talk
        self.keys = keys
        self.logger = logger
        registry.events.subscribe(self) { $0.handle($1) }
        talk.changes.subscribe(self) { $0.followAll() }
    }

    package func start() {
        isActive = true
        followAll()
    }

    package func stop() async {
        isActive = false
        endLesson()
        for device in devices.values { device.stop() }
        devices = [:]
        for port in ports.values { await port.stop() }
        ports = [:]
    }

    // MARK: Events

    private func handle(_ event: DeviceRegistry.Event) {
        switch event {
        case .deviceChanged(let device): follow(device)
        case .deviceDisconnected(let address, _): devices[address]?.lost()
        case .deviceRemoved(let address): devices.removeValue(forKey: address)?.stop()
        case .serviceVanished:
            for device in devices.values { device.lost() }
        case .serviceAppeared, .serviceMissing, .adapterChanged, .adapterRemoved: break
        }
    }

    private func followAll() {
        for device in registry.devices { follow(device) }
    }

    private func follow(_ device: DeviceRegistry.Device) {
        guard isActive else { return }
        if let lesson, lesson.address == device.address { return lesson.follow(device) }
        let row = device.paired || device.trusted ? talk.row(of: device.address) : nil
        guard let row, row.protocol == .serial || row.protocol == .notification else {
            devices.removeValue(forKey: device.address)?.stop()
            return
        }
        if let known = devices[device.address], known.row != row {
            known.stop()
            devices[device.address] = nil
        }
        if case .serial(let service, _, _) = row.reading { serve(service) }
        let known =
            devices[device.address] ?? TalkDevice(device.address, row, bus, registry, keys, pause: pause, logger)
        devices[device.address] = known
        known.follow(device)
    }

    // MARK: Lessons

    /// Listens to everything that a device says; its own key is silent meanwhile.
    package func beginLesson(of device: DeviceRegistry.Device) {
        endLesson()
        devices.removeValue(forKey: device.address)?.stop()
        if device.uuids.contains(.serialPort) { serve(.serialPort) }
        let lesson = DeviceLesson(device.address, bus, registry, logger) { [weak self] observation in
            self?.heard.send((device.address, observation))
        }
        self.lesson = lesson
        lesson.follow(device)
    }

    package func endLesson() {
        guard let ended = lesson else { return }
        lesson = nil
        ended.stop()
        if let device = registry.device(ended.address) { follow(device) }
    }

    // MARK: Serial ports

    private func serve(_ service: ServiceUUID) {
        guard ports[service] == nil else { return }
        let number = ports.count
        let port = ProfileRegistration(
            bus: bus,
            configuration: .init(
                path: "/org/btcall/profile/serial\(number)", uuid: service, name: "Serial Port", version: 0x0102,
                features: 0),
            logger: logger)
        ports[service] = port
        port.onConnection = { [weak self] address, _, descriptor, _ throws(ConnectionRefusal) in
            let lesson = self?.lesson.flatMap { $0.address == address ? $0 : nil }
            guard let device = self?.devices[address], device.takes(service) else {
                if let lesson { return try lesson.connected(descriptor, by: service) }
                throw ConnectionRefusal("no row of talk keys names it: `btcall talk learn \(address)` makes one")
            }
            do throws(SystemError) {
                device.connected(try RFCOMMChannel(descriptor: descriptor.take()))
            } catch {
                throw ConnectionRefusal("the connection cannot be used: \(error)")
            }
        }
        port.onDisconnectionRequest = { [weak self] address in self?.devices[address]?.lost() }
        port.onState = { [weak self] state in
            guard case .registered = state else { return }
            for device in self?.devices.values.map(\.self) ?? [] { device.connectSoon() }
        }
        port.start()
    }
}
