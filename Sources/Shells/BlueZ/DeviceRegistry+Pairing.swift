package import BluetoothTypes
import DBus

extension DeviceRegistry {
    /// Whether an adapter can be found and paired with.
    package struct Visibility: Equatable, Sendable {
        package var pairable: Bool
        package var discoverable: Bool
        /// Seconds after which bluetoothd makes it undiscoverable again; 0: never.
        package var discoverableTimeout: UInt32

        package init(pairable: Bool, discoverable: Bool, discoverableTimeout: UInt32) {
            self.pairable = pairable
            self.discoverable = discoverable
            self.discoverableTimeout = discoverableTimeout
        }
    }

    /// bluetoothd pages for 5 s, and ends an unanswered pairing after about 30 s.
    private static let pairTimeout = Duration.seconds(60)
    private static let settingTimeout = Duration.seconds(10)

    /// Pairs with a device (`org.bluez.Device1.Pair`); returns when both sides have the key and its services are known.
    package func pair(_ address: BluetoothAddress) async throws(PairingError) {
        guard isServicePresent else { throw .serviceAbsent }
        guard let device = device(address) else { throw .unknownDevice }
        try await ask(device.path, BlueZNames.device, "Pair", [], Self.pairTimeout)
    }

    /// Ends a `pair` in progress (`org.bluez.Device1.CancelPairing`); that call returns the outcome.
    package func cancelPairing(_ address: BluetoothAddress) {
        guard isServicePresent, let device = device(address) else { return }
        bus.post(BlueZNames.service, device.path, BlueZNames.device, "CancelPairing")
    }

    /// Allows a device to connect of its own accord, or forbids it (`org.bluez.Device1.Trusted`), on every adapter that
    /// knows it.
    package func setTrusted(_ isTrusted: Bool, _ address: BluetoothAddress) async throws(PairingError) {
        guard isServicePresent else { throw .serviceAbsent }
        let known = devices.filter { $0.address == address }
        guard !known.isEmpty else { throw .unknownDevice }
        for device in known { try await set("Trusted", .bool(isTrusted), of: BlueZNames.device, at: device.path) }
    }

    /// - Parameter path: of an adapter.
    package func visibility(ofAdapter path: String) async throws(PairingError) -> Visibility {
        guard isServicePresent else { throw .serviceAbsent }
        do throws(BusError) {
            let values = try await bus.call(
                BlueZNames.service, path, BlueZNames.properties, "GetAll", [.string(BlueZNames.adapter)],
                timeout: Self.settingTimeout
            ).first
            return Visibility(
                pairable: values?["Pairable"]?.boolValue ?? false,
                discoverable: values?["Discoverable"]?.boolValue ?? false,
                discoverableTimeout: values?["DiscoverableTimeout"]?.uint32Value ?? 0)
        } catch {
            throw PairingError(error)
        }
    }

    /// - Parameter path: of an adapter.
    package func setVisibility(_ visibility: Visibility, ofAdapter path: String) async throws(PairingError) {
        let adapter = BlueZNames.adapter
        try await set("DiscoverableTimeout", .uint32(visibility.discoverableTimeout), of: adapter, at: path)
        try await set("Discoverable", .bool(visibility.discoverable), of: adapter, at: path)
        try await set("Pairable", .bool(visibility.pairable), of: adapter, at: path)
    }

    /// Searches for classic devices (BR/EDR); found devices have `rssi`.
    ///
    /// - Parameter path: of an adapter.
    package func startDiscovery(onAdapter path: String) async throws(PairingError) {
        guard isServicePresent else { throw .serviceAbsent }
        let filter: [String: Value] = ["Transport": "bredr"]
        try await ask(path, BlueZNames.adapter, "SetDiscoveryFilter", [.vardict(filter)], Self.settingTimeout)
        try await ask(path, BlueZNames.adapter, "StartDiscovery", [], Self.settingTimeout)
    }

    /// - Parameter path: of an adapter.
    package func stopDiscovery(onAdapter path: String) async throws(PairingError) {
        guard isServicePresent else { throw .serviceAbsent }
        try await ask(path, BlueZNames.adapter, "StopDiscovery", [], Self.settingTimeout)
    }

    private func set(
        _ property: String, _ value: Value, of interface: String, at path: String
    ) async throws(PairingError) {
        try await ask(
            path, BlueZNames.properties, "Set", [.string(interface), .string(property), .variant(value)],
            Self.settingTimeout)
    }

    private func ask(
        _ path: String, _ interface: String, _ member: String, _ arguments: [Value], _ timeout: Duration
    ) async throws(PairingError) {
        do throws(BusError) {
            _ = try await bus.call(BlueZNames.service, path, interface, member, arguments, timeout: timeout)
        } catch {
            throw PairingError(error)
        }
    }
}
