import BluetoothTypes
import HandsFree
import Telephony
import TestSupport
import Testing

@Suite struct ATReaderTests {
    static let stream = Array("\r\n AT+BRSF = 5\r\r\nat+vgs=\"1 2\"\n\rAT\rATD 12 3;\r\t+\u{0}\u{FF}\rrest".utf8)

    @Test func `splits at CR and drops noise outside quotes`() {
        var reader = ATReader()
        let lines = reader.read(Self.stream).map(text)
        #expect(lines == ["", "AT+BRSF=5", "", "at+vgs=\"1 2\"", "AT", "ATD123;", "+\u{0}\u{FF}"])
    }

    @Test func `gives the same lines however the bytes are split`() {
        var whole = ATReader()
        let expected = whole.read(Self.stream)
        for first in 0...Self.stream.count {
            for second in first...Self.stream.count {
                var reader = ATReader()
                let parts = [Self.stream[..<first], Self.stream[first..<second], Self.stream[second...]]
                #expect(parts.flatMap { reader.read($0) } == expected)
            }
        }
    }

    @Test func `reports a line that is too long once and continues after it`() {
        let long = [UInt8](repeating: 65, count: ATReader.limit)
        var reader = ATReader()
        #expect(reader.read(long + [13]) == [.line(long)])
        #expect(reader.read(long + long + long) == [.problem(.lineTooLong)])
        #expect(reader.keptBytes == 0)
        #expect(reader.read(long + Array("\rAT\r".utf8)) == [.line(Array("AT".utf8))])
    }

    private func text(_ input: ATReader.Input) -> String {
        switch input {
        case .line(let bytes): String(decoding: bytes, as: UTF8.self)
        case .problem: "problem"
        }
    }
}

@Suite struct ATCommandTests {
    @Test(arguments: [
        ("at+brsf=5", "+BRSF", ATCommand.Form.set, "5"), ("AT+CIND?", "+CIND", .read, ""),
        ("AT+CIND=?", "+CIND", .test, ""), ("AT+CHUP", "+CHUP", .action, ""), ("ata", "A", .action, ""),
        ("ATD>1;", "D", .action, ">1;"), ("", "", .action, ""), ("AT", "", .action, ""), ("AT+X=", "+X", .set, ""),
        ("AT+X=?,", "+X", .set, "?,"),
    ])
    func `parses a line`(_ line: String, _ name: String, _ form: ATCommand.Form, _ rest: String) throws {
        let command = try ATCommand(line: Array(line.utf8))
        #expect(command.name == name)
        #expect(command.form == form)
        #expect(command.parameters.rest == Array(rest.utf8))
    }

    @Test(arguments: ["A", "X", "AT+", "AT*X", "AT+X!", "AT+X??", "+BRSF=1", "AT;", "AT\u{E9}"])
    func `refuses anything but a command`(_ line: String) {
        #expect(throws: ATSyntaxError.notACommand) { try ATCommand(line: Array(line.utf8)) }
    }

    @Test func `reads parameters in order`() throws {
        var cursor = ATParameters(Array("12,,\"a,b\",word,".utf8))
        #expect(try cursor.number() == 12)
        #expect(try cursor.optionalNumber() == nil)
        #expect(cursor.text() == "a,b")
        #expect(cursor.text() == "word")
        #expect(!cursor.isAtEnd)
        #expect(throws: ATSyntaxError.excess) { try cursor.end() }
        #expect(cursor.text() == nil)
        #expect(cursor.isAtEnd)
        #expect(throws: ATSyntaxError.missing) { try cursor.number() }
    }

    @Test(arguments: ["x", "-1", "+1", "1x", "1234567890", "\"1\"", "99999999999999999999"])
    func `refuses invalid numbers`(_ text: String) {
        var cursor = ATParameters(Array(text.utf8))
        #expect(throws: ATSyntaxError.malformed) { try cursor.number() }
    }

    @Test(arguments: ["+5", "-0", "-1", "x", "5x", "\"5\"", "4294967296", "00000000001"])
    func `refuses invalid masks`(_ text: String) {
        var cursor = ATParameters(Array(text.utf8))
        #expect(throws: ATSyntaxError.malformed) { try cursor.mask() }
    }

    @Test func `accepts masks of 32 bits`() throws {
        var cursor = ATParameters(Array("4294967295,0000000007,0".utf8))
        #expect(try [cursor.mask(), cursor.mask(), cursor.mask()] == [.max, 7, 0])
        #expect(throws: ATSyntaxError.missing) { try cursor.mask() }
    }

    @Test func `limits lists`() {
        var cursor = ATParameters(Array("1,2,3".utf8))
        #expect(throws: ATSyntaxError.excess) { try cursor.numbers(limit: 2) }
    }
}

@Suite struct ATResultCodeTests {
    @Test func `frames a line`() {
        #expect(ATResultCode.ok.bytes == Array("\r\nOK\r\n".utf8))
    }

    @Test func `no name or number can end a line or a string, or be long`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let scalars = (0..<random.below(120)).compactMap { _ in Unicode.Scalar(UInt32(random.below(0x2100))) }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            let call = Call(
                id: CallID(1), provider: "", direction: .incoming, state: .incoming,
                details: CallDetails(number: text), index: 1)
            let codes: [ATResultCode] = [
                .callerIdentification(number: text, name: text), .callWaiting(number: text, name: text),
                .networkOperator(text), .currentCall(call), .subscriberNumber(SubscriberNumber(number: text)),
                .appleAccessory(name: text, features: 6), .voiceTag(text), .information(text),
            ]
            for code in codes {
                let line = code.text
                #expect(!line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
                #expect(line.utf8.count(where: { $0 == UInt8(ascii: "\"") }) <= 4)
                #expect(line.utf8.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2))
                #expect(line.utf8.count < 160)
            }
        }
    }

    @Test(arguments: [
        ("+49 (30) 12-34/56.7", "+4930123456" + "7"), ("0049p12w3,4!", "0049p12w3,4!"), ("ABC", "ABC"), ("Anna", ""),
        ("tel:+4930;ext=5", "+4930"), ("sip:4711@pbx.example", "4711"), ("sips:+49-30@10.0.0.1", "+4930"),
        ("sip:bob@10.0.0.1", ""), ("123\r\nOK", "123"), ("\"5\",6", "5" + "6"), ("", ""),
        ("12345678901234567890123456789012345", "12345678901234567890123456789012"),
    ])
    func `a number consists of the dialable part of a text`(_ text: String, _ number: String) {
        #expect(ATText.number(text) == number)
    }

    @Test func `the type of a number decides about the plus sign`() {
        #expect(ATText.address("4930", type: 145) == ("+4930", 145))
        #expect(ATText.address("+4930", type: 145) == ("+4930", 145))
        #expect(ATText.address("4930", type: 159) == ("+4930", 159))
        #expect(ATText.address("+4930", type: 129) == ("+4930", 129))
        #expect(ATText.address("4930", type: 161) == ("4930", 161))
        #expect(ATText.address("", type: 145) == ("", 145))
        #expect(ATText.address("+4930", type: nil) == ("+4930", 145))
        #expect(ATText.address("4930", type: 12) == ("4930", 129))
        let details = CallDetails(number: "4930", numberType: 145)
        let call = Call(id: CallID(1), provider: "", direction: .incoming, state: .active, details: details, index: 2)
        #expect(ATResultCode.currentCall(call).text == "+CLCC: 2,1,0,0,0,\"+4930\",145")
        #expect(
            ATResultCode.callerIdentification(number: "4930", type: 145, name: nil).text == "+CLIP: \"+4930\",145")
        #expect(ATResultCode.callWaiting(number: "4930", type: 161, name: nil).text == "+CCWA: \"4930\",161")
    }

    @Test func `a name is cut between characters`() {
        #expect(ATText.name("ééééé", limit: 5) == "éé")
        #expect(ATText.name(String(repeating: "a", count: 200)).utf8.count == 64)
    }
}

@Suite struct FeatureTests {
    @Test func `service record and BRSF agree`() {
        var configuration = AudioGatewayConfiguration()
        #expect(configuration.features.rawValue == 4073)
        #expect(configuration.sdpFeatures == 0b10_1001)
        configuration.codecs = [.cvsd]
        #expect(configuration.sdpFeatures == 0b00_1001)
        configuration.codecs = [.lc3SWB, .mSBC]
        configuration.features.formUnion([.echoCancelling, .voiceRecognition, .voiceTag])
        #expect(configuration.sdpFeatures == 0b1_0011_1111)
        #expect(!AudioGatewayFeatures.standard.contains(.callDuration))
        #expect(configuration.version.rawValue == 0x0109)
        #expect(configuration.sdpNetwork == 1)
        configuration.features = []
        #expect(configuration.sdpNetwork == 0)
        #expect(configuration.sdpFeatures == 0)
    }

    /// Every bit that the record and +BRSF share is the same in both, for every configuration (HFP 1.9 §5.3).
    @Test(arguments: randomCourses(200))
    func `service record and BRSF agree in every bit that they share`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var configuration = AudioGatewayConfiguration()
        configuration.features = AudioGatewayFeatures(rawValue: UInt32(random.below(0x8000)))
        configuration.codecs = VoiceCodec.allCases.filter { _ in random.below(2) == 0 }
        let bits = configuration.features.rawValue
        let record = UInt32(configuration.sdpFeatures)
        #expect(record & 0x1F == bits & 0x1F)
        #expect(record >> 6 & 3 == bits >> 12 & 3)
        #expect(UInt32(configuration.sdpNetwork) == bits >> 5 & 1)
        let isNegotiated = bits >> 9 & 1 == 1
        #expect(record >> 5 & 1 == (isNegotiated && configuration.codecs.contains(.mSBC) ? 1 : 0))
        #expect(record >> 8 & 1 == (isNegotiated && configuration.codecs.contains(.lc3SWB) ? 1 : 0))
        #expect(record >> 9 == 0)
    }

    @Test func `words of versions, codecs and features are read, and no others`() {
        #expect(
            ["1.5", "1.6", "1.7", "1.8", "1.9", "1.10"].map { ProfileVersion(word: $0)?.word } == [
                "1.5", "1.6", "1.7", "1.8", "1.9", "1.10",
            ])
        #expect(ProfileVersion(word: "1.1") == nil && ProfileVersion(word: "") == nil)
        #expect(["cvsd", "msbc", "lc3_swb", "LC3"].map { VoiceCodec(word: $0) } == [.cvsd, .mSBC, .lc3SWB, nil])
        let words = [
            "three_way", "ecnr", "voice_recognition", "inband_ring", "voice_tag", "reject_call", "enhanced_call_status",
            "enhanced_call_control", "extended_errors", "codec_negotiation", "hf_indicators", "esco_s4",
            "enhanced_vr_status", "vr_text", "call_duration",
        ]
        #expect(words.map { AudioGatewayFeatures(word: $0)?.rawValue } == (0..<15).map { 1 << $0 })
        #expect(AudioGatewayFeatures(word: "three way") == nil)
    }

    @Test func `reserved bits stay zero`() {
        #expect(AudioGatewayFeatures(rawValue: .max).rawValue == 0x7FFF)
        #expect(HandsFreeFeatures(rawValue: .max).rawValue == 0xFFF)
    }
}

@Suite struct CommandQuotaTests {
    @Test func `allows a burst, then the steady rate`() {
        var quota = CommandQuota(burst: 3, perSecond: 2)
        let start = Instant(milliseconds: 100)
        let burst = (0..<4).map { _ in quota.consume(at: start) }
        #expect(burst == [true, true, true, false])
        #expect(quota.consume(at: Instant(milliseconds: 599)) == false)
        #expect(quota.consume(at: Instant(milliseconds: 600)) == true)
        #expect(quota.consume(at: Instant(milliseconds: 601)) == false)
        #expect(quota.consume(at: Instant(nanoseconds: .max)) == true)
        #expect(quota.consume(at: .zero) == true)
    }
}
