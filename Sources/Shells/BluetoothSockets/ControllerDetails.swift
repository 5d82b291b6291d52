package import BluetoothTypes
import CBluetooth
import Glibc

/// The kernel's data about a Bluetooth controller (`HCIGETDEVINFO`), readable by every user.
package struct ControllerDetails: Equatable, Sendable {
    /// How a controller is attached (`HCI_USB`, `HCI_UART`).
    package enum Bus: Equatable, Sendable {
        case usb, uart
        /// Any other number: 0 virtual, 6 SDIO.
        case other(Int)
    }

    /// `hci0`
    package var name: String
    package var address: BluetoothAddress
    package var isUp: Bool
    package var bus: Bus
    /// Eight octets (Core Specification Vol 2 Part C §3.3, page 0); all zero until the controller was up once.
    package var features: [UInt8]
    /// Largest voice packet that it takes from the host, in bytes, and the number of packets that it can hold.
    package var voicePacketBytes: Int
    package var voicePackets: Int
    /// Voice packets since it was switched on.
    package var voicePacketsSent: Int
    package var voicePacketsReceived: Int
    /// Assigned number of the manufacturer; nil if the kernel does not report it.
    package var manufacturer: Int?

    package init(
        name: String, address: BluetoothAddress, isUp: Bool, bus: Bus, features: [UInt8], voicePacketBytes: Int,
        voicePackets: Int, voicePacketsSent: Int, voicePacketsReceived: Int, manufacturer: Int?
    ) {
        self.name = name
        self.address = address
        self.isUp = isUp
        self.bus = bus
        self.features = features
        self.voicePacketBytes = voicePacketBytes
        self.voicePackets = voicePackets
        self.voicePacketsSent = voicePacketsSent
        self.voicePacketsReceived = voicePacketsReceived
        self.manufacturer = manufacturer
    }

    /// Whether the kernel knows its features.
    package var hasFeatures: Bool { features.contains { $0 != 0 } }
    /// Voice encoded by the host (mSBC): feature 19.
    package var hasTransparentVoice: Bool { hasFeature(19) }
    /// Retransmitted voice packets (EV3, eSCO): feature 31.
    package var hasExtendedLinks: Bool { hasFeature(31) }
    /// Feature 37 means that it does not.
    package var hasClassicBluetooth: Bool { !hasFeature(37) }

    private func hasFeature(_ bit: Int) -> Bool {
        features.indices.contains(bit / 8) && features[bit / 8] & UInt8(1 << (bit % 8)) != 0
    }

    /// Reads `struct hci_dev_info` in the machine's byte order; nil for too few bytes.
    ///
    /// - Parameter manufacturer: returns the manufacturer of the controller with that name.
    package init?(_ bytes: [UInt8], manufacturer: (String) -> Int?) {
        guard bytes.count >= Self.size else { return nil }
        func number(_ place: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
        }
        let name = String(decoding: bytes[2..<10].prefix { $0 != 0 }, as: UTF8.self)
        self.name = name
        address = BluetoothAddress(value: bytes[10..<16].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        isUp = number(16, 4) & 1 != 0
        switch bytes[20] & 0x0F {
        case 1: bus = .usb
        case 3: bus = .uart
        default: bus = .other(Int(bytes[20] & 0x0F))
        }
        features = Array(bytes[21..<29])
        voicePacketBytes = number(48, 2)
        voicePackets = number(50, 2)
        // Counters: errors in and out, commands, events, data out and in, voice out and in, bytes in and out.
        voicePacketsSent = number(76, 4)
        voicePacketsReceived = number(80, 4)
        self.manufacturer = manufacturer(name)
    }

    private static let size = 92
    /// `_IOR('H', 210, int)` and `_IOR('H', 211, int)`.
    private static let listRequest: UInt = 0x8004_48D2
    private static let informationRequest: UInt = 0x8004_48D3
    private static let mostControllers = 16

    /// All controllers of this machine, by their numbers; empty without Bluetooth in the kernel.
    package static func all() -> [ControllerDetails] {
        let descriptor = socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), BTPROTO_HCI)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        // struct hci_dev_list_req: the count; for each its number and, aligned to four bytes, its flags.
        var list = [UInt8](repeating: 0, count: 4 + 8 * mostControllers)
        list[0] = UInt8(mostControllers)
        guard ask(descriptor, listRequest, &list) else { return [] }
        let count = min(Int(list[0]), mostControllers)
        var controllers: [ControllerDetails] = []
        for place in 0..<count {
            var bytes = [UInt8](repeating: 0, count: size)
            bytes[0] = list[4 + 8 * place]
            bytes[1] = list[5 + 8 * place]
            guard ask(descriptor, informationRequest, &bytes),
                let details = ControllerDetails(bytes, manufacturer: { ControllerInformation.manufacturer(of: $0) })
            else { continue }
            controllers.append(details)
        }
        return controllers.sorted { $0.name < $1.name }
    }

    private static func ask(_ descriptor: Int32, _ request: UInt, _ bytes: inout [UInt8]) -> Bool {
        bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { ioctl(descriptor, request, $0) == 0 } ?? false
        }
    }
}
