import BluetoothTypes
import Foundation
import HandsFree
import HeadsetControl
import Testing

/// Facts about a controller from sysfs and a USB device.
@Suite struct ControllerFactsTests {
    /// A USB device's descriptors: a device, a configuration, and an interface for each setting with one end point.
    private static func descriptors(_ settings: [(interface: UInt8, setting: UInt8, size: UInt16)]) -> [UInt8] {
        var bytes: [UInt8] = [18, 1] + Array(repeating: 0, count: 16) + [9, 2] + Array(repeating: 0, count: 7)
        for (interface, setting, size) in settings {
            bytes += [9, 4, interface, setting, 1, 0xE0, 1, 1, 0]
            bytes += [7, 5, 0x83, interface == 0 ? 2 : 1, UInt8(size & 0xFF), UInt8(size >> 8), 1]
        }
        return bytes
    }

    @Test func `alternate settings for voice are those with large enough packets`() {
        let usual = Self.descriptors([(0, 0, 64), (1, 0, 0), (1, 1, 9), (1, 2, 17), (1, 6, 63)])
        #expect(USBDescriptors.voiceSettings(usual) == [1, 2, 6])
        for length in 0..<usual.count { _ = USBDescriptors.voiceSettings(Array(usual.prefix(length))) }
        #expect(USBDescriptors.voiceSettings([0, 4, 9]) == [])
    }

    @Test func `a controller's facts are read from sysfs`() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "sys-\(UUID().uuidString)")
        let device = root.appending(path: "usb/1-1/1-1:1.0")
        let folder = root.appending(path: "class/hci0")
        for url in [device, folder, root.appending(path: "drivers/btusb")] {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }
        try "usb:v0A12p0001d8891dcE0\n".write(to: device.appending(path: "modalias"), atomically: true, encoding: .utf8)
        try Data(Self.descriptors([(1, 1, 9), (1, 5, 49)])).write(to: root.appending(path: "usb/1-1/descriptors"))
        try FileManager.default.createSymbolicLink(
            at: device.appending(path: "driver"), withDestinationURL: root.appending(path: "drivers/btusb"))
        try FileManager.default.createSymbolicLink(at: folder.appending(path: "device"), withDestinationURL: device)
        let facts = ControllerFacts(directory: root.appending(path: "class").path())
        #expect(
            facts.controller("hci0", manufacturer: 10)
                == .init(
                    name: "hci0", modalias: "usb:v0A12p0001d8891dcE0", driver: "btusb", manufacturer: 10,
                    alternateSettings: [1, 5]))
        #expect(facts.controller("hci1", manufacturer: nil) == .init(name: "hci1"))
        #expect(ControllerFacts.kernel?.first?.isNumber == true)
    }
}
