import BluetoothTypes
import HandsFree
import Testing

@Suite struct QuirksDatabaseTests {
    private static let today = CalendarDate(unixSeconds: 1_795_000_000)  // 2026-11-18

    /// A file in libinih's form: headers in brackets, `key = value`.
    private static func database(
        _ text: String, _ origin: QuirkRow.Origin = .shipped
    ) throws(QuirksError) -> QuirksDatabase {
        var entries: [QuirksEntry] = []
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
                entries.append(QuirksEntry(section: section, key: nil, value: "", line: index + 1))
            } else if let position = line.firstIndex(of: "=") {
                let key = line[..<position].dropLast()
                let value = line[line.index(after: position)...].dropFirst()
                entries.append(QuirksEntry(section: section, key: String(key), value: String(value), line: index + 1))
            }
        }
        return try QuirksDatabase(entries: entries, path: "test.conf", origin: origin)
    }

    private static func file(_ rows: String) -> String { "[database]\nformat = 1\nversion = 7\n" + rows }

    /// A row with this condition and effect.
    private static func row(_ name: String, _ lines: String) -> String {
        "[quirk \(name)]\n\(lines)\nreference = here\nreason = it fails\n"
    }

    private static func subject(
        _ address: UInt64, name: String? = nil, modalias: String? = nil, controller: QuirkSubject.Controller = .init()
    ) -> QuirkSubject {
        QuirkSubject(
            address: BluetoothAddress(value: address), name: name, modalias: modalias, controller: controller,
            kernel: "6.1.0")
    }

    private func names(_ matches: [QuirksExplanation.Match]) -> [String] { matches.map(\.row.name) }

    @Test func `several rows apply, in the order of the file, with their reasons`() throws {
        let database = try Self.database(
            Self.file(
                Self.row("by-address", "address = 00:14:09, 00:06:F5\nsetUpSeconds = 30\nmaskFeatures = hf_indicators")
                    + Self.row("by-name", "name = Car*\nsetUpSeconds = 60")
                    + Self.row("both", "address = 00:14\nname = Car Kit\nmaskFeatures = codec_negotiation")
                    + Self.row("other", "address = 00:99\nforgetsVolume = yes")))
        let explanation = database.explain(Self.subject(0x0014_0911_2233, name: "Car Kit"), on: Self.today)
        #expect(names(explanation.applied) == ["by-address", "by-name", "both"])
        #expect(
            explanation.applied.map(\.reasons) == [
                ["the address begins with 00:14:09"], ["the name is “Car Kit” (Car*)"],
                ["the address begins with 00:14", "the name is “Car Kit”"],
            ])
        #expect(explanation.near.isEmpty)
        #expect(
            explanation.outcomes.map { "\($0.effect): \($0.sources.joined(separator: " "))" } == [
                "maskFeatures = codec_negotiation, hf_indicators: by-address both", "setUpSeconds = 60: by-name",
            ])
        #expect(explanation.quirks.setUpSeconds == 60)
        #expect(explanation.quirks.maskedFeatures == [.codecNegotiation, .hfIndicators])
        #expect(!explanation.quirks.forgetsVolume)
        #expect(
            explanation.summary
                == "maskFeatures = codec_negotiation, hf_indicators (by-address, both); setUpSeconds = 60 (by-name)")
    }

    @Test func `the configuration has the last word`() throws {
        let database = try Self.database(
            Self.file(Self.row("slow", "address = 00:14\nsetUpSeconds = 30\nsoftwareVolume = yes")))
        let explanation = database.explain(
            Self.subject(0x0014_0911_2233),
            lastWord: [.setUpSeconds(20), .softwareVolume(false), .brokenCodecs([.mSBC])],
            on: Self.today)
        #expect(explanation.quirks.setUpSeconds == 20)
        #expect(!explanation.quirks.softwareVolume)
        #expect(explanation.quirks.brokenCodecs == [.mSBC])
        #expect(explanation.outcomes.map(\.sources) == Array(repeating: ["configuration"], count: 3))
    }

    @Test func `a row for the headset that does not apply is shown with the missing condition`() throws {
        let database = try Self.database(
            Self.file(
                Self.row("alt", "name = AirPods\nalternateSetting = 1\nbrokenCodecs = msbc")
                    + Self.row("kernel", "alternateSetting = 6\nkernel = 0-5\nbrokenCodecs = msbc")
                    + Self.row("old", "name = AirPods\nexpires = 2026-11-18\nforgetsVolume = yes")
                    + Self.row("ends-tomorrow", "name = AirPods\nexpires = 2026-11-19\nforgetsVolume = yes")
                    + Self.row("off", "address = 00\nenabled = no\nforgetsVolume = yes")
                    + Self.row("id", "modalias = bluetooth:v004C*\nforgetsVolume = yes")))
        let explanation = database.explain(
            Self.subject(1, name: "AirPods", controller: .init(name: "hci0", alternateSettings: [1, 6])), on: Self.today
        )
        #expect(names(explanation.applied) == ["ends-tomorrow"])
        #expect(names(explanation.near) == ["alt", "old", "off"])
        #expect(
            explanation.near.map(\.obstacles) == [
                ["the alternate setting of mSBC is 6, not 1"], ["it has expired on 2026-11-18"], ["it is switched off"],
            ])
    }

    @Test func `a controller's row applies to every headset on it`() throws {
        let database = try Self.database(
            Self.file(Self.row("serial", "driver = hci_uart_*\nmanufacturer = 15, 305\nadvice = look at the routing")))
        let broadcom = QuirkSubject.Controller(name: "hci0", driver: "hci_uart_bcm", manufacturer: 15)
        #expect(names(database.explain(Self.subject(1, controller: broadcom), on: Self.today).applied) == ["serial"])
        let silent = QuirkSubject.Controller(name: "hci0", driver: "hci_uart_bcm")
        #expect(database.explain(Self.subject(1, controller: silent), on: Self.today).applied.isEmpty)
        #expect(database.explain(Self.subject(1), on: Self.today).quirks == Quirks())
    }

    @Test func `a key's earlier name is accepted and noted`() throws {
        let database = try Self.database(Self.file(Self.row("two", "address = 00\naudioDelayMs = 500")))
        #expect(database.rows.map(\.effects) == [[.audioDelayMilliseconds(500)]])
        let former = try #require(database.formerKeys.first)
        #expect(former.name == "[quirk two] audioDelayMs" && former.current == "audioDelayMilliseconds")
        #expect(former.value == "500" && database.formerKeys.count == 1)
        let laid = QuirksDatabase().overlaid(by: database)
        #expect(laid.formerKeys == database.formerKeys)
        #expect(throws: (any Error).self) {
            try Self.database(
                Self.file(Self.row("two", "address = 00\naudioDelayMs = 500\naudioDelayMilliseconds = 500")))
        }
    }

    @Test func `the administrator's rows replace, add and switch off`() throws {
        let shipped = try Self.database(
            Self.file(
                Self.row("one", "address = 00\nsetUpSeconds = 30") + Self.row("two", "address = 00\naudioDelayMs = 500")
                    + Self.row("three", "address = 00\nforgetsVolume = yes")))
        let admin = try Self.database(
            Self.file(
                Self.row("one", "address = 00\nsetUpSeconds = 90")
                    + "[quirk two]\nenabled = no\n[quirk gone]\nenabled = no\n"
                    + Self.row("mine", "address = 00\nnoMicrophoneVolume = yes")), .admin)
        let database = shipped.overlaid(by: admin)
        #expect(database.files.map(\.rowCount) == [3, 4])
        #expect(
            database.rows.map { "\($0.name) \($0.origin)" } == [
                "two shipped", "three shipped", "one admin", "mine admin",
            ])
        #expect(database.rows.map { $0.state(on: Self.today) } == [.off, .active, .active, .active])
        #expect(database.unknownNames == ["gone"])
        let quirks = database.explain(Self.subject(1), on: Self.today).quirks
        #expect(quirks.setUpSeconds == 90 && quirks.forgetsVolume && quirks.noMicrophoneVolume)
        #expect(quirks.audioDelayMilliseconds == nil)
    }

    @Test(
        arguments: [
            ("", nil, "the file does not begin with [database]"),
            ("[quirk a]\nreason = x\n", 1, "the file does not begin with [database]"),
            ("[database]\nversion = 2\n", 1, "has no format"),
            ("[database]\nformat = 2\n", 2, "'2' is not accepted"),
            ("[database]\nformat = one\n", 2, "'one' is not accepted"),
            ("[database]\nformat = 1\ndate = 3\n", 3, "there is no such key"),
            ("[database]\nformat = 1\n[device a]\n", 3, "there is no such section"),
            ("[database]\nformat = 1\n[quirk Big]\n", 3, "'Big' is no name of a row"),
            ("[database]\nformat = 1\n[quirk configuration]\n", 3, "'configuration' is no name of a row"),
            (
                file(row("a", "address = 00\nforgetsVolume = yes") + row("a", "address = 01\nforgetsVolume = yes")), 9,
                "is given a second time"
            ),
            (file("[quirk a]\n"), 4, "says no headset and no controller"),
            (file("[quirk a]\nenabled = no\n"), 4, "says no headset and no controller"),
            (file("[quirk a]\naddress = 00\nreference = x\nreason = y\n"), 4, "does nothing"),
            (file("[quirk a]\naddress = 00\nforgetsVolume = yes\nreason = y\n"), 4, "has no reference"),
            (file("[quirk a]\naddress = 00\nforgetsVolume = yes\nreference = y\n"), 4, "has no reason"),
            (file("[quirk a]\naddress = 00:1\n"), 5, "'00:1' is not accepted"),
            (file("[quirk a]\nname = a,,b\n"), 5, "'a,,b' is not accepted"),
            (file("[quirk a]\nmanufacturer = 65536\n"), 5, "'65536' is not accepted"),
            (file("[quirk a]\nalternateSetting = 7\n"), 5, "'7' is not accepted"),
            (file("[quirk a]\nkernel = new\n"), 5, "'new' is not accepted"),
            (file("[quirk a]\nmakesCoffee = yes\n"), 5, "there is no such key"),
            (file("[quirk a]\nforgetsVolume = sometimes\n"), 5, "'sometimes' is not accepted"),
            (file("[quirk a]\nexpires = soon\n"), 5, "'soon' is not accepted"),
            (file("[quirk a]\nenabled = 2\n"), 5, "'2' is not accepted"),
            (file("[quirk a]\nreason = \(String(repeating: "x", count: 181))\n"), 5, "is empty or too long"),
        ] as [(String, Int?, String)])
    func `an invalid entry is refused with its line and what is accepted`(
        _ text: String, _ line: Int?, _ problem: String
    ) throws {
        let error = try #require(throws: QuirksError.self) { try Self.database(text) }
        #expect(error.line == line)
        #expect(error.problem == problem)
        #expect(!error.accepted.isEmpty)
    }

    @Test func `too many rows are refused`() throws {
        let rows = (0...QuirksDatabase.mostRows).map { Self.row("r\($0)", "address = 00\nforgetsVolume = yes") }
            .joined()
        let error = try #require(throws: QuirksError.self) { try Self.database(Self.file(rows)) }
        #expect(error.problem == "there are too many rows")
    }
}
