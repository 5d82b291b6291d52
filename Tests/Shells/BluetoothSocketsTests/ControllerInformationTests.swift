import BluetoothSockets
import Testing

@Suite struct ControllerInformationTests {
    /// Command Complete of Read Controller Information for hci1: address, version, company 15, settings, class, names.
    private static let answer: [UInt8] =
        [0x01, 0x00, 0x01, 0x00, 0x1B, 0x01, 0x04, 0x00, 0x00] + [1, 0, 7, 0xDC, 0x1B, 0] + [9, 0x0F, 0x00]
        + [UInt8](repeating: 0, count: 271)

    @Test func `the manufacturer is read from the kernel's answer`() {
        #expect(ControllerInformation.answer(Self.answer, 1)?.manufacturer == 15)
    }

    @Test func `other messages than the answer are ignored`() {
        #expect(ControllerInformation.answer(Self.answer, 0) == nil)
        #expect(ControllerInformation.answer([], 1) == nil)
        for place in [0, 6] {
            var other = Self.answer
            other[place] ^= 0x80
            #expect(ControllerInformation.answer(other, 1) == nil)
        }
    }

    @Test func `an answer that is an error or too short has no manufacturer`() {
        var refused = Self.answer
        refused[8] = 0x11
        let error = ControllerInformation.answer(refused, 1)
        #expect(error != nil && error?.manufacturer == nil)
        for count in 0..<18 {
            #expect(ControllerInformation.answer(Array(Self.answer.prefix(count)), 1)?.manufacturer == nil)
        }
    }

    @Test func `a missing controller, or an invalid name, has no manufacturer`() {
        for name in ["hci65534", "hci", "eth0", "", "hci-1", "hci70000"] {
            #expect(ControllerInformation.manufacturer(of: name) == nil)
        }
    }
}
