import BluetoothTypes
import Configuration
import Foundation
import Talk
import TalkWords
import Testing

/// `[talk]`, and the files of talk keys.
@Suite struct TalkConfigurationTests {
    private func read(_ text: String) throws -> Configuration { try Configuration(text: text, name: "test.conf") }

    private func mistake(_ text: String) throws -> String {
        "\(try #require(#expect(throws: ConfigurationError.self) { try read(text) }))"
    }

    @Test func `push to talk is off by default, and every key is read`() throws {
        #expect(Configuration().talk == TalkConfiguration())
        #expect(TalkConfiguration().mode == .off && TalkConfiguration().link == .keep)
        let configuration = try read(
            """
            [talk]
            mode = latch
            tailMilliseconds = 0
            timeoutSeconds = 0
            key = !gpio:gpiochip0:17:pullUp
            tones = no
            link = press
            database = none
            overlay = /etc/other.conf
            [headset 00:00:5E:00:53:01]
            talkLink = keep
            """)
        let talk = configuration.talk
        #expect(talk.mode == .latch && talk.tail == .zero && talk.timeout == nil && !talk.playsTones)
        #expect(talk.key?.description == "!gpio:gpiochip0:17:pullUp" && talk.link == .press)
        #expect(configuration.talkKeysFile == nil && configuration.talkKeysOverlay == "/etc/other.conf")
        #expect(configuration.headsets[BluetoothAddress(value: 0x0000_5E00_5301)]?.talkLink == .keep)
    }

    @Test(arguments: [
        ("mode = press", "off, push, toggle, latch"), ("tailMilliseconds = 2001", "from 0 to 2000"),
        ("timeoutSeconds = -1", "from 0 to 3600"), ("key = pedal", "evdev:NAME"), ("tones = some", "yes or no"),
        ("link = open", "keep or press"), ("database = rows.conf", "an absolute path"), ("tone = yes", "tones"),
    ])
    func `a value that is not accepted is refused with the accepted ones`(line: String, accepted: String) throws {
        #expect(try mistake("[talk]\n\(line)\n").contains(accepted))
    }

    @Test func `a headset has keep or press`() throws {
        #expect(try mistake("[headset 00:00:5E:00:53:01]\ntalkLink = no\n").contains("keep or press"))
    }

    // MARK: Files of talk keys

    private func rows(_ name: String) -> String {
        "[database]\nformat = 1\n[key \(name)]\nname = \(name)*\nprotocol = link\nreference = a test\n"
    }

    @Test func `an administrator's row counts before a shipped one, and a mistake is said with its file`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
        let (shipped, admin) = (folder.appending(path: "shipped").path(), folder.appending(path: "admin").path())
        try rows("one").write(toFile: shipped, atomically: true, encoding: .utf8)
        try rows("two").write(toFile: admin, atomically: true, encoding: .utf8)
        let (read, none) = TalkRows.loading(shipped: shipped, overlay: admin)
        #expect(read.rows.map(\.name) == ["two", "one"] && none.isEmpty)
        #expect(read.rows.map(\.origin) == [.admin, .shipped])
        try "[database]\nformat = 1\n[key two]\nprotocol = radio\n".write(
            toFile: admin, atomically: true, encoding: .utf8)
        let (rest, mistakes) = TalkRows.loading(shipped: shipped, overlay: admin)
        #expect(rest.rows.map(\.name) == ["one"])
        #expect(mistakes.map(\.file) == [admin])
        let (_, missing) = TalkRows.loading(shipped: folder.appending(path: "none").path(), overlay: nil)
        #expect(missing.first?.accepted.contains("[talk]: database, overlay") == true)
        #expect(TalkRows.loading(shipped: nil, overlay: nil).mistakes.isEmpty)
        #expect(try TalkRows.learnt(in: folder.path()).rows.isEmpty)
        // btcalld --check knows such a file by its sections.
        #expect(try ConfigurationCheck.check(shipped).contains("1 talk keys"))
        #expect(throws: ConfigurationError.self) { try ConfigurationCheck.check(admin) }
    }
}
