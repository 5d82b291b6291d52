import BluetoothTypes
import HandsFree
import Testing

@Suite struct QuirkConditionTests {
    @Test(
        arguments: [
            ("AirPods*", "airpods pro", true), ("*AirPods*", "Anna's AirPods Pro", true),
            ("AirPods", "AirPods Pro", false),
            ("WH-?000XM4", "WH-1000XM4", true), ("WH-?000XM4", "WH-11000XM4", false), ("*", "", true),
            ("*a*b*", "xaxbx", true),
            ("*a*b", "xaxbx", false), ("a**b", "ab", true), ("", "a", nil), ("Ünit?", "Ünitß", true),
            ("a?", "a", false),
        ] as [(String, String, Bool?)])
    func `a pattern matches a text`(_ pattern: String, _ text: String, _ expected: Bool?) {
        #expect(TextPattern(pattern)?.matches(text) == expected)
    }

    @Test func `a pattern of many stars takes no more time than the product of both lengths`() throws {
        let pattern = try #require(TextPattern(String(repeating: "*a", count: 50)))
        #expect(!pattern.matches(String(repeating: "a", count: 49)))
        #expect(pattern.matches(String(repeating: "ba", count: 248)))
        #expect(TextPattern(String(repeating: "*", count: 101)) == nil)
    }

    @Test(arguments: [
        ("00:14:09", "00:14:09:AA:BB:CC", true), ("00:14:09", "00:14:0A:AA:BB:CC", false),
        ("94:b2:cc:30", "94:B2:CC:30:00:01", true),
        ("94", "94:B2:CC:30:00:01", true), ("94:B2:CC:30:00:01", "94:B2:CC:30:00:01", true),
    ])
    func `an address begins with a prefix`(_ prefix: String, _ address: String, _ expected: Bool) throws {
        #expect(try #require(AddressPrefix(prefix)).matches(try #require(BluetoothAddress(address))) == expected)
        #expect(AddressPrefix(prefix)?.description == prefix.uppercased())
    }

    @Test(arguments: ["", ":", "0", "000:14", "00:14:", "00-14", "00:14:09:11:22:33:44", "0g:00", "00 14", "+1:00"])
    func `an invalid prefix is refused`(_ text: String) {
        #expect(AddressPrefix(text) == nil)
    }

    @Test(arguments: [
        ("0-5.9", "5.9.16", true), ("0-5.9", "5.10.0", false), ("5.10.1-5.10.18", "5.10.18-v7+", true),
        ("5.10.1-5.10.18", "5.10.103", false), ("5.10.1-5.10.18", "5.10", false), ("4", "4.19.0-21-amd64", true),
        ("6.1", "6.1.55", true), ("6.1", "6.10.1", false), ("6.1", "unknown", false),
    ])
    func `a kernel is within a range of versions`(_ range: String, _ release: String, _ expected: Bool) throws {
        #expect(try #require(KernelRange(range)).contains(release) == expected)
        #expect(KernelRange(range)?.description == range)
    }

    @Test(arguments: ["", "-", "5-", "-5", "6-5", "5.1.2.3", "a", "5..1", "+5", "1-2-3", "999999"])
    func `invalid versions are refused`(_ text: String) {
        #expect(KernelRange(text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01"), (951_782_400, "2000-02-29"), (951_868_800, "2000-03-01"), (1_798_761_599, "2026-12-31"),
            (1_798_761_600, "2027-01-01"), (4_107_542_400, "2100-03-01"), (-5, "1970-01-01"),
        ] as [(Int64, String)])
    func `a time is on a day`(_ seconds: Int64, _ day: String) {
        #expect(CalendarDate(unixSeconds: seconds).description == day)
        #expect(CalendarDate(unixSeconds: seconds) == CalendarDate(day))
    }

    @Test(arguments: [
        "2026-13-01", "2026-02-29", "2026-00-10", "2026-01-00", "26-01-01", "2026/01/01", "2026-1-001", "",
    ])
    func `an invalid day is refused`(_ text: String) {
        #expect(CalendarDate(text) == nil)
    }

    @Test func `no time traps`() {
        for seconds in [Int64.min, Int64.max, 253_402_300_800] {
            #expect(!"\(CalendarDate(unixSeconds: seconds))".isEmpty)
        }
    }

    @Test(
        arguments: [
            (Set<Int>(), nil, nil), ([1, 2, 3, 4, 5], "usb:v0A12p0001d8891", 1),
            ([1, 2, 3, 4, 5, 6], "usb:v8087p0032d0000", 6),
            ([1, 2, 3, 4, 5], "usb:v0BDAp8771d0200", 3), ([1, 2], "usb:v0BDAp8771d0200", 1), ([1, 3], nil, 1),
        ] as [(Set<Int>, String?, Int?)])
    func `mSBC uses the alternate setting that btusb would choose`(
        _ settings: Set<Int>, _ modalias: String?, _ expected: Int?
    ) {
        let controller = QuirkSubject.Controller(modalias: modalias, alternateSettings: settings)
        #expect(controller.alternateSettingOfMSBC == expected)
    }

    @Test func `each effect is read, written and applied, and each field of the quirks is reached`() throws {
        let texts: [QuirkEffect.Key: String] = [
            .maskFeatures: "codec_negotiation, hf_indicators", .brokenCodecs: "msbc, lc3_swb",
            .noMicrophoneVolume: "yes",
            .softwareVolume: "yes", .forgetsVolume: "yes", .refusesFirstAudio: "yes", .setUpSeconds: "30",
            .audioDelayMilliseconds: "0", .appleName: "iPhone", .secondCallWaits: "yes", .forgetsWaitingCall: "yes",
        ]
        var quirks = Quirks()
        for key in QuirkEffect.Key.allCases {
            let text = try #require(texts[key])
            let effect = try #require(QuirkEffect(key, text))
            #expect(effect.key == key && effect.value == text)
            let before = quirks
            effect.apply(to: &quirks)
            #expect(quirks != before, "\(key) does nothing")
            #expect(QuirkEffect(key, "perhaps, \u{1F600}") == nil)
            #expect(!key.accepted.isEmpty && !key.summary.isEmpty)
        }
        let unset = zip(Mirror(reflecting: quirks).children, Mirror(reflecting: Quirks()).children).filter {
            "\($0.value)" == "\($1.value)"
        }
        #expect(unset.map { $0.0.label } == [])
    }

    @Test(arguments: [
        (QuirkEffect.Key.brokenCodecs, "cvsd"), (.brokenCodecs, ""), (.maskFeatures, "codec_negotiation,"),
        (.setUpSeconds, "4"), (.setUpSeconds, "121"), (.audioDelayMilliseconds, "-1"),
        (.audioDelayMilliseconds, "99999999999999999999"),
        (.appleName, "i Phone"), (.appleName, "i\"Phone"), (.softwareVolume, "2"),
    ])
    func `a value without effect is not accepted`(_ key: QuirkEffect.Key, _ text: String) {
        #expect(QuirkEffect(key, text) == nil)
    }

    @Test func `the volume's gain rises from silence to unchanged`() {
        let gains = (-1...16).map { Quirks.softwareGain($0) }
        #expect(gains.first == 0 && gains[1] == 0 && gains[16] == 1 && gains.last == 1)
        #expect(zip(gains[1...16], gains[2...16]).allSatisfy { $0 < $1 })
    }
}
