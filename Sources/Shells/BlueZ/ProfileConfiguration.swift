package import BluetoothTypes
import DBus

extension ProfileRegistration {
    /// What bluetoothd is told about a profile (`org.bluez.ProfileManager1.RegisterProfile`).
    package struct Configuration: Equatable, Sendable {
        /// Which side opens the connection; without it both may.
        package enum Role: String, Equatable, Sendable {
            case client, server
        }

        /// Where bluetoothd calls us: the object path of `org.bluez.Profile1` on our connection.
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
        /// RFCOMM channel; nil takes BlueZ's usual one.
        package var channel: UInt16?
        /// Connect it when anything connects the device (`org.bluez.Device1.Connect`).
        package var connectsAutomatically = true
        /// Only encrypted links, that is, paired devices.
        package var requiresAuthentication = true
        /// Ask a pairing agent for each connection of a device that is not trusted. A box without a screen has no agent,
        /// and whoever paired the device has let it in: off.
        package var requiresAuthorization = false
        /// Between two attempts while somebody else holds the UUID.
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

        /// The Audio Gateway of HSP 1.2, for headsets that have nothing else. It does not connect with whatever connects the
        /// device: of a headset that has both, HFP is wanted alone (docs/inside/Interop.md B17), and bluetoothd cannot tell them apart.
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
