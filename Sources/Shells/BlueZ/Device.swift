package import BluetoothTypes
import DBus

extension DeviceRegistry {
    /// A device that an adapter knows, paired or only seen (`org.bluez.Device1`, `org.bluez.Battery1`).
    package struct Device: Equatable, Sendable {
        /// `/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF`
        package let path: String
        package let address: BluetoothAddress
        package let adapterPath: String
        /// The name that the owner gave it, or its own.
        package let name: String
        /// The device's own name, for quirks; nil until it is known.
        package let announcedName: String?
        package let paired: Bool
        package let trusted: Bool
        package let blocked: Bool
        /// Whether a radio link exists. On a lost link it stays true until the supervision timeout, 20 s by default.
        package let connected: Bool
        /// Empty until the services were looked up for the first time; see `servicesResolved`.
        package let uuids: [ServiceUUID]
        package let servicesResolved: Bool
        package let classOfDevice: ClassOfDevice
        /// A freedesktop icon name: `audio-headset`. Empty if unknown.
        package let icon: String
        /// Vendor and product, for quirks: `bluetooth:v004Cp2002d6DF1`. Empty if unknown.
        package let modalias: String
        /// Charge of the battery known to BlueZ, 0 to 100 per cent.
        package let battery: Int?

        /// Received signal strength in dBm; nil unless the running discovery has found the device.
        package let rssi: Int?

        /// Whether it announces the hands-free role, that is, can be a headset for us.
        package var isHandsFree: Bool { uuids.contains(.handsFree) }
        package var isHeadset: Bool { uuids.contains(.headset) }
        /// Whether it plays audio received over A2DP.
        package var isAudioSink: Bool { uuids.contains(.audioSink) }

        /// Nil without a valid address; every other property has a default.
        init?(path: String, properties: [String: Value], battery: [String: Value]?) {
            guard let address = properties["Address"]?.stringValue.flatMap({ BluetoothAddress($0) }) else { return nil }
            self.path = path
            self.address = address
            adapterPath = properties["Adapter"]?.objectPathValue ?? Self.parent(of: path)
            name = properties["Alias"]?.stringValue ?? properties["Name"]?.stringValue ?? address.description
            announcedName = properties["Name"]?.stringValue
            paired = properties["Paired"]?.boolValue ?? false
            trusted = properties["Trusted"]?.boolValue ?? false
            blocked = properties["Blocked"]?.boolValue ?? false
            connected = properties["Connected"]?.boolValue ?? false
            uuids = (properties["UUIDs"]?.stringsValue ?? []).map { ServiceUUID(text: $0) }
            servicesResolved = properties["ServicesResolved"]?.boolValue ?? false
            classOfDevice = ClassOfDevice(bits: properties["Class"]?.uint32Value ?? 0)
            icon = properties["Icon"]?.stringValue ?? ""
            modalias = properties["Modalias"]?.stringValue ?? ""
            rssi = properties["RSSI"]?.int16Value.map { Int($0) }
            self.battery = battery?["Percentage"]?.byteValue.flatMap { $0 <= 100 ? Int($0) : nil }
        }

        private static func parent(of path: String) -> String {
            path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
        }
    }
}

extension BluetoothAddress {
    /// Reads the last component of a device's object path, `dev_AA_BB_CC_DD_EE_FF`.
    init?(devicePath: String) {
        guard let component = devicePath.split(separator: "/").last, component.hasPrefix("dev_") else { return nil }
        self.init(component.dropFirst(4))
    }
}
