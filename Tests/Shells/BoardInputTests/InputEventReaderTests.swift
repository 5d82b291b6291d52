import BoardInput
import CBTCall
import Testing

/// Bytes as the kernel writes them.
enum Wire {
    static func event(_ type: UInt16, _ code: UInt16, _ value: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: InputEventReader.eventBytes - 8)
        withUnsafeBytes(of: type) { bytes += $0 }
        withUnsafeBytes(of: code) { bytes += $0 }
        withUnsafeBytes(of: value) { bytes += $0 }
        return bytes
    }

    static let report = event(0, 0, 0)
    static let dropped = event(0, 3, 0)

    static func plug(_ isIn: Bool) -> [UInt8] { event(5, 2, isIn ? 1 : 0) + report }
    static func phone(_ value: Int32) -> [UInt8] { event(1, 169, value) + report }

    static func edge(_ identifier: UInt32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: LineEventReader.eventBytes)
        withUnsafeBytes(of: identifier) { bytes.replaceSubrange(8..<12, with: $0) }
        return bytes
    }
}

@Suite struct InputEventReaderTests {
    @Test func `keys and switches are distinguished, other events are left out`() {
        var reader = InputEventReader()
        // EV_REL, EV_MSC, a repeated key.
        let others = Wire.event(2, 0, 5) + Wire.event(4, 4, 1) + Wire.phone(2)
        let bytes = Wire.plug(true) + others + Wire.phone(1) + Wire.dropped + Wire.plug(false)
        #expect(
            reader.read(bytes) == [
                .changed(.headphoneInserted, isOn: true), .changed(.phone, isOn: true), .dropped,
                .changed(.headphoneInserted, isOn: false),
            ])
    }

    @Test func `events are the same however their bytes are split`() {
        let bytes = Wire.plug(true) + Wire.phone(1) + Wire.phone(0)
        var whole = InputEventReader()
        let expected = whole.read(bytes)
        #expect(expected.count == 3)
        for split in 0...bytes.count {
            var reader = InputEventReader()
            #expect(reader.read(bytes[..<split]) + reader.read(bytes[split...]) == expected)
        }
        var single = InputEventReader()
        #expect(bytes.flatMap { single.read([$0]) } == expected)
    }

    @Test func `edges of a line are the same however their bytes are split`() {
        let bytes = Wire.edge(1) + Wire.edge(2) + Wire.edge(7) + Wire.edge(1)
        for split in 0...bytes.count {
            var reader = LineEventReader()
            #expect(reader.read(bytes[..<split]) + reader.read(bytes[split...]) == [true, false, true])
        }
    }
}

@Suite struct InputCodeTests {
    @Test func `codes are read by name and by number, and written as they are read`() throws {
        #expect(InputCode("KEY_PHONE") == InputCode(.key, 169))
        #expect(InputCode("SW_MICROPHONE_INSERT") == .microphoneInserted)
        #expect(InputCode("key:443") == InputCode(.key, 443))
        #expect(InputCode("switch:13")?.description == "SW_LINEIN_INSERT")
        #expect(InputCode("key:30")?.description == "key:30")
        for name in InputCode.names { #expect(InputCode(name)?.description == name) }
    }

    @Test(arguments: ["", "KEY_", "KEY_PHONEX", "169", "key:", "key:-1", "key:768", "lamp:3", "switch:1:2", "key: 3"])
    func `invalid texts are no codes`(text: String) {
        #expect(InputCode(text) == nil)
    }
}
