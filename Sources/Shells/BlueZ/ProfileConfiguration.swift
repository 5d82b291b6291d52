package import BluetoothTypes
import DBus

extension ProfileRegistration {
    /// A profile's settings for bluetoothd (`org.bluez.ProfileManager1.RegisterProfile`).
    package struct Configuration: Equatable, Sendable {
        /// Which side opens the connection; nil allows both.
        package enum Role: String, Equatable, Sendable {
            case client, server
        }

        /// Object path of `org.bluez.Profile1` on our connection, which bluetoothd calls.
        package var path: String
        package var uuid: ServiceUUID
        /// For people: in the service record and in our messages.
        package var name: String
        /// The profile's version in the service record: 0x0109 is 1.9.
        package var version: UInt16
        /// The supported features of the service record. For an Audio Gateway bits 0 to 4 equal those of +BRSF, bit 5 is
        /// wide band speech (HFP 1.9 §6.3).
        package var features: UInt16
        package var role: Role?
        /// RFCOMM channel; nil uses BlueZ's default.
        package var channel: UInt16?
        /// Connect it when a program connects the device (`org.bluez.Device1.Connect`).
        package var connectsAutomatically = true
        /// Only encrypted links, that is, paired devices.
        package var requiresAuthentication = true
        /// Ask a pairing agent for each connection of a device that is not trusted. Off: a box without a screen has no
        /// agent, and a paired device has been admitted by its pairing.
        package var requiresAuthorization = false
        /// Time between two attempts while another program holds the UUID.
        package var retryInterval = Duration.seconds(10)

        package init(
            path: String, uuid: ServiceUUID, name: String, version: UInt16, features: UInt16, role: Role? = nil,
            channel: UInt16? = nil
        ) {
            self.path = path
            self.uuid = uuid
            self.name = name
            self.version = version
            self.features = features
            self.role = role
            self.channel = channel
        }

        /// The Audio Gateway of HFP 1.9.
        package static func handsFreeAudioGateway(
            path: String = "/org/btcall/profile/handsfree_ag", features: UInt16
        ) -> Self {
            Configuration(
                path: path, uuid: .handsFreeAudioGateway, name: "Hands-Free Audio Gateway", version: 0x0109,
                features: features)
        }

        /// The Audio Gateway of HSP 1.2, for headsets without HFP. It does not connect automatically with the device: with a
        /// headset that has both, only HFP is wanted (docs/inside/Interop.md B17), and bluetoothd cannot choose.
        package static func headsetAudioGateway(path: String = "/org/btcall/profile/headset_ag") -> Self {
            var configuration = Configuration(
                path: path, uuid: .headsetAudioGateway, name: "Headset Audio Gateway", version: 0x0102, features: 0)
            configuration.connectsAutomatically = false
            return configuration
        }

        var options: Value {
            var options: [String: Value] = [
                "Name": .string(name),
                "Version": .uint16(version),
                "Features": .uint16(features),
                "AutoConnect": .bool(connectsAutomatically),
                "RequireAuthentication": .bool(requiresAuthentication),
                "RequireAuthorization": .bool(requiresAuthorization),
            ]
            if let role { options["Role"] = .string(role.rawValue) }
            if let channel { options["Channel"] = .uint16(channel) }
            return .vardict(options)
        }
    }
}
