import BaresipControl
import Telephony
import TestSupport
import Testing

@Suite struct BaresipReaderTests {
    // MARK: Netstrings

    private enum Outcome: Equatable {
        case contents([String])
        case problem(NetstringReader.Problem, after: [String])
    }

    private func read(_ pieces: [[UInt8]]) -> Outcome {
        var reader = NetstringReader()
        var found: [String] = []
        for piece in pieces {
            reader.append(piece)
            do throws(NetstringReader.Problem) {
                while let contents = try reader.next() { found.append(String(decoding: contents, as: UTF8.self)) }
            } catch {
                return .problem(error, after: found)
            }
        }
        return .contents(found)
    }

    @Test(arguments: [
        ("5:hello,0:,3:a:b,", ["hello", "", "a:b"]), ("", []), ("12:not yet", []), ("1", []),
        ("7:Ann Ä!,", ["Ann Ä!"]),
    ])
    func `netstrings are the same however the stream is cut`(text: String, contents: [String]) {
        let bytes = Array(text.utf8)
        #expect(read([bytes]) == .contents(contents))
        #expect(read(bytes.map { [$0] }) == .contents(contents))
        for cut in bytes.indices {
            #expect(read([Array(bytes[..<cut]), Array(bytes[cut...])]) == .contents(contents))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 400", UInt8(ascii: "H"), []), ("2:ab;", UInt8(ascii: ";"), []), ("1:a,x", UInt8(ascii: "x"), ["a"]),
        (":", UInt8(ascii: ":"), []), ("01:a,", UInt8(ascii: "1"), []), ("-1:,", UInt8(ascii: "-"), []),
    ])
    func `what is no netstring is told by its first wrong byte`(text: String, byte: UInt8, before: [String]) {
        let bytes = Array(text.utf8)
        #expect(read([bytes]) == .problem(.unexpected(byte), after: before))
        #expect(read(bytes.map { [$0] }) == .problem(.unexpected(byte), after: before))
    }

    @Test func `a netstring that is too long is refused before it comes`() {
        #expect(read([Array("\(NetstringReader.maximumBytes + 1):".utf8)]) == .problem(.tooLong, after: []))
        #expect(read([Array("99999999999999999999999999".utf8)]) == .problem(.tooLong, after: []))
        #expect(read([Array("\(NetstringReader.maximumBytes):".utf8)]) == .contents([]))
    }

    @Test func `a netstring has the length of its bytes`() {
        #expect(NetstringReader.frame("Ä") == Array("2:Ä,".utf8))
        #expect(read([NetstringReader.frame("{\"a\":1}")]) == .contents(["{\"a\":1}"]))
    }

    // MARK: JSON

    private func parse(_ text: String) throws(CallControl.JSONError) -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @Test(arguments: [
        (" null ", JSONValue.null), ("true", .flag(true)), ("[false]", .list([.flag(false)])),
        ("-0.5e+3", .number("-0.5e+3")),
        ("{}", .object([])), ("[]", .list([])), ("0", .number("0")),
        (
            #"{"a":"b","c":[1,{"d":null}]}"#,
            .object([.init("a", .text("b")), .init("c", .list([.number("1"), .object([.init("d", .null)])]))])
        ),
        (#""\"\\\/\b\f\n\r\t\u00C4\ud83d\ude00""#, .text("\"\\/\u{8}\u{C}\n\r\tÄ😀")),
        (#""\ud83d \ude00 \ud83d\u0041""#, .text("\u{FFFD} \u{FFFD} \u{FFFD}A")),
    ])
    func `JSON is read as it is written`(text: String, value: JSONValue) throws {
        #expect(try parse(text) == value)
    }

    @Test(arguments: [
        ("", 0), ("{", 1), ("[1,]", 3), ("{\"a\"}", 4), ("{\"a\":1,}", 7), ("01", 1), ("1.", 2), ("+1", 0), ("tru", 3),
        ("\"a", 2), ("\"\\x\"", 3), ("\"\\u00g0\"", 5), ("\"a\nb\"", 3), ("1 2", 2), ("nul", 3), ("-", 1), ("1e", 2),
        ("[1 2]", 3), ("{1:2}", 1),
    ])
    func `what is no JSON is refused where it stops being it`(text: String, offset: Int) {
        do throws(CallControl.JSONError) {
            let value = try parse(text)
            Issue.record("\(text) is \(value)")
        } catch {
            #expect(error.offset == offset, "\(error)")
        }
    }

    @Test func `JSON has no more levels than are allowed`() throws {
        let most = JSONValue.maximumDepth
        _ = try parse(String(repeating: "[", count: most) + String(repeating: "]", count: most))
        #expect(throws: CallControl.JSONError.self) {
            try parse(String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000))
        }
    }

    @Test func `a name in another encoding does not hide its call`() throws {
        let value = try JSONValue(parsing: Array(#"{"peerdisplayname":"Andr"#.utf8) + [0xE9] + Array("\"}".utf8))
        #expect(value["peerdisplayname"]?.textValue == "Andr\u{FFFD}")
    }

    // MARK: What baresip says

    @Test(
        arguments: [
            ("sip:+4930123@127.0.0.1:15060", "Ann", "+4930123", "Ann"), ("sip:+4930123@127.0.0.1", "", "+4930123", nil),
            ("sip:alice@example.org;transport=tcp", nil, nil, "alice@example.org"),
            ("sip:alice:secret@example.org", "Alice \\\"A\\\" \u{1}", nil, "Alice \"A\""),
            ("tel:+49-30-1(23)", nil, "+4930123", nil), ("sip:%2B49301@example.org", nil, "+49301", nil),
            ("sip:anonymous@anonymous.invalid", nil, nil, nil), ("sips:*11#@example.org?x=y", nil, "*11#", nil),
            ("sip:127.0.0.1", nil, nil, "127.0.0.1"), ("", nil, nil, nil),
        ] as [(String, String?, String?, String?)])
    func `a party has a number, a name, or an address for one`(
        uri: String, given: String?, number: String?, name: String?
    ) {
        let peer = BaresipPeer(uri: uri, name: given)
        #expect(peer.number == number)
        #expect(peer.name == name)
    }

    @Test(arguments: [
        ("486 Busy Here", true, false, "busy"), ("404 Not Found", true, false, "notFound"),
        ("480 Temporarily Unavailable", true, false, "timedOut"), ("603 Decline", true, false, "rejected"),
        ("Connection reset by user", false, false, "rejected"),
        ("Connection reset by user", false, true, "localHangUp"),
        ("Connection reset by user", true, false, "localHangUp"), ("Connection reset by peer", false, false, "missed"),
        ("Connection reset by peer", false, true, "remoteHangUp"), ("Connection timed out", true, false, "timedOut"),
        ("500 Server Error", true, false, "error"), ("", false, false, "missed"), ("rtp timeout", false, true, "error"),
    ])
    func `baresip's words for an end are reasons`(words: String, isOutgoing: Bool, wasAnswered: Bool, reason: String) {
        let event = BaresipEvent(
            kind: .closed, id: "1", account: "", peer: "", name: nil, isOutgoing: isOutgoing, parameter: words)
        #expect(event.endReason(wasAnswered: wasAnswered).rawValue == reason)
    }

    @Test func `the lists of its console are read`() {
        let lines = BaresipListing.lines(
            "\n--- Active calls (2) ---\n  [line 1]  0:00:07  ESTABLISHED  (on hold)  sip:alice@127.0.0.1:15060\n"
                + "> [line 12]  0:00:01    RINGING             sip:carol@127.0.0.1:15080;transport=tcp\n\n")
        #expect(lines.map(\.number) == [1, 12])
        #expect(lines.map(\.isCurrent) == [false, true])
        #expect(lines.map(\.isOnHold) == [true, false])
        #expect(lines.map(\.state) == [.established, .ringing])
        #expect(lines.map(\.peer) == ["sip:alice@127.0.0.1:15060", "sip:carol@127.0.0.1:15080;transport=tcp"])
        let accounts = BaresipListing.accounts(
            "\n--- User Agents (2) ---\n  sip:bob@127.0.0.1:15070   \u{1B}[32mOK\u{1B}[;m\n> sip:work@127.0.0.1\n\n")
        #expect(accounts.all == ["sip:bob@127.0.0.1:15070", "sip:work@127.0.0.1"])
        #expect(accounts.current == "sip:work@127.0.0.1")
        #expect(BaresipListing.status("\n(no active calls)\n") == nil)
    }
}
