import BaresipControl
import JSONText
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
    func `netstrings are read the same however the stream is split`(text: String, contents: [String]) {
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
    func `an invalid netstring is reported by its first wrong byte`(text: String, byte: UInt8, before: [String]) {
        let bytes = Array(text.utf8)
        #expect(read([bytes]) == .problem(.unexpected(byte), after: before))
        #expect(read(bytes.map { [$0] }) == .problem(.unexpected(byte), after: before))
    }

    @Test func `a netstring that is too long is refused before its bytes arrive`() {
        #expect(read([Array("\(NetstringReader.maximumBytes + 1):".utf8)]) == .problem(.tooLong, after: []))
        #expect(read([Array("99999999999999999999999999".utf8)]) == .problem(.tooLong, after: []))
        #expect(read([Array("\(NetstringReader.maximumBytes):".utf8)]) == .contents([]))
    }

    @Test func `a netstring's length counts bytes`() {
        #expect(NetstringReader.frame("Ä") == Array("2:Ä,".utf8))
        #expect(read([NetstringReader.frame("{\"a\":1}")]) == .contents(["{\"a\":1}"]))
    }

    // MARK: JSON

    @Test func `JSON is nested no deeper than allowed`() throws {
        let most = JSONRules.lenient.depth
        let brackets = String(repeating: "[", count: most) + String(repeating: "]", count: most)
        _ = try JSON(reading: Array(brackets.utf8), rules: .lenient)
        #expect(throws: JSONError.self) {
            let more = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
            return try JSON(reading: Array(more.utf8), rules: .lenient)
        }
    }

    @Test func `a name in another encoding does not hide its call`() throws {
        let text = #"{"event":true,"type":"CALL_INCOMING","id":"1","peerdisplayname":"Andr"#
        let message = BaresipMessage(
            try JSON(reading: Array(text.utf8) + [0xE9] + Array("\"}".utf8), rules: .lenient))
        guard case .event(let event) = message else {
            Issue.record("the call is hidden")
            return
        }
        #expect(event.name == "Andr\u{FFFD}")
    }

    // MARK: Messages from baresip

    @Test(
        arguments: [
            ("sip:+4930123@127.0.0.1:15060", "Ann", "+4930123", "Ann"), ("sip:+4930123@127.0.0.1", "", "+4930123", nil),
            ("sip:alice@example.org;transport=tcp", nil, nil, "alice@example.org"),
            ("sip:alice:secret@example.org", "Alice \\\"A\\\" \u{1}", nil, "Alice \"A\""),
            ("tel:+49-30-1(23)", nil, "+4930123", nil), ("sip:%2B49301@example.org", nil, "+49301", nil),
            ("sip:anonymous@anonymous.invalid", nil, nil, nil), ("sips:*11#@example.org?x=y", nil, "*11#", nil),
            ("sip:127.0.0.1", nil, nil, "127.0.0.1"), ("", nil, nil, nil),
        ] as [(String, String?, String?, String?)])
    func `a remote party has a number, a name, or an address as its name`(
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
    func `baresip's words become end reasons`(words: String, isOutgoing: Bool, wasAnswered: Bool, reason: String) {
        let event = BaresipEvent(
            kind: .closed, id: "1", account: "", peer: "", name: nil, isOutgoing: isOutgoing, parameter: words)
        #expect(event.endReason(wasAnswered: wasAnswered).rawValue == reason)
    }

    @Test func `the console's lists are read`() {
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
