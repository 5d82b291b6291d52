import BaresipControl
import BluetoothTypes
import ProgramSettings
import Testing

@Suite struct BaresipSettingsTests {
    private typealias Arguments = ProgramArguments<BaresipSettings>

    private func read(_ text: String) throws(SettingsError) -> BaresipSettings {
        try BaresipSettings(reading: Array(text.utf8), file: "baresip.conf")
    }

    private func refusal(_ text: String) throws -> String {
        try #require(throws: SettingsError.self) { try read(text) }.description
    }

    // MARK: Address

    @Test(arguments: [
        ("127.0.0.1:4444", 0x7F00_0001, 4444, true), ("localhost:1", 0x7F00_0001, 1, true),
        ("192.0.2.10:65535", 0xC000_020A, 65535, false), ("0.0.0.0:80", 0, 80, false),
    ])
    func `an address is IPv4 and a port`(text: String, host: UInt32, port: UInt16, isLoopback: Bool) throws {
        let address = try #require(BaresipAddress(text))
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.isLoopback == isLoopback)
        if !text.hasPrefix("localhost") { #expect("\(address)" == text) }
    }

    @Test(arguments: [
        "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:4444x", "127.0.0.1:+44",
        "127.0.0.1: 44", "127.0.0:44", "127.0.0.1.1:44", "256.0.0.1:44", "127.0.0.01:44", "127..0.1:44", "::1:4444",
        "example.org:4444", "127.0.0.1:4444:1", "-1.0.0.1:44", "127.0.0.1:99999999999999999999",
    ])
    func `anything else is not an address`(text: String) {
        #expect(BaresipAddress(text) == nil)
    }

    // MARK: File

    @Test func `a file without entries has the defaults`() throws {
        let settings = try read("# a comment\n\n ; another\n\t\r\n")
        #expect(settings == BaresipSettings())
        #expect(settings.control == BaresipAddress.standard)
        #expect(settings.account == nil)
        #expect(settings.video == .off)
        #expect(settings.logLevel == .info)
    }

    @Test func `every key is read, with and without spaces and a line feed at the end`() throws {
        var expected = BaresipSettings()
        expected.control = BaresipAddress(host: 0x7F00_0002, port: 5555)
        expected.account = "sip:alice@example.org;transport=tcp"
        expected.video = .sendOnly
        expected.logLevel = .debug
        let compact =
            "control=127.0.0.2:5555\naccount=sip:alice@example.org;transport=tcp\nvideo=sendOnly\nlogLevel=debug"
        #expect(try read(compact) == expected)
        let wide =
            "  control =\t127.0.0.2:5555 \r\n account = sip:alice@example.org;transport=tcp\r\n video = sendOnly\r\n"
            + " logLevel  =  debug \r\n"
        #expect(try read(wide) == expected)
    }

    @Test(arguments: [
        ("control = 4444", "control: '4444' is not accepted; it is an IPv4 address and a port, as 127.0.0.1:4444"),
        ("account = alice", "account: 'alice' is not accepted; it is an address of record, as sip:alice@example.org"),
        ("account = sip:a b@c", "is not accepted"), ("account =", "account: '' is not accepted"),
        ("logLevel = loud", "it is one of trace, debug, info, notice, warning, error"),
        ("video = yes", "video: 'yes' is not accepted; it is one of sendReceive, sendOnly, receiveOnly, none"),
        ("color = red", "color: there is no such key; accepted: control, account, video, logLevel"),
        ("enabled = yes", "`systemctl enable --now btcall-baresip` starts it"),
        ("address = 127.0.0.1", "write both as control = ADDRESS:PORT"),
        ("port = 4444", "write both as control = ADDRESS:PORT"),
        ("[provider baresip]", "[provider baresip]: this file has no sections"),
        ("control", "'control' is no entry; accepted: key = value"), ("control\0 = 1", "is not UTF-8"),
    ])
    func `an error names its line and what is accepted`(line: String, message: String) throws {
        let text = try refusal("# first\n\(line)\n")
        #expect(text.hasPrefix("baresip.conf:2: "), "\(text)")
        #expect(text.contains(message), "\(text)")
    }

    @Test func `a key given twice is refused with both lines`() throws {
        let text = try refusal("logLevel = info\n\nlogLevel = info\n")
        #expect(text == "baresip.conf:3: logLevel is given a second time; keep one of this and line 1")
    }

    @Test func `a line that is not UTF-8 is refused`() throws {
        let error = try #require(throws: SettingsError.self) {
            try BaresipSettings(reading: Array("account = sip:".utf8) + [0xE9, 0x0A], file: "f")
        }
        #expect("\(error)".hasPrefix("f:1: "))
    }

    // MARK: Command line

    @Test func `options override the file`() throws {
        var settings = try read("control = 127.0.0.1:1\naccount = sip:a@b\nlogLevel = error\n")
        try Arguments([]).apply(to: &settings)
        #expect(settings == (try read("control = 127.0.0.1:1\naccount = sip:a@b\nlogLevel = error\n")))
        let words = ["--control", "127.0.0.1:2", "--account", "sip:c@d", "--log-level", "trace"]
        try Arguments(words).apply(to: &settings)
        #expect(settings == (try read("control = 127.0.0.1:2\naccount = sip:c@d\nlogLevel = trace\n")))
    }

    @Test func `the words of the command line have fixed places`() throws {
        let arguments = try Arguments(["--config", "f", "--bus", "session", "--foreground"])
        #expect(arguments.purpose == .run)
        #expect(arguments.configuration == "f")
        #expect(arguments.bus == "session")
        #expect(arguments.isForeground)
        #expect(try Arguments(["--check", "f"]).purpose == .check("f"))
        #expect(try Arguments(["--version"]).purpose == .version)
        #expect(try Arguments(["-h"]).purpose == .help)
    }

    @Test(arguments: [["--config"], ["--color"], ["file"], ["--control"]])
    func `a wrong word is named`(words: [String]) throws {
        let error = try #require(throws: SettingsError.self) { try Arguments(words) }
        #expect("\(error)".contains(words[0]))
    }

    @Test func `a wrong value of an option is refused with what is accepted`() throws {
        let arguments = try Arguments(["--control", "baresip"])
        var settings = BaresipSettings()
        let error = try #require(throws: SettingsError.self) { try arguments.apply(to: &settings) }
        #expect("\(error)".contains("as 127.0.0.1:4444"))
    }

    // MARK: Commands

    @Test func `a command is JSON in a netstring`() {
        func text(_ parameters: String?) -> String {
            String(decoding: BaresipMessage.command("dial", parameters, token: "7"), as: UTF8.self)
        }
        #expect(text(nil) == #"30:{"command":"dial","token":"7"},"#)
        #expect(text(#"sip:"a\b"@c"#) == #"56:{"command":"dial","params":"sip:\"a\\b\"@c","token":"7"},"#)
    }
}
