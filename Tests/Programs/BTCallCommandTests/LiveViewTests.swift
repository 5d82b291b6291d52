import BTCallAPI
import BluetoothTypes
import CommandKit
import ControlLoop
import Testing

@testable import BTCall
@testable import BTCallCommand

struct LiveViewTests {
    private static let now = WallClock(milliseconds: 1_700_000_100_000)
    private static let address = BluetoothAddress(value: 0x0000_5E00_5301)
    /// The time in the header, in this machine's zone.
    private static let clock = String(now.timeOfDay.prefix(8))

    private static func headset(_ name: String, battery: Int? = 70) -> DeviceDescription {
        var headset = DeviceDescription(
            device: .headset(address), name: name, isAvailable: true, battery: battery, codecs: ["mSBC", "CVSD"],
            state: "active")
        headset.mode = "hfp"
        return headset
    }

    private static func quality(score: Int, seconds: UInt64, packets: UInt64, lost: UInt64, made: UInt64)
        -> QualityDescription
    {
        var quality = QualityDescription()
        quality.score = score
        quality.durationMs = seconds * 1000
        quality.packets = packets
        quality.lost = lost
        quality.concealedMs = made
        quality.jitterMs = 1.25
        return quality
    }

    /// A call on a headset, a second one on hold, a problem.
    static func inCall(name: String = "headset 1", party: String = "Alice") -> LiveView {
        var call = CallDescription(
            id: "1", state: .active, direction: .incoming, number: "5550100", name: party, provider: "phone", index: 1,
            startedAt: 1_700_000_033_000)
        call.quality = quality(score: 97, seconds: 5, packets: 666, lost: 2, made: 15)
        call.totalQuality = quality(score: 45, seconds: 67, packets: 8933, lost: 536, made: 4020)
        call.totalQuality?.gaps = 1
        let held = CallDescription(
            id: "2", state: .held, direction: .outgoing, number: "5550199", provider: "phone", index: 2,
            startedAt: 1_699_996_378_000)
        let status = BridgeStatus(
            manager: ManagerDescription(
                version: "0.9", state: .active,
                problems: [
                    ProblemDescription(
                        id: "jack", what: "the jack's input device is not there",
                        remedy: "name another one in [jack] device, or let it be loaded: `btcall config jack.device`")
                ]),
            router: RouterState(
                isStarted: true, preferred: .bluetooth, activeRoute: .headset(address), mode: "hfp", codec: "mSBC",
                reason: "callStarted",
                devices: [
                    headset(name),
                    DeviceDescription(device: .earpiece, name: "earpiece", isAvailable: true),
                    DeviceDescription(
                        device: .wiredHeadset, name: "wired headset", isAvailable: false,
                        unavailableBecause: "not plugged"),
                ]),
            isMuted: false, calls: [Call(call), Call(held)])
        var view = LiveView(.present(status), now: now)
        view.explanation = [
            "route: \(DeviceWord.headset(address)) (callStarted, 67.0 s ago)", "  1 selected — nothing asked",
            "* 2 preferred: bluetooth -> \(DeviceWord.headset(address)) — eligible", "next: nothing is due",
        ]
        view.levels = AudioLevels(
            LevelsDescription(heard: .init(peak: -12, rms: -30), said: .init(peak: -2, rms: -15)))
        return view
    }

    private static func drawn(_ view: LiveView, _ columns: Int, _ rows: Int) -> [String] {
        view.lines(.init(columns: columns, rows: rows)).map { $0.text(width: columns) }
    }

    @Test func `A call on a headset, on 80 columns and 24 rows`() {
        let expected = """
            btcall  0.9  active                                                     \(Self.clock)

            Route     headset 1  HFP mSBC  bluetooth:00:00:5E:00:53:01
            Why       2 preferred: bluetooth (callStarted)

            Problem   the jack's input device is not there
                      name another one in [jack] device, or let it be loaded: `btcall config
                      jack.device`

            Call in   active   1:07  Alice (5550100), by phone
              5 s     quality  97  lost  0.3 %  made up  0.3 %  jitter 1.3 ms
              in all  quality  45  lost  6.0 %  made up  6.0 %  jitter 1.3 ms  gaps 1
            Call out  held     1:02:02  5550199, by phone

            Mic       [##############################--------| ] -15 dB, peak  -2
            Speaker   [####################-----------|        ] -30 dB, peak -12

            Devices   * headset 1      active       HFP mSBC    70 %
                        earpiece       available
                        wired headset  unavailable  not plugged



            q quit  m mute
            """
        #expect(Self.drawn(Self.inCall(), 80, 24).joined(separator: "\n") == expected)
    }

    @Test func `On 40 columns cut-off lines are marked, and missing rows are counted`() {
        let expected = """
            btcall  0.9  active             \(Self.clock)
            Route     headset 1  HFP mSBC  bluetoot…
            Why       2 preferred: bluetooth (callS…
            """
        let lines = Self.drawn(Self.inCall(), 40, 12)
        #expect(lines.prefix(3).joined(separator: "\n") == expected)
        #expect(lines.count == 12 && lines.last == "q quit  m mute")
        #expect(lines.contains { $0.contains("more lines") })
    }

    @Test func `Without the daemon the view shows only the reason`() {
        let view = LiveView(
            .absent("btcalld is not running on the system bus: systemctl start btcalld"), now: Self.now)
        let lines = Self.drawn(view, 40, 8)
        let expected = """
            btcall  waiting for btcalld     \(Self.clock)

            btcalld is not running on the system
            bus: systemctl start btcalld



            q quit  m mute
            """
        #expect(lines.joined(separator: "\n") == expected)
    }

    @Test func `A daemon that does not answer is reported`() {
        var view = Self.inCall()
        view.askedAt = WallClock(milliseconds: Self.now.milliseconds - 1999)
        #expect(Self.drawn(view, 80, 24).first?.contains("no answer") == false)
        view.askedAt = WallClock(milliseconds: Self.now.milliseconds - 3500)
        #expect(Self.drawn(view, 80, 24).first?.contains("no answer for 3 s") == true)
    }

    @Test func `With any size and names, nothing exceeds or controls the terminal`() {
        let evil =
            "\u{1B}]0;x\u{7}\u{1B}[2J\u{9B}31m\u{202E}\r\n日本語\u{1B}c👩\u{200D}🔧e\u{301}"
            + String(repeating: "w", count: 300)
        for view in [Self.inCall(), Self.inCall(name: evil, party: evil), LiveView(.absent(evil), now: Self.now)] {
            for columns in [1, 2, 9, 10, 11, 20, 39, 40, 41, 80, 132, 300] {
                for rows in [0, 1, 2, 3, 5, 10, 24, 60] {
                    let lines = view.lines(.init(columns: columns, rows: rows))
                    #expect(lines.count == rows)
                    for line in lines {
                        let text = line.text(width: columns)
                        #expect(TerminalText.columns(text) <= columns, "\(text)")
                        #expect(PrintableText.line(text) == text)
                    }
                }
            }
        }
    }

    @Test func `Colours mark good and bad, and take no columns`() {
        let style = TerminalStyle(isEnabled: true)
        let lines = Self.inCall().lines(.init(columns: 80, rows: 24))
        let text = lines.map { $0.text(width: 80, style) }.joined(separator: "\n")
        #expect(text.contains("\u{1B}[31mquality  45\u{1B}[39m"))
        #expect(text.contains("\u{1B}[32mquality  97\u{1B}[39m"))
        for (line, styled) in zip(lines, text.split(separator: "\n", omittingEmptySubsequences: false)) {
            #expect(Self.withoutStyle(styled) == line.text(width: 80))
        }
    }

    /// The text without ESC … `m` sequences, and without the spaces that these hid at its end.
    private static func withoutStyle(_ text: Substring) -> String {
        var result = ""
        var isSequence = false
        for character in text {
            if character == "\u{1B}" { isSequence = true }
            if !isSequence { result.append(character) }
            if character == "m" { isSequence = false }
        }
        while result.last == " " { result.removeLast() }
        return result
    }
}
