import BluetoothTypes
import Testing

@Suite struct BluetoothAddressTests {
    @Test(arguments: ["00:1B:DC:08:00:11", "00_1B_DC_08_00_11", "00:1b:dc:08:00:11"])
    func `reads the forms used by users and object paths`(_ text: String) throws {
        let address = try #require(BluetoothAddress(text))
        #expect(address.description == "00:1B:DC:08:00:11")
        #expect(address.pathComponent == "00_1B_DC_08_00_11")
        #expect(address.octets == [0x00, 0x1B, 0xDC, 0x08, 0x00, 0x11])
    }

    @Test(arguments: [
        "", "00:1B:DC:08:00", "00:1B:DC:08:00:11:22", "00:1B:DC:08:00:1", "00:1B:DC:08:00:1G", "001BDC080011",
        "00:1B:DC:08:00:11 ", "00:1B_DC:08_00:11", "é0:1B:DC:08:00:11",
    ])
    func `refuses everything else`(_ text: String) {
        #expect(BluetoothAddress(text) == nil)
    }

    @Test func `orders by value`() throws {
        let low = try #require(BluetoothAddress("00:00:00:00:00:02"))
        let high = try #require(BluetoothAddress("10:00:00:00:00:01"))
        #expect(low < high)
    }
}

@Suite struct InstantTests {
    @Test func `adds durations and saturates`() {
        let start = Instant(milliseconds: 5)
        #expect(start.advanced(by: .milliseconds(3)) == Instant(milliseconds: 8))
        #expect(start.duration(to: Instant(milliseconds: 2)) == .milliseconds(-3))
        #expect(Instant(nanoseconds: .max).advanced(by: .seconds(1)) == Instant(nanoseconds: .max))
        #expect(Instant(nanoseconds: .min).advanced(by: .seconds(-1)) == Instant(nanoseconds: .min))
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.milliseconds(1500).milliseconds == 1500)
    }
}

@Suite struct AssignedNumberTests {
    @Test func `short service classes are put on the base UUID`() {
        #expect(ServiceUUID.handsFreeAudioGateway.text == "0000111f-0000-1000-8000-00805f9b34fb")
        #expect(ServiceUUID(text: "0000111F-0000-1000-8000-00805F9B34FB") == .handsFreeAudioGateway)
    }

    @Test(arguments: [
        (0x240404 as UInt32, ClassOfDevice.Category.headset), (0x240414, .speaker), (0x000704, .watch),
        (0x20080C, .headset), (0, .headset),
    ])
    func `the class of device gives a category and refuses nothing`(_ bits: UInt32, _ category: ClassOfDevice.Category)
    {
        #expect(ClassOfDevice(bits: bits).category == category)
    }
}
