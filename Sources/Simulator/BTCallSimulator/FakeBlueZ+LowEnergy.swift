package import BluetoothTypes
package import ControlLoop
package import DBus

/// Devices of Bluetooth Low Energy and the programs that want their notifications.
@ControlPlane
package final class FakeLowEnergy {
    /// A characteristic of a device.
    package struct Characteristic: Equatable, Sendable {
        package var service: ServiceUUID
        package var uuid: ServiceUUID
        /// BlueZ's words for its properties.
        package var flags: [String]

        package init(
            _ service: ServiceUUID, _ uuid: ServiceUUID, flags: [String] = ["read", "write-without-response", "notify"]
        ) {
            self.service = service
            self.uuid = uuid
            self.flags = flags
        }

        /// The characteristic of the common serial modules, and of the buttons that are made of them.
        package static let serialModule = Characteristic(ServiceUUID(short: 0xFFE0), ServiceUUID(short: 0xFFE1))
    }

    /// Error of `StartNotify`; nil for success.
    package var notifyError: BusError?
    /// Calls of `StartNotify`, `StopNotify`, `ReadValue` and `WriteValue`, in order, with any answer.
    package internal(set) var requests: [String] = []
    var devices: [BluetoothAddress: [Characteristic]] = [:]
    /// Programs with a notify session, by the path of the characteristic.
    var sessions: [String: [String]] = [:]

    nonisolated init() {}
}

extension FakeBlueZ {
    /// Adds a paired device of Bluetooth Low Energy, in reach and not connected. Like bluetoothd, the fake has its GATT
    /// objects from the first connection on, until bluetoothd ends.
    ///
    /// - Parameters:
    ///   - properties: replace or complete those of `org.bluez.Device1`.
    /// - Returns: the object path of the device.
    @discardableResult
    package func addLowEnergyDevice(
        _ address: BluetoothAddress, name: String,
        characteristics: [FakeLowEnergy.Characteristic] = [.serialModule], adapter: String = "/org/bluez/hci0",
        properties: [String: Value] = [:]
    ) -> String {
        lowEnergy.devices[address] = characteristics
        let own: [String: Value] = ["AddressType": "public", "Bonded": true, "ServicesResolved": false]
        return addDevice(
            address, name, services: characteristics.map(\.service), adapter: adapter,
            properties: own.merging(properties) { $1 })
    }

    /// Adds a paired button with a serial port, in reach and not connected.
    ///
    /// - Returns: the object path of the device.
    @discardableResult
    package func addSerialDevice(
        _ address: BluetoothAddress, name: String, adapter: String = "/org/bluez/hci0",
        properties: [String: Value] = [:]
    ) -> String {
        let own: [String: Value] = ["Class": .uint32(0x00_1F00), "ServicesResolved": true]
        return addDevice(
            address, name, services: [.serialPort], adapter: adapter, properties: own.merging(properties) { $1 })
    }

    private func addDevice(
        _ address: BluetoothAddress, _ name: String, services: [ServiceUUID], adapter: String,
        properties: [String: Value]
    ) -> String {
        let path = "\(adapter)/dev_\(address.pathComponent)"
        let usual: [String: Value] = [
            "Address": .string(address.description), "Adapter": .objectPath(adapter), "Name": .string(name),
            "Alias": .string(name), "Paired": true, "Trusted": true, "Blocked": false, "Connected": false,
            "UUIDs": .strings(services.map(\.text)),
        ]
        unreachable.remove(address)
        add(path, [FakeBlueZNames.device: usual.merging(properties) { $1 }])
        return path
    }

    /// Connects a device that advertises, as bluetoothd does for devices that it knows. Programs' notify sessions go on.
    package func connectLowEnergy(_ address: BluetoothAddress) {
        guard let path = devicePath(address), let characteristics = lowEnergy.devices[address] else { return }
        unreachable.remove(address)
        setConnected(true, address)
        for (index, characteristic) in characteristics.enumerated() {
            let service = "\(path)/service\(Self.handle(1 + 0x10 * index))"
            let object = "\(service)/char\(Self.handle(2 + 0x10 * index))"
            if objects[object] == nil {
                add(
                    service,
                    [
                        FakeBlueZNames.gattService: [
                            "UUID": .string(characteristic.service.text), "Device": .objectPath(path), "Primary": true,
                        ]
                    ])
                add(
                    object,
                    [
                        FakeBlueZNames.gattCharacteristic: [
                            "UUID": .string(characteristic.uuid.text), "Service": .objectPath(service),
                            "Value": .bytes([]), "Notifying": false, "Flags": .strings(characteristic.flags),
                        ]
                    ])
            }
            set(
                "Notifying", .bool(lowEnergy.sessions[object]?.isEmpty == false),
                of: FakeBlueZNames.gattCharacteristic, at: object)
        }
        set("ServicesResolved", true, of: FakeBlueZNames.device, at: path)
    }

    /// Sends a notification, as when the button is pressed.
    ///
    /// - Returns: whether a program gets it: the device is connected, and the program has started notifications.
    @discardableResult
    package func notify(
        _ value: [UInt8], from address: BluetoothAddress, _ characteristic: FakeLowEnergy.Characteristic = .serialModule
    ) -> Bool {
        guard let path = devicePath(address), isConnected(path),
            let object = characteristicPath(of: address, characteristic), lowEnergy.sessions[object]?.isEmpty == false
        else { return false }
        // Equal values are signalled, too.
        objects[object]?[FakeBlueZNames.gattCharacteristic]?["Value"] = .bytes(value)
        bus?.propertiesChanged(path: object, interface: FakeBlueZNames.gattCharacteristic, ["Value"])
        return true
    }

    /// - Returns: nil before the first connection.
    package func characteristicPath(
        of address: BluetoothAddress, _ characteristic: FakeLowEnergy.Characteristic = .serialModule
    ) -> String? {
        guard let path = devicePath(address) else { return nil }
        return objects.keys.sorted().first {
            $0.hasPrefix(path + "/")
                && objects[$0]?[FakeBlueZNames.gattCharacteristic]?["UUID"]?.stringValue == characteristic.uuid.text
        }
    }

    /// Whether a program has started notifications that the device sends while it is connected.
    package func isNotifying(
        _ address: BluetoothAddress, _ characteristic: FakeLowEnergy.Characteristic = .serialModule
    ) -> Bool {
        characteristicPath(of: address, characteristic)
            .flatMap { objects[$0]?[FakeBlueZNames.gattCharacteristic]?["Notifying"]?.boolValue } ?? false
    }

    func isLowEnergy(_ path: String) -> Bool { deviceAddress(of: path).map { lowEnergy.devices[$0] != nil } ?? false }

    private func isConnected(_ path: String) -> Bool {
        objects[path]?[FakeBlueZNames.device]?["Connected"]?.boolValue == true
    }

    func connectLowEnergyRequested(_ path: String) async throws(BusError) {
        let address = try reachedAdapter(of: path, "le-connection-abort-by-local")
        guard !isConnected(path) else { return }
        if unreachable.contains(address) { try await page(address, failure: "le-connection-abort-by-local") }
        connectLowEnergy(address)
    }

    /// The device is gone: its objects and the sessions stay.
    func dropNotifications(of address: BluetoothAddress) {
        guard let path = devicePath(address), lowEnergy.devices[address] != nil else { return }
        set("ServicesResolved", false, of: FakeBlueZNames.device, at: path)
    }

    /// The device's object is removed.
    func forgetLowEnergy(_ path: String) {
        lowEnergy.sessions[path] = nil
        if let address = deviceAddress(of: path) { lowEnergy.devices[address] = nil }
    }

    /// A program has left the bus.
    func forgetNotifications(of owner: String) {
        for object in lowEnergy.sessions.keys.sorted() where lowEnergy.sessions[object]?.contains(owner) == true {
            endSession(of: owner, object)
        }
    }

    /// bluetoothd has ended, and with it the connections of Bluetooth Low Energy, which it holds itself.
    func forgetCharacteristics() {
        lowEnergy.sessions = [:]
        for address in lowEnergy.devices.keys {
            guard let path = devicePath(address) else { continue }
            objects[path]?[FakeBlueZNames.device]?["Connected"] = false
            objects[path]?[FakeBlueZNames.device]?["ServicesResolved"] = false
        }
        for (path, interfaces) in objects
        where interfaces[FakeBlueZNames.gattCharacteristic] != nil || interfaces[FakeBlueZNames.gattService] != nil {
            objects[path] = nil
        }
    }

    func characteristicMethods(_ object: String) -> [ExportedInterface.Method] {
        [
            .init("StartNotify") { [weak self] call throws(BusError) in
                try self?.startNotify(object, call.sender)
                return []
            },
            .init("StopNotify") { [weak self] call throws(BusError) in
                guard let self else { return [] }
                lowEnergy.requests.append("StopNotify")
                guard lowEnergy.sessions[object]?.contains(call.sender) == true else {
                    throw bluezError("Failed", "No notify session started")
                }
                endSession(of: call.sender, object)
                return []
            },
            .init("ReadValue", in: [("options", "a{sv}")], out: [("value", "ay")]) { [weak self] _ throws(BusError) in
                guard let self else { return [] }
                lowEnergy.requests.append("ReadValue")
                return [objects[object]?[FakeBlueZNames.gattCharacteristic]?["Value"] ?? .bytes([])]
            },
            .init("WriteValue", in: [("value", "ay"), ("options", "a{sv}")]) { [weak self] _ throws(BusError) in
                self?.lowEnergy.requests.append("WriteValue")
                return []
            },
        ]
    }

    private func startNotify(_ object: String, _ sender: String) throws(BusError) {
        lowEnergy.requests.append("StartNotify")
        if let error = lowEnergy.notifyError { throw error }
        let flags = objects[object]?[FakeBlueZNames.gattCharacteristic]?["Flags"]?.stringsValue ?? []
        guard flags.contains("notify") || flags.contains("indicate") else {
            throw bluezError("NotSupported", "Operation is not supported")
        }
        let isConnected = isConnected("/" + object.split(separator: "/").dropLast(2).joined(separator: "/"))
        guard lowEnergy.sessions[object]?.contains(sender) != true else {
            throw isConnected ? bluezError("Failed", "Already notifying") : bluezError("InProgress", "In Progress")
        }
        // Without a connection bluetoothd accepts this, and starts when the device is back.
        lowEnergy.sessions[object, default: []].append(sender)
        watch(sender)
        if isConnected { set("Notifying", true, of: FakeBlueZNames.gattCharacteristic, at: object) }
    }

    private func endSession(of owner: String, _ object: String) {
        lowEnergy.sessions[object]?.removeAll { $0 == owner }
        guard lowEnergy.sessions[object]?.isEmpty != false else { return }
        lowEnergy.sessions[object] = nil
        set("Notifying", false, of: FakeBlueZNames.gattCharacteristic, at: object)
    }

    private static func handle(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
