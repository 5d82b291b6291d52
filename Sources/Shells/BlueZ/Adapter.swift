package import BluetoothTypes
import DBus

extension DeviceRegistry {
    /// A Bluetooth controller of this machine (`org.bluez.Adapter1`).
    package struct Adapter: Equatable, Sendable {
        /// `/org/bluez/hci0`
        package let path: String
        package let address: BluetoothAddress
        /// The name that other devices see: the alias, or the system's name.
        package let name: String
        package let powered: Bool
        package let discoverable: Bool
        package let pairable: Bool
        package let discovering: Bool
        package let classOfDevice: ClassOfDevice
        /// The services that this machine offers, in BlueZ's order.
        package let uuids: [ServiceUUID]
        /// Assigned number of the manufacturer; nil with versions of BlueZ that do not report it.
        package let manufacturer: Int?

        /// The kernel's name of the controller: `hci0`.
        package var controller: String { path.split(separator: "/").last.map(String.init) ?? path }

        /// Nil without a valid address; every other property has a default.
        init?(path: String, properties: [String: Value]) {
            guard let address = properties["Address"]?.stringValue.flatMap({ BluetoothAddress($0) }) else { return nil }
            self.path = path
            self.address = address
            name = properties["Alias"]?.stringValue ?? properties["Name"]?.stringValue ?? address.description
            powered = properties["Powered"]?.boolValue ?? false
            discoverable = properties["Discoverable"]?.boolValue ?? false
            pairable = properties["Pairable"]?.boolValue ?? false
            discovering = properties["Discovering"]?.boolValue ?? false
            classOfDevice = ClassOfDevice(bits: properties["Class"]?.uint32Value ?? 0)
            uuids = (properties["UUIDs"]?.stringsValue ?? []).map { ServiceUUID(text: $0) }
            manufacturer = properties["Manufacturer"]?.uint16Value.map { Int($0) }
        }
    }
}
