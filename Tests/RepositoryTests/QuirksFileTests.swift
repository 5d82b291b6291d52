import BTCallDaemon
import BluetoothTypes
import Configuration
import HandsFree
import Testing

/// The quirks database that ships.
@Suite struct QuirksFileTests {
    private static func database() throws -> QuirksDatabase {
        try QuirksDatabase(parsing: Array(RepositoryTests.contents("etc/quirks.conf").utf8), file: "quirks.conf")
    }

    private static func quirks(
        _ address: String, name: String? = nil, controller: QuirkSubject.Controller = .init(), kernel: String = "6.1.0"
    ) throws -> Quirks {
        let subject = QuirkSubject(
            address: try #require(BluetoothAddress(address)), name: name, controller: controller, kernel: kernel)
        return try database().explain(subject, on: CalendarDate(unixSeconds: 1_795_000_000)).quirks
    }

    @Test func `every row is understood, and has a reference, a reason and something that it does`() throws {
        let database = try Self.database()
        #expect(database.rows.count >= 25)
        #expect(database.files.first?.version?.isEmpty == false)
        for row in database.rows {
            #expect(!row.reference.isEmpty && !row.reason.isEmpty, "\(row.name)")
            #expect(!row.effects.isEmpty || row.advice != nil, "\(row.name)")
            #expect(!row.conditions.isEmpty, "\(row.name)")
            #expect(row.isEnabled)
        }
    }

    @Test func `every effect that there is serves a headset that is known`() throws {
        let used = Set(try Self.database().rows.flatMap(\.effects).map(\.key))
        #expect(Set(QuirkEffect.Key.allCases).subtracting(used).isEmpty)
    }

    @Test(arguments: ["00:08:8A:F0:1D:8A", "55:55:55:67:0B:D7"])
    func `B2: codec negotiation is masked for those that break on it`(_ address: String) throws {
        #expect(try Self.quirks(address).maskedFeatures == .codecNegotiation)
    }

    @Test func `A8, A12, A25, A26: the dialogue`() throws {
        #expect(try Self.quirks("98:7B:F3:12:34:56").maskedFeatures == .hfIndicators)
        #expect(try Self.quirks("94:B2:CC:30:00:01").maskedFeatures == .hfIndicators)
        #expect(try Self.quirks("94:B2:CC:31:00:01").maskedFeatures == [])
        #expect(try Self.quirks("02:00:00:00:00:01", name: "WH-1000XM4").appleName == "iPhone")
        #expect(try Self.quirks("00:0E:9F:12:34:56").secondCallWaits)
        #expect(try Self.quirks("00:15:83:03:38:B0").forgetsWaitingCall)
        #expect(try Self.quirks("00:06:F5:00:00:01").setUpSeconds == 30)
    }

    @Test func `B3, B4, B20 to B22: the audio link and the volume`() throws {
        #expect(try Self.quirks("02:00:00:00:00:01", name: "HONDA HFT").refusesFirstAudio)
        #expect(try Self.quirks("04:52:C7:E6:67:89").audioDelayMilliseconds == 500)
        #expect(try Self.quirks("02:00:00:00:00:01", name: "Anna's AirPods Pro").audioDelayMilliseconds == 500)
        #expect(try Self.quirks("02:00:00:00:00:01", name: "Geely_BT").audioDelayMilliseconds == 0)
        #expect(try Self.quirks("02:00:00:00:00:01", name: "Air 1 Plus").noMicrophoneVolume)
        #expect(try Self.quirks("00:13:EF:00:00:01", name: "D50s").softwareVolume)
        #expect(!(try Self.quirks("00:13:EF:00:00:01", name: "D50")).softwareVolume)
        #expect(try Self.quirks("02:00:00:00:00:01", name: "Sennheiser HD 250BT").forgetsVolume)
    }

    @Test func `B11: mSBC is left out by alternate setting 1 alone, and with kernels that break it`() throws {
        let one = QuirkSubject.Controller(name: "hci0", alternateSettings: [1, 2, 3, 4, 5])
        let six = QuirkSubject.Controller(name: "hci0", alternateSettings: [1, 2, 3, 4, 5, 6])
        func broken(_ name: String, _ controller: QuirkSubject.Controller, _ kernel: String) throws -> Set<VoiceCodec> {
            try Self.quirks("02:00:00:00:00:01", name: name, controller: controller, kernel: kernel).brokenCodecs
        }
        #expect(try broken("Soundcore Life P2-L", one, "6.1.0") == [.mSBC])
        #expect(try broken("Soundcore Life P2-L", six, "6.1.0") == [])
        #expect(try broken("Soundcore Life P2-L", .init(), "6.1.0") == [])
        #expect(try broken("Other", one, "6.1.0") == [])
        #expect(try broken("Other", one, "5.10.55-rpi") == [.mSBC])
        #expect(try broken("Other", six, "5.10.55-rpi") == [])
    }

    @Test func `B12, B15: what only a person can change is advice and changes nothing`() throws {
        let database = try Self.database()
        let mediatek = QuirkSubject.Controller(name: "hci0", modalias: "usb:v0489pE111d0100dcEFdsc02dp01")
        let subject = QuirkSubject(
            address: BluetoothAddress(value: 1), name: "AirPods", modalias: "bluetooth:v004Cp2002d6DF1",
            controller: mediatek, kernel: "6.1.0")
        let explanation = database.explain(subject, on: CalendarDate(unixSeconds: 1_795_000_000))
        #expect(
            explanation.applied.map(\.row.name) == ["lc3-24k-mediatek", "sniff-in-calls", "sniff-in-calls-makers"])
        #expect(explanation.applied.allSatisfy { $0.row.advice != nil })
        #expect(explanation.quirks == Quirks())
    }
}
