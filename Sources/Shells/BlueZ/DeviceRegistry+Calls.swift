package import BluetoothTypes
import DBus

extension DeviceRegistry {
    /// bluetoothd gives up a page after 5 s and a profile after about 20 s, and then always answers.
    package static let connectTimeout = Duration.seconds(40)
    private static let disconnectTimeout = Duration.seconds(10)

    /// Connects one profile of a device (`org.bluez.Device1.ConnectProfile`); pages it if there is no link.
    ///
    /// - Parameter profile: the service of the device, `.handsFree` for a headset.
    package func connectProfile(
        _ profile: ServiceUUID, of address: BluetoothAddress, timeout: Duration = connectTimeout
    ) async throws(DeviceCallError) {
        try await call(address, "ConnectProfile", [.string(profile.text)], timeout)
    }

    /// Disconnects one profile of a device (`org.bluez.Device1.DisconnectProfile`).
    package func disconnectProfile(
        _ profile: ServiceUUID, of address: BluetoothAddress
    ) async throws(DeviceCallError) {
        try await call(address, "DisconnectProfile", [.string(profile.text)], Self.disconnectTimeout)
    }

    /// Connects all profiles of a device that connect automatically (`org.bluez.Device1.Connect`).
    package func connect(
        _ address: BluetoothAddress, timeout: Duration = connectTimeout
    ) async throws(DeviceCallError) {
        try await call(address, "Connect", [], timeout)
    }

    /// Disconnects all profiles and the link (`org.bluez.Device1.Disconnect`); also ends a `connect` in progress.
    package func disconnect(_ address: BluetoothAddress) async throws(DeviceCallError) {
        try await call(address, "Disconnect", [], Self.disconnectTimeout)
    }

    private func call(
        _ address: BluetoothAddress, _ member: String, _ arguments: [Value], _ timeout: Duration
    ) async throws(DeviceCallError) {
        guard isServicePresent else { throw .serviceAbsent }
        guard let device = device(address) else { throw .unknownDevice }
        do throws(BusError) {
            _ = try await bus.call(
                BlueZNames.service, device.path, BlueZNames.device, member, arguments, timeout: timeout)
        } catch {
            throw DeviceCallError(error)
        }
    }
}
