import ControlLoop
import Testing

@Suite struct LogLineTests {
    @Test func `A log line is read back unchanged, whatever it contains`() throws {
        let lines = [
            LogLine(level: "notice", module: "btcalld", message: "active"),
            LogLine(level: "error", module: "m", message: "two\nlines = ü", context: ["b": "1=2", "a": ""]),
            LogLine(level: "", module: "", message: ""),
        ]
        for line in lines { #expect(LogLine(packet: line.packet) == line) }
        #expect(LogLine(packet: LogLine(level: "info", module: "m", message: "a\0b").packet)?.message == "a b")
        let long = LogLine(
            level: "info", module: "m", message: String(repeating: "x", count: 10_000),
            context: Dictionary(
                uniqueKeysWithValues: (0..<99).map { ("\($0)", String(repeating: "y", count: 9999)) }))
        #expect(long.packet.count <= LogLine.longestPacket)
        #expect(LogLine(packet: long.packet)?.message.count == LogLine.longestText - 1)
        for bytes: [UInt8] in [[], [0], [0x41], [0x41, 0, 0x42]] { #expect(LogLine(packet: bytes) == nil) }
        #expect(LogLine(packet: [0xFF, 0, 0xFE, 0, 0xC3, 0, 0x61])?.context == [:])
    }
}
