package import BluetoothTypes
package import DBus

/// A characteristic of a Bluetooth Low Energy device that can notify (`org.bluez.GattCharacteristic1`).
package struct GATTCharacteristic: Hashable, Sendable {
    package let path: String
    package let service: ServiceUUID
    package let uuid: ServiceUUID

    private static let timeout = Duration.seconds(10)

    /// Lists the characteristics of a device that can notify, ordered by path; bluetoothd knows them once
    /// `ServicesResolved` is true.
    ///
    /// - Parameter device: object path.
    package static func notifying(
        of device: String, on bus: BusConnection
    ) async throws(DeviceCallError) -> [GATTCharacteristic] {
        let values: [Value]
        do throws(BusError) {
            values = try await bus.call(
                BlueZNames.service, "/", BlueZNames.objectManager, "GetManagedObjects", timeout: timeout)
        } catch {
            throw DeviceCallError(error)
        }
        return values.first.map { all(in: $0, of: device) } ?? []
    }

    static func all(in objects: Value, of device: String) -> [GATTCharacteristic] {
        var mirror = ObjectMirror(ObjectMirror.attributes)
        _ = mirror.replace(with: objects)
        return mirror.objects.keys.sorted().compactMap { path in
            guard path.hasPrefix(device + "/"),
                let properties = mirror.objects[path]?[BlueZNames.gattCharacteristic],
                let uuid = properties["UUID"]?.stringValue,
                let flags = properties["Flags"]?.stringsValue, flags.contains("notify") || flags.contains("indicate"),
                let parent = properties["Service"]?.objectPathValue,
                let service = mirror.objects[parent]?[BlueZNames.gattService]?["UUID"]?.stringValue
            else { return nil }
            return GATTCharacteristic(
                path: path, service: ServiceUUID(text: service), uuid: ServiceUUID(text: uuid))
        }
    }
}
