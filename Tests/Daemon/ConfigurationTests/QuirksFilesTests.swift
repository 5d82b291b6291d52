import BluetoothTypes
import Configuration
import Foundation
import HandsFree
import TestSupport
import Testing

/// Quirks files, as bytes and on disk.
@Suite struct QuirksFilesTests {
    private static let head = "[database]\nformat = 1\n"
    private static let row = "[quirk slow]\naddress = 00:14:09\nsetUpSeconds = 30\nreference = here\nreason = slow\n"

    private static func refusal(_ bytes: [UInt8]) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try QuirksDatabase(parsing: bytes, file: "q.conf")
            return nil
        } catch {
            return error
        }
    }

    @Test func `reads a file with comments, blanks and Windows line ends`() throws {
        let text =
            "\u{FEFF}# mine\r\n; too\r\n[database]\r\nformat=1\r\nversion = v 2 ; not this\r\n\r\n[quirk slow] ; x\r\n"
            + "address : 00:14:09\r\nname = Car, Kit*\r\nsetUpSeconds = 30\r\nreference = a #1\r\nreason = slow"
        let database = try QuirksDatabase(parsing: Array(text.utf8), file: "q.conf")
        #expect(database.files == [.init(path: "q.conf", origin: .shipped, version: "v 2", rowCount: 1)])
        let row = try #require(database.rows.first)
        #expect(row.conditions.map(\.description) == ["address = 00:14:09", "name = Car, Kit*"])
        #expect(row.effects == [.setUpSeconds(30)])
        #expect(row.reference == "a #1" && row.reason == "slow" && row.line == 7)
    }

    @Test(
        arguments: [
            ("", nil, "the file does not begin with [database]"),
            ("format = 1\n", 1, "stands in no section"),
            (head + "what is this\n", 3, "this is neither a section nor an entry"),
            (head + "[quirk a\naddress = 00\n", 3, "this is no head of a section"),
            (head + "[quirk a] b\n", 3, "this is no head of a section"),
            (head + "[quirk \(String(repeating: "a", count: 60))]\n", 3, "this is no head of a section"),
            (head + row + " setUpSeconds = 40\n", 8, "the line begins with a blank"),
            (head + row + "setUpSeconds = 40\n", 8, "is given a second time"),
            (head + "[quirk a]\nreason = \(String(repeating: "x", count: 300))\n", 4, "the line is too long"),
            (head + "[quirk a]\nname = a\u{1}b\n", 4, "there is a control character"),
            (head + "[quirk a]\nname = a\0b\n", 4, "there is a control character"),
            (head + row + row, 8, "is given a second time"),
            (head + "[quirk slow]\n" + row, 4, "is given a second time"),
            (head + "[quirk a]\naddress = 00:zz\n", 4, "'00:zz' is not accepted"),
        ] as [(String, Int?, String)])
    func `an invalid line is reported with what is accepted`(_ text: String, _ line: Int?, _ problem: String) throws {
        let error = try #require(Self.refusal(Array(text.utf8)))
        #expect(error.file == "q.conf" && error.line == line)
        #expect(error.problem == problem)
        #expect(!error.accepted.isEmpty)
    }

    @Test func `bytes that are not text, and files that are too long, are refused`() throws {
        #expect(Self.refusal(Array(Self.head.utf8) + [0x23, 0xC3, 0x28, 0x0A])?.problem == "this is no UTF-8")
        let long = Array(Self.head.utf8) + Array(repeating: UInt8(ascii: "\n"), count: QuirksDatabase.mostBytes)
        #expect(Self.refusal(long)?.problem == "the file is too long")
    }

    @Test func `random bytes and damaged files never trap, and accepted rows are complete`() {
        let seed: UInt64 = 20_261_128
        var random = SeededGenerator(seed: seed)
        let whole = Array(
            (Self.head + Self.row + "[quirk b]\nname = *x?\nexpires = 2027-01-01\n"
                + "maskFeatures = hf_indicators\nreference = a\nreason = b\n").utf8)
        let alphabet = Array("[]quirk database=,:;#\n\r\t -0123456789aFz*?.".utf8) + [0, 0xC3, 0xFF, 0x80]
        var taken = 0
        for round in 0..<8_000 {
            var bytes = whole
            if round.isMultiple(of: 4) {
                bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                    alphabet.randomElement(using: &random) ?? 0
                }
            } else {
                for _ in 0...Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                    let position = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0...2, using: &random) {
                    case 0: bytes.remove(at: position)
                    case 1: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: position)
                    default: bytes[position] = alphabet.randomElement(using: &random) ?? 0
                    }
                }
            }
            do throws(ConfigurationError) {
                let database = try QuirksDatabase(parsing: bytes, file: "q")
                taken += 1
                let subject = QuirkSubject(address: BluetoothAddress(value: 0x0014_0911_2233), name: "x")
                _ = database.explain(subject, on: CalendarDate(unixSeconds: 0)).quirks
                if !database.rows.allSatisfy({ !$0.reason.isEmpty && !$0.conditions.isEmpty }) {
                    Issue.record("seed \(seed): \(bytes)")
                }
            } catch {
                if error.accepted.isEmpty { Issue.record("seed \(seed): \(error)") }
            }
        }
        #expect(taken > 100, "seed \(seed)")
    }

    // MARK: Files

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "quirks-\(UUID().uuidString).conf").path()
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `a broken overlay is reported with how to start without it; a custom path must exist`() throws {
        let (shipped, overlay) = (try file(Self.head + Self.row), try file(Self.head + "[quirk a]\nadress = 00\n"))
        let error = try #require(throws: ConfigurationError.self) {
            try QuirksDatabase.load(shipped: shipped, overlay: overlay)
        }
        #expect(error.file == overlay && error.line == 4 && error.key == "[quirk a] adress")
        #expect("\(error)".contains("did you mean 'address'?"))
        #expect("\(error)".hasSuffix("or start without: [quirks] overlay = none"))
        let missing = try #require(throws: ConfigurationError.self) {
            try QuirksDatabase.load(shipped: shipped, overlay: "/nonexistent/quirks.conf")
        }
        #expect("\(missing)".contains("No such file or directory") && "\(missing)".contains("none is for none"))
        #expect(try QuirksDatabase.load(shipped: shipped, overlay: nil).rows.count == 1)
        #expect(try QuirksDatabase.load(shipped: nil, overlay: nil) == QuirksDatabase())
    }

    @Test func `--check reads a configuration with its quirks, and quirks files`() throws {
        let (good, bad) = (try file(Self.head + Self.row), try file(Self.head + "[quirk a]\n"))
        #expect(try ConfigurationCheck.check(good) == "\(good) is understood: 1 rows")
        #expect(throws: ConfigurationError.self) { try ConfigurationCheck.check(bad) }
        let configuration = try file("[quirks]\ndatabase = \(good)\noverlay = none\n")
        #expect(try ConfigurationCheck.check(configuration) == "\(configuration), \(good) (1 rows) is understood")
        let broken = try #require(throws: ConfigurationError.self) {
            try ConfigurationCheck.check(try file("[quirks]\ndatabase = \(bad)\noverlay = none\n"))
        }
        #expect(broken.file == bad && broken.line == 3)
        #expect(throws: ConfigurationError.self) { try ConfigurationCheck.check("/nonexistent") }
    }

    @Test func `--check reports the first mistake of each row, of both files`() throws {
        let shipped = try file(Self.head + "[quirk a]\naddres = 00\n[quirk b]\n" + Self.row)
        let overlay = try file("[quirk c]\nenabled = perhaps\n")
        let found = ConfigurationCheck(try file("[quirks]\ndatabase = \(shipped)\noverlay = \(overlay)\n")).mistakes
        #expect(
            found.map(\.problem) == [
                "there is no such key", "says no headset and no controller", "the file does not begin with [database]",
                "'perhaps' is not accepted",
            ])
        #expect(found.first?.accepted == "did you mean 'address'?")
        #expect(found.last?.accepted.hasSuffix("; or start without: [quirks] overlay = none") == true)
        #expect(ConfigurationCheck(shipped).mistakes == Array(found.prefix(2)))
    }

    @Test func `the configuration names the files and overrides them for a headset`() throws {
        let text = """
            [quirks]
            database = /opt/quirks.conf
            overlay = none
            [headset 00:14:09:aa:bb:cc]
            setUpSeconds = 40
            maskFeatures = hf_indicators
            """
        let configuration = try Configuration(text: text, name: "c")
        #expect(configuration.quirksFile == "/opt/quirks.conf" && configuration.quirksOverlay == nil)
        let address = try #require(BluetoothAddress("00:14:09:AA:BB:CC"))
        #expect(configuration.headsetEffects == [address: [.setUpSeconds(40), .maskFeatures(.hfIndicators)]])
        for (line, problem) in [
            ("[headset 00:14:09]\nsetUpSeconds = 40", "there is no such section"),
            ("[headset 00:14:09:AA:BB:CC]\nsetUpSeconds = 1", "'1' is not accepted"),
            ("[headset 00:14:09:AA:BB:CC]\nvolume = 1", "there is no such key"),
            ("[quirks]\ndatabase = here", "'here' is not accepted"),
        ] {
            let error = try #require(throws: ConfigurationError.self) {
                try Configuration(text: line, name: "c")
            }
            #expect(error.problem == problem && error.line == (problem.contains("section") ? 1 : 2))
        }
    }
}
