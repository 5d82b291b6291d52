package import BluetoothTypes

/// The radio links of one controller by their handles, from its events: a value, fed with packets.
///
/// The event of a link's end has its handle and reason; only that of its beginning has the address.
package struct RadioLinks: Sendable {
    /// The end of a link.
    package struct End: Equatable, Sendable {
        package let address: BluetoothAddress
        /// Controller error code (Bluetooth Core, Vol 1 Part F): 0x08 timeout, 0x13 to 0x15 the other side, 0x16 this side.
        package let reason: UInt8

        package init(address: BluetoothAddress, reason: UInt8) {
            self.address = address
            self.reason = reason
        }
    }

    private static let eventPacket: UInt8 = 0x04
    private static let connectionComplete: UInt8 = 0x03
    private static let disconnectionComplete: UInt8 = 0x05
    /// The link for data, not its voice links.
    private static let dataLink: UInt8 = 0x01
    /// Most links of a controller.
    private static let limit = 256

    private var addresses: [UInt16: BluetoothAddress] = [:]

    package init() {}

    package var count: Int { addresses.count }

    /// Adds an existing link.
    package mutating func add(_ handle: UInt16, _ address: BluetoothAddress) {
        guard addresses.count < Self.limit || addresses[handle] != nil else { return }
        addresses[handle] = address
    }

    /// Handles one packet of the controller (Bluetooth Core, Vol 4 Part E §7.7.3, §7.7.5).
    ///
    /// - Parameter packet: as the kernel delivers it: type, event, length, parameters. Other packets are ignored.
    /// - Returns: the link that ended, if the packet reports an end.
    package mutating func received(_ packet: [UInt8]) -> End? {
        guard packet.count >= 3, packet[0] == Self.eventPacket, packet.count >= 3 + Int(packet[2]) else { return nil }
        let parameters = Array(packet[3..<3 + Int(packet[2])])
        switch packet[1] {
        case Self.connectionComplete:
            // Status, handle, address, type, encryption.
            guard parameters.count >= 10, parameters[0] == 0, parameters[9] == Self.dataLink else { return nil }
            add(Self.handle(parameters), Self.address(parameters[3..<9]))
            return nil
        case Self.disconnectionComplete:
            // Status, handle, reason.
            guard parameters.count >= 4, parameters[0] == 0 else { return nil }
            return addresses.removeValue(forKey: Self.handle(parameters)).map {
                End(address: $0, reason: parameters[3])
            }
        default: return nil
        }
    }

    /// Adds the links of the kernel's list (HCIGETCONNLIST).
    ///
    /// - Parameter bytes: the controller's number and the count, then 16 bytes for each link.
    package mutating func addList(_ bytes: [UInt8]) {
        guard bytes.count >= 4 else { return }
        let count = Int(bytes[2]) | Int(bytes[3]) << 8
        for index in 0..<count {
            let start = 4 + 16 * index
            guard start + 16 <= bytes.count else { return }
            // Handle, address, type, direction, state, mode; in the machine's byte order, which equals that of the air here.
            let entry = Array(bytes[start..<start + 16])
            guard entry[8] == Self.dataLink else { continue }
            add(UInt16(entry[0]) | UInt16(entry[1]) << 8, Self.address(entry[2..<8]))
        }
    }

    private static func handle(_ parameters: [UInt8]) -> UInt16 {
        (UInt16(parameters[1]) | UInt16(parameters[2]) << 8) & 0x0FFF
    }

    /// The least significant octet comes first.
    private static func address(_ octets: ArraySlice<UInt8>) -> BluetoothAddress {
        BluetoothAddress(value: octets.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
