import BTCallTrials
import Testing

@Suite struct ArrivalRecordingTests {
    private func recording(_ text: String) throws(ArrivalRecording.Malformed) -> [[Arrival]] {
        try ArrivalRecording(Array(text.utf8)).links
    }

    private func arrival(_ milliseconds: Int64, _ status: Int32 = 0) -> Arrival {
        Arrival(time: milliseconds * 1_000_000, status: status)
    }

    // MARK: Text

    @Test func `a line is a packet, with or without a status`() throws {
        let links = try recording("# a call\n12.0\n12.008 2  # lost\n\n12.016\t1\r\n")
        #expect(links == [[arrival(0), arrival(8, 2), arrival(16, 1)]])
    }

    @Test func `after two seconds without a packet another link begins`() throws {
        #expect(try recording("1\n3\n5.5\n6\n") == [[arrival(0), arrival(2_000)], [arrival(0), arrival(500)]])
    }

    @Test(arguments: ["x", "1 2 3", "2\n1", "-1", "nan", "inf", "1e10", "1 256", "1 -1", "1 x"])
    func `a line that is no packet is refused with its number`(text: String) {
        let number = text.split(separator: "\n").count + 1
        #expect(throws: ArrivalRecording.Malformed.line(number)) { try recording("# one\n" + text) }
    }

    @Test(arguments: ["", "# nothing\n", "btsnoop\0", "btsnoop\0\0\0\0\u{1}\0\0\u{7}\u{51}"])
    func `a file without packets is refused`(text: String) {
        #expect(throws: ArrivalRecording.Malformed.noPackets) { try recording(text) }
    }

    // MARK: btsnoop

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    private static func file(_ kind: Int, _ records: [[UInt8]]) -> [UInt8] {
        Array("btsnoop\0".utf8) + bytes(1, 4) + bytes(kind, 4) + records.flatMap { $0 }
    }

    private static func record(_ flags: Int, at milliseconds: Int, _ data: [UInt8]) -> [UInt8] {
        // Microseconds since the year 0.
        let time = 62_167_219_200_000_000 + milliseconds * 1_000
        return bytes(data.count, 4) + bytes(data.count, 4) + bytes(flags, 4) + bytes(0, 4) + bytes(time, 8) + data
    }

    /// Handle and status, length, payload.
    private static func voice(_ handle: Int, _ status: Int = 0) -> [UInt8] {
        [UInt8(handle & 0xFF), UInt8(handle >> 8 | status << 4), 2, 0, 0]
    }

    /// Adapters 0 and 1, each with a link of handle 0x0101; packets that were sent, and a command.
    private static let monitor: [UInt8] = file(
        2_001,
        [
            record(7, at: 5_000, voice(0x101)), record(1 << 16 | 7, at: 5_004, voice(0x101, 1)),
            record(6, at: 5_005, voice(0x101)), record(2, at: 5_006, [1, 2, 3, 4, 5]),
            record(7, at: 5_008, voice(0x101, 2)), record(1 << 16 | 7, at: 5_012, voice(0x101, 3)),
            record(7, at: 5_016, [1, 1]),
        ])

    @Test func `the kernel's monitor: received voice packets, by adapter, with their status`() throws {
        let links = try ArrivalRecording(Self.monitor).links
        #expect(links == [[arrival(0), arrival(8, 2)], [arrival(0, 1), arrival(8, 3)]])
    }

    @Test func `packets with their type: received voice packets, by handle`() throws {
        let capture = Self.file(
            1_002,
            [
                Self.record(1, at: 0, [3] + Self.voice(0x101)), Self.record(0, at: 2, [3] + Self.voice(0x101)),
                Self.record(1, at: 3, [4, 5, 4, 0, 1, 1]), Self.record(1, at: 8, [3] + Self.voice(0x101, 1)),
                Self.record(1, at: 9, [3] + Self.voice(0xEFF)), Self.record(1, at: 10, []),
            ])
        #expect(try ArrivalRecording(capture).links == [[arrival(0), arrival(8, 1)], [arrival(0)]])
    }

    @Test func `any beginning of a capture, and any damage, is read or refused, and nothing else happens`() {
        for count in 0...Self.monitor.count {
            // Either outcome is right.
            _ = try? ArrivalRecording(Array(Self.monitor.prefix(count)))
        }
        var random = SeededRandom(1)
        for _ in 0..<2_000 {
            var bytes = Self.monitor
            for _ in 0..<4 {
                bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? ArrivalRecording(bytes)
        }
    }
}
