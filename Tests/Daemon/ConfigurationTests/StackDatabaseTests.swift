import Configuration
import TestSupport
import Testing

/// Lists of known faults (stack.conf), as bytes.
@Suite struct StackDatabaseTests {
    private static let head = "[stack]\nformat = 1\n"
    private static let row = "[fault a]\nprogram = kernel\nversions = 6.1\nsymptom = hums\nreference = here\n"

    private static func refusal(_ text: String) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try StackDatabase(parsing: Array(text.utf8), file: "s.conf")
            return nil
        } catch {
            return error
        }
    }

    private static func fault(_ lines: String) throws -> StackFault {
        let text = head + "[fault a]\nsymptom = hums\nreference = here\n" + lines
        return try #require(try StackDatabase(parsing: Array(text.utf8), file: "s.conf").faults.first)
    }

    @Test(
        arguments: [
            ("", nil, nil, "the file does not begin with [stack]", "[stack] and format = 1"),
            (row, 1, nil, "the file does not begin with [stack]", "[stack] and format = 1"),
            ("[stack]\n", 1, "[stack]", "has no format", "add format = 1"),
            ("[stack]\nformat = 2\n", 2, "[stack] format", "'2' is not accepted", "format 1"),
            (head + "author = me\n", 3, "[stack] author", "there is no such key", "format, version"),
            (head + "[quirk a]\n", 3, "[quirk a]", "there is no such section", "[fault NAME]"),
            (head + "[fault A b]\n", 3, "[fault A b]", "'A b' is no name of a row", "small letters"),
            (head + row + row, 8, "[fault a]", "is given a second time", "line 3"),
            (head + "[fault a]\nprogram = pulse\n", 4, "[fault a] program", "'pulse' is not accepted", "bluetoothd"),
            (head + "[fault a]\nversion = 5\n", 4, "[fault a] version", "there is no such key", "versions"),
            (
                head + "[fault a]\nversions = 6 - 7\n", 4, "[fault a] versions", "'6 - 7' is not accepted",
                "5.62 to 5.64"
            ),
            (
                head + "[fault a]\nversions = 7 to 6\n", 4, "[fault a] versions", "'7 to 6' is not accepted",
                "before 5.9"
            ),
            (head + "[fault a]\nversions = 6,\n", 4, "[fault a] versions", "'6,' is not accepted", "a list"),
            (
                head + "[fault a]\nmended = debian\n", 4, "[fault a] mended", "'debian' is not accepted",
                "5.66-1+deb12u3"
            ),
            (
                head + "[fault a]\nseverity = fault\n", 4, "[fault a] severity", "'fault' is not accepted",
                "warning or note"
            ),
            (
                head + "[fault a]\nalternateSetting = 9\n", 4, "[fault a] alternateSetting", "'9' is not accepted",
                "1, 3 or 6"
            ),
            (head + "[fault a]\nsymptom =\n", 4, "[fault a] symptom", "'' is not accepted", "1 to 180 bytes"),
            (head + row + "program = kernel\n", 8, "[fault a] program", "is given a second time", "line 4"),
            (head + "[fault a]\nversions = 1\n", 3, "[fault a]", "has no program", "program = bluetoothd"),
            (head + row.replacing("versions = 6.1\n", with: ""), 3, "[fault a]", "has no versions", "5.62 to 5.64"),
            (head + row.replacing("symptom = hums\n", with: ""), 3, "[fault a]", "has no symptom", "symptom ="),
            (head + row.replacing("reference = here\n", with: ""), 3, "[fault a]", "has no reference", "known from"),
            (
                head + row.replacing("kernel", with: "bluetoothd") + "releases = 6\n", 3, "[fault a]",
                "has a condition of a kernel, and program = bluetoothd", "program = kernel"
            ),
            (head + "what is this\n", 3, nil, "this is neither a section nor an entry", ""),
            (head + "[fault a\n", 3, nil, "this is no head of a section", "[fault NAME]"),
        ] as [(String, Int?, String?, String, String)])
    func `an invalid line is reported with file, line, key and what is right`(
        _ text: String, _ line: Int?, _ key: String?, _ problem: String, _ accepted: String
    ) throws {
        let error = try #require(Self.refusal(text))
        #expect(error.file == "s.conf" && error.line == line && error.key == key)
        #expect(error.problem == problem)
        #expect(error.accepted.contains(accepted), "\(error.accepted)")
    }

    @Test(
        arguments: [
            ("versions = 5.67", "5.67", true), ("versions = 5.67", "5.67.1", true), ("versions = 5.67", "5.6", false),
            ("versions = 5.62 to 5.64", "5.61.9", false), ("versions = 5.62 to 5.64", "5.64.3-2", true),
            ("versions = 5.62 to 5.64", "5.65", false), ("versions = before 5.9", "5.8.18-generic", true),
            ("versions = before 5.9", "5.9", false), ("versions = before 5.9", "5.10.0-9-amd64", false),
            ("versions = 5, 7.1", "7.1.2", true), ("versions = 5, 7.1", "6.1", false),
            ("versions = 6.1", "unknown", false), ("versions = 6.1", "", false),
            ("releases = 6.1.0-56", "6.1.0-56-amd64", true), ("releases = 6.1.0-56", "6.1.0-5-amd64", false),
            ("releases = 6.1.0-56", "6.1.0-560-amd64", false), ("releases = 6.1.0-56", "6.1.0", false),
        ])
    func `versions are compared by their numbers`(_ line: String, _ release: String, _ applies: Bool) throws {
        let fault = try Self.fault("program = kernel\n\(line)\n")
        #expect(fault.concerns(.init(release: release)) { nil } == applies)
    }

    @Test func `a distribution's kernel counts as the release that it was made from`() throws {
        let fault = try Self.fault("program = kernel\nversions = 6.1.170 to 6.1.180\n")
        #expect(fault.concerns(.init(release: "6.1.0-50-amd64", upstream: "6.1.176")) { nil })
        #expect(!fault.concerns(.init(release: "6.1.0-56-amd64", upstream: "6.1.192")) { nil })
    }

    @Test func `conditions of distribution and alternate setting have to hold`() throws {
        let fault = try Self.fault(
            "program = kernel\nversions = 6\ndistribution = debian, raspbian\nalternateSetting = 1, 3\n")
        func concerns(_ distribution: String?, _ settings: Set<Int>) -> Bool {
            fault.concerns(.init(release: "6.1", distribution: distribution, alternateSettings: settings)) { nil }
        }
        #expect(concerns("raspbian", [3]) && concerns("debian", [6, 1]))
        #expect(!concerns("fedora", [3]) && !concerns(nil, [3]) && !concerns("debian", [6]) && !concerns("debian", []))
    }

    @Test(
        arguments: [
            ("debian", "5.66-1+deb12u2", true), ("debian", "5.66-1+deb12u3", false),
            ("debian", "5.66-1+deb12u10", false),
            ("debian", nil, true), ("fedora", "5.87-5.fc44", true), ("fedora", "5.87-6.fc44", false),
            ("arch", "9", true),
        ] as [(String, String?, Bool)])
    func `a package in which the distribution has mended it has the fault no more`(
        _ distribution: String, _ package: String?, _ applies: Bool
    ) throws {
        let fault = try Self.fault(
            "program = bluetoothd\nversions = 5.66\nmended = debian 5.66-1+deb12u3, fedora 5.87-6\n")
        let subject = StackFault.Subject(release: "5.66", distribution: distribution)
        #expect(fault.concerns(subject) { package.flatMap { PackageVersion($0) } } == applies)
    }

    @Test func `package versions have the order of dpkg`() throws {
        let ordered = [
            "1.0~rc1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0a-1", "1.0.1-1", "1.2-1", "1.10-1", "10",
        ]
        let versions = try ordered.map { try #require(PackageVersion($0)) }
        for (place, version) in versions.enumerated() {
            for (other, another) in versions.enumerated() { #expect((version < another) == (place < other)) }
        }
        #expect(PackageVersion("1:6.12.25-1+rpt1")?.upstream == "6.12.25")
        for text in ["", "a1", "1 2", "1/2", "1:"] { #expect(PackageVersion(text) == nil, "\(text)") }
    }

    @Test func `a row of the administrator replaces the shipped one, or switches it off`() throws {
        func database(_ text: String) throws -> StackDatabase {
            try StackDatabase(parsing: Array((Self.head + text).utf8), file: "s.conf")
        }
        let shipped = try database(Self.row + Self.row.replacing("fault a", with: "fault b"))
        let overlay = try database("[fault a]\nenabled = no\n" + Self.row.replacing("fault a", with: "fault c"))
        #expect(shipped.overlaid(by: overlay).faults.map(\.name) == ["b", "c"])
        let changed = try database(Self.row.replacing("hums", with: "sings"))
        let faults = shipped.overlaid(by: changed).faults(of: .kernel, in: .init(release: "6.1.5"))
        #expect(faults.map(\.symptom) == ["hums", "sings"] && faults.map(\.name) == ["b", "a"])
    }

    @Test func `mistakes of all sections are found, and the other rows count`() throws {
        let text = Self.head + "[fault x]\nprogram = 1\n[fault y]\nversions = z\n" + Self.row
        let (database, mistakes) = try StackDatabase.reading(Array(text.utf8), file: "s.conf")
        #expect(mistakes.map(\.line) == [4, 6] && database.faults.map(\.name) == ["a"])
    }

    @Test func `random bytes and damaged files never trap`() {
        let seed: UInt64 = 20_261_128
        var random = SeededGenerator(seed: seed)
        let whole = Array((Self.head + Self.row + "mended = debian 5.66-1~x\nalternateSetting = 1\n").utf8)
        let alphabet = Array("[]fault stack=,:;#\n\r\t -0123456789aFz*?.~+".utf8) + [0, 0xC3, 0xFF]
        var read = 0
        for round in 0..<4_000 {
            var bytes = whole
            if round.isMultiple(of: 4) {
                bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                    alphabet.randomElement(using: &random) ?? 0
                }
            } else {
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = alphabet.randomElement(using: &random) ?? 0
                }
            }
            if (try? StackDatabase(parsing: bytes, file: "s.conf")) != nil { read += 1 }
        }
        #expect(read > 0 && read < 4_000, "seed \(seed)")
    }

    @Test func `btcalld --check knows the file by its first section`() throws {
        let shipped = "\(#filePath)".replacing(
            "Tests/Daemon/ConfigurationTests/StackDatabaseTests.swift", with: "etc/stack.conf")
        let check = ConfigurationCheck(shipped)
        #expect(check.mistakes == [])
        #expect(
            check.summary.hasSuffix(
                "stack.conf is understood: \(try #require(try StackDatabase.load(shipped)).faults.count) faults"))
        #expect(try StackDatabase.load("/nonexistent/stack.conf") == nil)
    }
}
