import BluetoothTypes
import HandsFree
import Talk
import Testing

@Suite struct TalkRowsTests {
    /// Reads a file in libinih's form: headers in brackets, `key = value`.
    private static func reading(
        _ text: String, _ origin: TalkRow.Origin = .shipped
    ) -> (rows: TalkRows, mistakes: [QuirksError]) {
        var entries: [QuirksEntry] = []
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
                entries.append(QuirksEntry(section: section, key: nil, value: "", line: index + 1))
            } else if let position = line.firstIndex(of: "=") {
                let key = line[..<position].dropLast()
                let value = line[line.index(after: position)...].dropFirst()
                entries.append(QuirksEntry(section: section, key: String(key), value: String(value), line: index + 1))
            }
        }
        return TalkRows.reading(entries: entries, path: "test.conf", origin: origin)
    }

    private static let head = "[database]\nformat = 1\n"

    private static func rows(_ text: String, _ origin: TalkRow.Origin = .shipped) throws -> TalkRows {
        let (rows, mistakes) = reading(head + text, origin)
        if let mistake = mistakes.first { throw mistake }
        return rows
    }

    private static let serial = "protocol = serial\npress = +PTT=P\nrelease = +PTT=R\nreference = here\n"

    private static func subject(
        _ address: UInt64 = 0x0011_2233_4455, name: String? = nil, services: Set<ServiceUUID> = []
    ) -> TalkSubject {
        TalkSubject(
            address: BluetoothAddress(value: address), name: name, modalias: "bluetooth:v004Cp2002", services: services)
    }

    @Test func `rows of each protocol`() throws {
        let rows = try Self.rows(
            """
            [key a]
            name = Mic*
            protocol = at
            press = +XEVENT=PTT,1, +CKPD=200
            release = +XEVENT=PTT,0
            keepsLink = no
            reference = here
            [key b]
            address = 00:11
            protocol = link
            reference = here
            [key c]
            offers = 1101, FFE0
            modalias = bluetooth:*
            \(Self.serial)
            [key d]
            name = Button
            protocol = notification
            service = FFE0
            characteristic = 894c8042-e841-461c-a5c9-5a73d25db08e
            press = 0x01
            alternating = yes
            reference = here
            enabled = no
            """
        ).rows
        #expect(rows.map(\.protocol) == [.at, .link, .serial, .notification])
        #expect(rows.map(\.keepsLink) == [false, false, true, true])
        #expect(rows.map(\.isAlternating) == [false, false, false, true])
        #expect(rows.map(\.isEnabled) == [true, true, true, false])
        guard case .at(let press, let release) = rows[0].reading else { return #expect(Bool(false)) }
        #expect(press == [.event(["PTT", "1"]), .callKey] && release == [.event(["PTT", "0"])])
        guard case .notification(let service, let characteristic, _, let none) = rows[3].reading else {
            return #expect(Bool(false))
        }
        #expect(service == ServiceUUID(short: 0xFFE0) && none == [])
        #expect(characteristic.text == "894c8042-e841-461c-a5c9-5a73d25db08e")
        #expect(rows[2].reasons(for: Self.subject(services: [.serialPort]))?.count == 2)
        #expect(rows[2].reasons(for: Self.subject()) == nil)
    }

    @Test func `a row reads back as it is written`() throws {
        let rows = try Self.rows(
            """
            [key a]
            address = 00:11:22, 33
            name = A*, B?
            protocol = at
            press = +XEVENT=PTT,1, +BVRA=1
            alternating = yes
            keepsLink = no
            reference = here
            [key b]
            offers = FFE0, 894c8042-e841-461c-a5c9-5a73d25db08e
            protocol = serial
            service = 1102
            press = +PTT=P, 0x81/0x83
            release = +PTT=R
            reference = here
            [key c]
            modalias = usb:*
            protocol = link
            reference = here
            enabled = no
            [key d]
            name = D
            protocol = notification
            service = FFE0
            characteristic = FFE1
            press = 0x01
            release = 0x00, 0x02
            reference = here
            """
        ).rows
        for row in rows {
            let again = try #require(try Self.rows(row.text).rows.first)
            #expect(again.text == row.text)
            #expect(again.reading == row.reading && again.conditions == row.conditions && again.name == row.name)
            #expect(again.keepsLink == row.keepsLink && again.isEnabled == row.isEnabled)
        }
    }

    /// Lines of a row, and what the refusal says.
    static let mistakes: [(lines: String, problem: String)] = [
        ("protocol = serial\npress = a\nrelease = b\nreference = r", "says no device"),
        ("name = A\nreference = r", "has no protocol"),
        ("name = A\nprotocol = radio", "'radio' is not accepted"),
        ("name = A\nprotocol = serial\nreference = r", "has no press"),
        ("name = A\nprotocol = serial\npress = a\nreference = r", "has no release"),
        ("name = A\nprotocol = serial\npress = a b\nrelease = c", "'a b' is not accepted"),
        ("name = A\nprotocol = serial\npress = a\nrelease = 0x0", "'0x0' is not accepted"),
        ("name = A\nprotocol = serial\npress = a\nrelease = A", "A and A can be the same message"),
        ("name = A\nprotocol = serial\npress = ab\nrelease = b", "AB and B can be the same message"),
        ("name = A\nprotocol = serial\npress = a, b, a\nrelease = c", "A and A can be the same message"),
        ("name = A\nprotocol = serial\npress = a, b, c, d, e\nrelease = f", "'a, b, c, d, e' is not accepted"),
        (
            "name = A\nprotocol = serial\npress = a\nrelease = b\nalternating = yes",
            "is not possible with alternating = yes"
        ),
        ("name = A\nprotocol = serial\npress = a\nalternating = perhaps", "'perhaps' is not accepted"),
        (
            "name = A\nprotocol = serial\npress = a\nrelease = b\ncharacteristic = FFE1",
            "is not possible with protocol = serial"
        ),
        ("name = A\nprotocol = serial\nservice = FFE\npress = a\nrelease = b", "'FFE' is not accepted"),
        ("name = A\nprotocol = link\npress = a\nreference = r", "is not possible with protocol = link"),
        ("name = A\nprotocol = link\nkeepsLink = yes\nreference = r", "is not possible with protocol = link"),
        ("name = A\nprotocol = at\npress = +CHUP\nrelease = b", "'+CHUP' is not accepted"),
        (
            "name = A\nprotocol = at\npress = +XEVENT=A\nrelease = +XEVENT=A,0",
            "+XEVENT=A and +XEVENT=A,0 can be the same message"
        ),
        ("name = A\nprotocol = notification\npress = 0x01\nrelease = 0x00", "has no service"),
        ("name = A\nprotocol = notification\nservice = FFE0\npress = 0x01\nrelease = 0x00", "has no characteristic"),
        ("name = A\nprotocol = notification\nservice = FFE0\ncharacteristic = x", "'x' is not accepted"),
        (
            "name = A\nprotocol = notification\nservice = FFE0\ncharacteristic = FFE1\npress = 0x01/0x01\nrelease = 0x02/0x02",
            "0x01/0x01 and 0x02/0x02 can be the same message"
        ),
        ("name = A\nname = B", "is given a second time"),
        ("name = A\nprotocol = link\nprotocol = link", "is given a second time"),
        ("name = A\nprotocol = link", "has no reference"),
        ("name = A\nprotocol = link\nreference = \(String(repeating: "r", count: 181))", "'rrr"),
        ("name = A\nprotocoll = link", "there is no such key"),
        ("address = 00:1", "'00:1' is not accepted"),
        ("offers = FFE0, GGGG", "'FFE0, GGGG' is not accepted"),
        ("enabled = no", "says no device"),
    ]

    @Test(arguments: mistakes)
    func `a mistake is named, with what is accepted`(_ mistake: (lines: String, problem: String)) throws {
        let (rows, mistakes) = Self.reading(
            Self.head + "[key row]\n" + mistake.lines + "\n[key good]\nname = A\n" + Self.serial)
        #expect(rows.rows.map(\.name) == ["good"])
        let error = try #require(mistakes.first)
        #expect(mistakes.count == 1)
        #expect(error.problem.contains(mistake.problem), "\(error)")
        #expect(!error.accepted.isEmpty && error.key?.hasPrefix("[key row]") == true, "\(error)")
        #expect((3...12).contains(error.line ?? 0))
    }

    @Test func `mistakes of the file as a whole`() {
        func problems(_ text: String) -> [String] { Self.reading(text).mistakes.map(\.problem) }
        #expect(problems("") == ["the file does not begin with [database]"])
        #expect(problems("[key a]\nname = A\n" + Self.serial) == ["the file does not begin with [database]"])
        #expect(problems("[database]\n") == ["has no format"])
        #expect(problems("[database]\nformat = 2\n") == ["'2' is not accepted"])
        #expect(problems("[database]\nformat = 1\ncolour = red\n") == ["there is no such key"])
        #expect(problems(Self.head + "[quirk a]\n") == ["there is no such section"])
        #expect(problems(Self.head + "[key A]\n") == ["'A' is no name of a row"])
        let many = (0...TalkRows.mostRows).map { "[key k\($0)]\nname = A\n" + Self.serial }.joined()
        #expect(problems(Self.head + many) == ["there are too many rows"])
        #expect(Self.reading(Self.head + many).rows.rows.count == TalkRows.mostRows)
    }

    @Test func `learnt rows count before the administrator's, and those before the shipped ones`() throws {
        let shipped = try Self.rows("[key one]\nname = A*\n\(Self.serial)[key two]\nname = AB\n\(Self.serial)")
        let admin = try Self.rows(
            "[key one]\nenabled = no\n[key three]\nname = AC\n\(Self.serial)[key none]\nenabled = no\n", .admin)
        let learnt = try Self.rows("[key four]\naddress = 00:11:22:33:44:66\n\(Self.serial)", .learnt)
        let rows = shipped.overlaid(by: admin).overlaid(by: learnt)
        #expect(shipped.row(for: Self.subject(name: "AB"))?.name == "one")
        #expect(rows.row(for: Self.subject(name: "AB"))?.name == "two")
        #expect(rows.row(for: Self.subject(name: "AD")) == nil)
        #expect(rows.row(for: Self.subject(name: "AC"))?.name == "three")
        #expect(rows.row(for: Self.subject(0x0011_2233_4466, name: "AC"))?.name == "four")
        #expect(rows.unknownNames == ["none"] && rows.files.map(\.rowCount) == [2, 3, 1])
        let replaced = shipped.overlaid(by: try Self.rows("[key one]\nname = Z\n\(Self.serial)", .admin))
        #expect(replaced.row(for: Self.subject(name: "AB"))?.name == "two")
    }

    @Test func `learnt rows are added, replaced, forgotten and written`() throws {
        let row = TalkRow(
            name: "learnt-1", origin: .learnt, conditions: [try #require(TalkCondition(.address, "00:11"))],
            reading: .link, keepsLink: false, reference: "btcall talk learn")
        let shipped = try Self.rows("[key one]\nname = A*\n\(Self.serial)")
        let once = shipped.learning(row)
        #expect(once.rows.map(\.name) == ["learnt-1", "one"])
        #expect(once.learning(row) == once)
        #expect(once.forgetting("one") == nil)
        #expect(once.forgetting("learnt-1") == shipped)
        let (again, mistakes) = Self.reading(once.learntText, .learnt)
        #expect(mistakes.isEmpty && again.rows.map(\.reading) == [.link])
        #expect(Self.reading(shipped.learntText, .learnt).mistakes.isEmpty)
    }
}
