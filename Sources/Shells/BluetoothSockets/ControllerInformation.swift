import CBluetooth
import Glibc

/// Controller data from the kernel's management interface, available to every process (BlueZ, doc/mgmt-api.txt: Read
/// Controller Information).
package enum ControllerInformation {
    private static let readInformation: UInt16 = 0x0004
    private static let commandComplete: UInt16 = 0x0001

    package struct Answer: Equatable, Sendable {
        package let manufacturer: Int?
    }

    /// Assigned number of a controller's manufacturer; nil if the kernel does not report it.
    ///
    /// - Parameter controller: `hci0`.
    package static func manufacturer(of controller: String) -> Int? {
        guard controller.hasPrefix("hci"), let index = UInt16(controller.dropFirst(3)) else { return nil }
        let descriptor = socket(
            AF_BLUETOOTH, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), BTPROTO_HCI)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // struct sockaddr_hci: the family, no controller, the control channel; in the machine's byte order.
        let address: [UInt16] = [UInt16(AF_BLUETOOTH), 0xFFFF, 3]
        let bound = address.withUnsafeBytes { bytes -> Int32 in
            guard let start = bytes.baseAddress else { return -1 }
            return bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        let command = [UInt8(readInformation), 0, UInt8(truncatingIfNeeded: index), UInt8(index >> 8), 0, 0]
        guard bound == 0, write(descriptor, command, command.count) == command.count else {
            return nil
        }
        // The answer is available when `write` returns; events of other controllers may precede it.
        var bytes = [UInt8](repeating: 0, count: 512)
        for _ in 0..<16 {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            if let answer = answer(Array(bytes[..<count]), index) { return answer.manufacturer }
        }
        return nil
    }

    /// Parses the answer; nil for other messages. The answer's manufacturer is nil for a missing controller.
    package static func answer(_ bytes: [UInt8], _ index: UInt16) -> Answer? {
        func number(_ place: Int) -> UInt16 { UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8 }
        // Event, controller, length; command, status; address, version, manufacturer, unused fields.
        guard bytes.count >= 9, number(0) == commandComplete, number(2) == index, number(6) == readInformation else {
            return nil
        }
        guard bytes[8] == 0, bytes.count >= 18 else { return Answer(manufacturer: nil) }
        return Answer(manufacturer: Int(number(16)))
    }
}
