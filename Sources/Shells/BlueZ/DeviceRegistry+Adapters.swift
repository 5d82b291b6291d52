package import BluetoothTypes
package import DBus

extension DeviceRegistry {
    /// Renames an adapter, as others see it (`org.bluez.Adapter1.Alias`). bluetoothd keeps the name over restarts.
    ///
    /// - Parameter alias: empty restores the system's name.
    package func setAlias(_ alias: String, ofAdapter path: String) async throws(BusError) {
        _ = try await bus.call(
            BlueZNames.service, path, BlueZNames.properties, "Set",
            [.string(BlueZNames.adapter), "Alias", .variant(.string(alias))])
    }

    /// Unpairs and removes a device on every adapter that knows it (`org.bluez.Adapter1.RemoveDevice`).
    package func remove(_ address: BluetoothAddress) async throws(DeviceCallError) {
        guard isServicePresent else { throw .serviceAbsent }
        for device in devices where device.address == address {
            do throws(BusError) {
                _ = try await bus.call(
                    BlueZNames.service, device.adapterPath, BlueZNames.adapter, "RemoveDevice",
                    [.objectPath(device.path)])
            } catch {
                throw DeviceCallError(error)
            }
        }
    }
}
