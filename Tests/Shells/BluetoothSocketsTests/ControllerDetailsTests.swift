import BluetoothSockets
import BluetoothTypes
import Testing

@Suite struct ControllerDetailsTests {
    /// `struct hci_dev_info` of a controller on USB: number 1, SCO MTU 64:8, 300 voice packets out and 7 in.
    private static var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 92)
        bytes[0] = 1
        bytes.replaceSubrange(2..<6, with: Array("hci1".utf8))
        bytes.replaceSubrange(10..<16, with: [0x01, 0x53, 0x00, 0x5E, 0x00, 0x00])
        bytes[16] = 5
        bytes[20] = 0x01
        bytes.replaceSubrange(21..<29, with: [0xFF, 0xFF, 0x08, 0x80, 0x00, 0, 0, 0])
        bytes[48] = 64
        bytes[50] = 8
        bytes.replaceSubrange(76..<78, with: [0x2C, 0x01])
        bytes[80] = 7
        return bytes
    }

    @Test func `The kernel's data of a controller is parsed`() throws {
        let details = try #require(ControllerDetails(Self.bytes) { $0 == "hci1" ? 15 : nil })
        #expect(details.name == "hci1" && details.address == BluetoothAddress("00:00:5E:00:53:01"))
        #expect(details.isUp && details.bus == .usb && details.manufacturer == 15)
        #expect(details.hasFeatures && details.hasTransparentVoice && details.hasExtendedLinks)
        #expect(details.hasClassicBluetooth)
        #expect(details.voicePacketBytes == 64 && details.voicePackets == 8)
        #expect(details.voicePacketsSent == 300 && details.voicePacketsReceived == 7)
    }

    @Test func `Missing features are not reported, and too few bytes are refused`() throws {
        var bytes = Self.bytes
        bytes.replaceSubrange(21..<29, with: [0, 0, 0xF7, 0x7F, 0x20, 0, 0, 0])
        bytes[16] = 4
        bytes[20] = 0x03
        let details = try #require(ControllerDetails(bytes) { _ in nil })
        #expect(!details.hasTransparentVoice && !details.hasExtendedLinks && !details.hasClassicBluetooth)
        #expect(!details.isUp && details.bus == .uart && details.manufacturer == nil)
        #expect(ControllerDetails(Array(bytes.dropLast())) { _ in nil } == nil)
    }

    @Test func `A machine's own controllers can be listed, with or without Bluetooth`() {
        for details in ControllerDetails.all() { #expect(details.name.hasPrefix("hci")) }
    }
}
