import BluetoothTypes
import Configuration
import Talk
import Testing

/// The list of devices with a talk key that ships.
@Suite struct TalkKeysFileTests {
    private static func rows() throws -> TalkRows {
        try TalkRows(parsing: Array(RepositoryTests.contents("etc/talk-keys.conf").utf8), file: "t", origin: .shipped)
    }

    private static func row(
        _ name: String?, offers services: [ServiceUUID] = []
    ) throws -> TalkRow? {
        let address = BluetoothAddress(value: 0x0011_2233_4455)
        return try rows().row(for: TalkSubject(address: address, name: name, services: Set(services)))
    }

    @Test func `every row is understood and switched on, and none is for any device`() throws {
        let rows = try Self.rows()
        #expect(rows.rows.count >= 6)
        #expect(rows.files.first?.version?.isEmpty == false)
        #expect(rows.rows.allSatisfy { $0.isEnabled && !$0.reference.isEmpty })
        #expect(try Self.row(nil) == nil)
        #expect(try Self.row("Some Headset", offers: [.handsFree, .serialPort, ServiceUUID(short: 0xFFE0)]) == nil)
    }

    @Test(arguments: ["PTT-Z", "PTT-Z01"])
    func `buttons that notify one byte`(_ name: String) throws {
        let row = try #require(try Self.row(name))
        let reader = try #require(NotificationTalkReader(row))
        #expect(reader.read([1]) == .pressed && reader.read([0]) == .released)
    }

    @Test func `one bit of a notification`() throws {
        let service = ServiceUUID(text: "127face1-cb21-11e5-93d0-0002a5d5c51b")
        let row = try #require(try Self.row("APTT", offers: [service, .serialPort]))
        let reader = try #require(NotificationTalkReader(row))
        #expect(reader.read([0x03]) == .pressed && reader.read([0x80]) == .released)
    }

    @Test(arguments: ["APTT 01234", "B02PTT-FF01"])
    func `buttons that send a text`(_ name: String) throws {
        let row = try #require(try Self.row(name, offers: [.serialPort]))
        var reader = try #require(SerialTalkReader(row))
        #expect(reader.read(Array("+PTT=P\r\n+PTT=R".utf8)) == [.pressed, .released])
    }
}
