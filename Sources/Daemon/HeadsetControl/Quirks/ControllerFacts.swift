package import BlueZ
import BluetoothTypes
import Glibc
package import HandsFree

/// A Bluetooth controller's data in sysfs.
package struct ControllerFacts: Sendable {
    private let directory: String
    private let manufacturer: @Sendable (String) -> Int?

    /// - Parameters:
    ///   - directory: replaced in tests.
    ///   - manufacturer: finds a controller's manufacturer where BlueZ does not report it (5.66 does not).
    package init(
        directory: String = "/sys/class/bluetooth", manufacturer: @escaping @Sendable (String) -> Int? = { _ in nil }
    ) {
        self.directory = directory
        self.manufacturer = manufacturer
    }

    /// Assigned number of the company that made an adapter's controller.
    package func manufacturer(of adapter: DeviceRegistry.Adapter) -> Int? {
        adapter.manufacturer ?? manufacturer(adapter.controller)
    }

    /// - Parameters:
    ///   - name: `hci0`.
    ///   - manufacturer: as BlueZ reports it.
    /// - Returns: all that can be read; a virtual controller has only its name.
    package func controller(_ name: String, manufacturer: Int?) -> QuirkSubject.Controller {
        let device = "\(directory)/\(name)/device"
        var controller = QuirkSubject.Controller(name: name, manufacturer: manufacturer)
        // The name comes from an object path: it contains neither slashes nor dots.
        controller.modalias = contents("\(device)/modalias").map { Self.line($0) }
        controller.driver = link("\(device)/driver")
        // The device is the USB interface for commands; the descriptors belong to the whole USB device above it.
        controller.alternateSettings = contents("\(device)/../descriptors").map(USBDescriptors.voiceSettings) ?? []
        return controller
    }

    package static var kernel: String? {
        var name = utsname()
        guard uname(&name) == 0 else { return nil }
        return withUnsafeBytes(of: name.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    private func contents(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    private static func line(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// The last component of what a symbolic link points to.
    private func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 1024)
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let text = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: "/").last.map { String($0) }
    }
}
