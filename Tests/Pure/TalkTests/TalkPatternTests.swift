import HandsFree
import Talk
import Testing

@Suite struct TalkPatternTests {
    @Test(arguments: ["+PTT=P", "+ptt=p", "P", "0x01", "0xABcd", "0x01/0x01", "0x8000/0xFF00", "C:SP*"])
    func `a pattern reads back as it is written`(_ text: String) throws {
        let pattern = try #require(TalkPattern(text))
        #expect(TalkPattern(pattern.description) == pattern)
    }

    @Test(
        arguments: [
            "", "+PTT P", "a,b", "a;b", "\"a\"", "0x", "0x0", "0x0g", "0x01/0x01/0x01", "0x01/", "0x01/0x0101",
            "0x01/0x00", "0x01/01", "é", "a\u{7F}", String(repeating: "a", count: 33),
            "0x" + String(repeating: "00", count: 33),
        ])
    func `anything else is refused`(_ text: String) {
        #expect(TalkPattern(text) == nil)
    }

    @Test func `a text matches in either case, and with a line end after it`() throws {
        let pattern = try #require(TalkPattern("+ptt=P"))
        for value in ["+PTT=P", "+ptt=p", "+Ptt=p\r\n", "+PTT=P\n", "+PTT=P\0"] {
            #expect(pattern.matches(Array(value.utf8)), "\(value.debugDescription)")
        }
        for value in ["", "+PTT=", "+PTT=PP", " +PTT=P", "+PTT=P \r\n", "+PTT\u{1D}P", "\r\n"] {
            #expect(!pattern.matches(Array(value.utf8)), "\(value.debugDescription)")
        }
    }

    @Test func `bytes match exactly, or by their mask`() throws {
        let exact = try #require(TalkPattern("0x4150"))
        #expect(exact.matches([0x41, 0x50]))
        #expect(!exact.matches([0x61, 0x50]) && !exact.matches([0x41, 0x50, 0x0A]) && !exact.matches([0x41]))
        let bit = try #require(TalkPattern("0x01/0x01"))
        #expect(bit.matches([0x01]) && bit.matches([0x83]))
        #expect(!bit.matches([0x82]) && !bit.matches([]) && !bit.matches([0x01, 0x01]))
        // Bits outside the mask do not count, also in the pattern.
        #expect(TalkPattern("0xFF/0x01") == bit)
    }

    @Test func `conflicts are found`() throws {
        func pattern(_ text: String) throws -> TalkPattern { try #require(TalkPattern(text)) }
        #expect(try pattern("0x01").overlaps(pattern("0x01/0x01")))
        #expect(try !pattern("0x00/0x01").overlaps(pattern("0x01/0x01")))
        #expect(try pattern("0x02/0x02").overlaps(pattern("0x01/0x01")))
        #expect(try pattern("+PTT=P").contains(pattern("=p")))
        #expect(try !pattern("+PTTS=P").contains(pattern("+PTT=P")))
        #expect(try !pattern("=p").contains(pattern("+PTT=P")))
        #expect(try pattern("0x0102").contains(pattern("0x02")))
    }

    @Test func `an observed message becomes a text without its line end, or its bytes`() {
        #expect(TalkPattern(observed: Array("+PTT=P\r\n".utf8)) == TalkPattern("+PTT=P"))
        #expect(TalkPattern(observed: [0]) == TalkPattern("0x00"))
        #expect(TalkPattern(observed: [1, 0]) == TalkPattern("0x0100"))
        #expect(TalkPattern(observed: Array("0x1\r".utf8)) == TalkPattern("0x3078310D"))
        #expect(TalkPattern(observed: []) == nil)
        #expect(TalkPattern(observed: [UInt8](repeating: 1, count: 33)) == nil)
    }

    @Test(arguments: ["+XEVENT=TALK,1", "+XEVENT=SOS,1,2,3", "+XEVENT=DON", "+CKPD=200", "+BVRA=1", "+BVRA=0"])
    func `a pattern of a command reads back as it is written`(_ text: String) throws {
        #expect(try #require(ATTalkPattern(text)).description == text)
    }

    @Test(
        arguments: [
            "", "+XEVENT=", "+XEVENT=1", "+XEVENT=BATTERY,1", "+XEVENT=A,,1", "+XEVENT=A,1,2,3,4", "+XEVENT=A B",
            "XEVENT=A", "+CKPD=201", "+BVRA=2", "+CHUP", "AT+CKPD=200", "+XEVENT=" + String(repeating: "A", count: 60),
        ])
    func `other commands are no pattern`(_ text: String) {
        #expect(ATTalkPattern(text) == nil)
    }

    @Test func `a pattern of a command matches its first values`() throws {
        let pattern = try #require(ATTalkPattern("+XEVENT=ptt,1"))
        func event(_ values: String...) -> AudioGateway.Event {
            .vendor(AudioGateway.VendorReport(values[0], Array(values.dropFirst())))
        }
        #expect(pattern.matches(event("PTT", "1")) && pattern.matches(event("Ptt", "1", "7")))
        #expect(
            !pattern.matches(event("PTT")) && !pattern.matches(event("PTT", "0"))
                && !pattern.matches(event("PTTS", "1")))
        #expect(!pattern.matches(.talkKey(true)) && !pattern.matches(.button(.callKey)))
        #expect(try #require(ATTalkPattern("+XEVENT=TALK,1")).matches(.talkKey(true)))
    }

    @Test func `an event that is no key has no pattern`() {
        #expect(ATTalkPattern(observed: .talkKey(true)) == ATTalkPattern("+XEVENT=TALK,1"))
        #expect(ATTalkPattern(observed: .button(.callKey)) == .callKey)
        #expect(ATTalkPattern(observed: .button(.hangUp)) == nil)
        #expect(ATTalkPattern(observed: .audioRequested) == nil)
        #expect(ATTalkPattern(observed: .vendor(AudioGateway.VendorReport("9LIVES", ["a"]))) == nil)
    }
}

@Suite struct TalkReaderTests {
    private static let reader = SerialTalkReader(
        press: [TalkPattern("+PTT=P"), TalkPattern("0x0102")].compactMap { $0 },
        release: [TalkPattern("+PTT=R")].compactMap { $0 })

    @Test func `a stream gives the same signals wherever it is cut`() {
        let bytes = Array("++PTT=P\r\n+PTT=R+PTT=P\u{1}\u{2}xx\u{1}\u{1}\u{2}+PTT=RR".utf8)
        var whole = Self.reader
        let expected = whole.read(bytes)
        #expect(expected == [.pressed, .released, .pressed, .pressed, .pressed, .released])
        for cut in 0...bytes.count {
            var reader = Self.reader
            #expect(reader.read(bytes[..<cut]) + reader.read(bytes[cut...]) == expected)
        }
    }

    @Test func `a reader without patterns reads nothing`() {
        var reader = SerialTalkReader(press: [], release: [])
        #expect(reader.read([UInt8](0...255)) == [])
        #expect(NotificationTalkReader(press: [], release: []).read([]) == nil)
    }

    @Test func `a value that is longer than any pattern is none`() throws {
        let pattern = try #require(TalkPattern("P"))
        let reader = NotificationTalkReader(press: [pattern], release: [])
        #expect(reader.read(Array("p\r\n".utf8)) == .tapped)
        #expect(reader.read([0x50] + [UInt8](repeating: 0, count: 1000)) == nil)
    }
}
