import BTCall
import BTCallAPI
import BTCallJSON
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import JSONText
import TalkWords
import Testing

@testable import BTCallCommand

/// Compares the output of `--json` with the page JSON of btcall.
@Suite(.timeLimit(.minutes(1))) struct CommandJSONTests {
    private let page: JSONPage
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        page = try JSONPage()
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        await prepare { daemon in
            var headset = DeviceDescription(
                device: .headset(BluetoothAddress(value: 0xAABB_CCDD_EE0F)), name: "Jabra", isAvailable: true,
                output: "sco:AA:BB:CC:DD:EE:0F", input: "sco:AA:BB:CC:DD:EE:0F", battery: 80, speakerVolume: 9,
                microphoneVolume: 10, codecs: ["mSBC"], category: "headset")
            headset.mediaVolume = 100
            daemon.router = RouterState(
                isStarted: true, preferred: .bluetooth, selected: .earpiece, activeRoute: .earpiece,
                reason: "callStarted",
                devices: [headset, DeviceDescription(device: .earpiece, name: "Handset", isAvailable: true)],
                interruptions: ["page"])
            daemon.manager.problems = [.init(id: "adapter", what: "no adapter", remedy: "plug one in")]
            daemon.explanation = ExplanationDescription(
                chosen: .earpiece, level: "default", reason: "linkSilent",
                levels: [.init(name: "default", candidate: "earpiece", verdict: "eligible", isEligible: true)],
                next: .init(action: "mayTakeCall", device: "", remaining: nil), text: ["earpiece, by default"])
            daemon.settings = [
                SettingDescription(
                    key: "routing.headsetOrder", value: "AA:BB:CC:DD:EE:0F", defaultValue: "", accepted: "a list",
                    effect: .now, origin: .file, summary: "The order."),
                SettingDescription(
                    key: "routing.exclude", value: "earpiece", defaultValue: "", accepted: "a list", effect: .now,
                    origin: .file, summary: "Never."),
            ]
            daemon.setMetrics("# EOF\n")
            daemon.log = [
                CallLogDescription(
                    id: Self.other, direction: .incoming, number: "5550100", name: nil, provider: "phone",
                    began: 1_700_000_000_000,
                    answered: 1_700_000_004_000, ended: 1_700_000_071_000, reason: "remote", device: "earpiece")
            ]
            let row = QuirkDescription(
                name: "slow", origin: .shipped, line: 7, state: .active, conditions: ["a"], effects: ["b"],
                reference: "c", reason: "d")
            daemon.quirks = QuirksDescription(
                files: [.init(path: "/a", origin: .shipped, version: "1", rows: 1)], rows: [row])
            var explained = QuirksExplanationDescription(address: BluetoothAddress(value: 0xAABB_CCDD_EE0F))
            explained.applied = [row]
            explained.outcomes = [.init(key: "setUpSeconds", value: "30", summary: "time", sources: ["slow"])]
            daemon.quirksExplanation = explained
            for (id, state) in [(Self.call, CallDescription.State.active), (Self.other, .held)] {
                var call = CallDescription(
                    id: id, state: state, direction: .outgoing, name: "Alice", provider: "phone", index: 1,
                    startedAt: 1_700_000_000_123)
                if state == .active { (call.talkMode, call.talkState) = (.push, .listening) }
                daemon.addCall(call)
            }
        }
    }

    private static let call = "7ba7b810-9dad-11d1-80b4-00c04fd430c8"
    private static let other = "8ba7b810-9dad-11d1-80b4-00c04fd430c8"
    private static let address = "AA:BB:CC:DD:EE:0F"

    @ControlPlane private func prepare(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }

    /// Command lines for the verbs of the page; in this order, as some end a call.
    private static let runs: [(verb: String, words: [String], shape: String?)] = [
        ("status", [], nil), ("why", [], nil), ("devices", [], nil), ("headset list", [], nil),
        ("headset show", ["Jabra"], nil), ("calls", [], nil), ("call show", [call], nil), ("history", [], nil),
        ("config", [], nil), ("config", ["routing.exclude"], "Setting"), ("prefer", [], nil), ("prefer", ["none"], nil),
        ("fallback", ["earpiece"], nil), ("fallback", ["none"], nil), ("move", [], nil), ("move", ["earpiece"], nil),
        ("mute", ["on"], nil), ("talk", [], nil), ("talk", ["press"], nil),
        ("dnd", [], nil), ("mic", [], nil), ("processing", [], nil), ("volume", [], nil),
        ("volume", ["mic"], "Gains"), ("volume", ["application", "0.5"], "Gains"), ("headset volume", [], nil),
        ("session status", [], nil), ("daemon show", [], nil), ("daemon routing", ["on"], nil),
        ("daemon metrics", [], nil), ("daemon activate", [], nil), ("headset quirks", [], nil),
        ("headset quirks", ["jabra"], "QuirkExplanation"), ("headset order", [], nil), ("headset exclude", [], nil),
        ("headset trust", [address], nil), ("headset forget", [address], nil), ("headset forget-codec", [address], nil),
        ("headset scan", ["--seconds", "1"], nil), ("dial", ["110"], nil), ("dtmf", ["1", call], nil),
        ("hold", [call], nil), ("resume", [call], nil), ("answer", [call], nil), ("swap", [], nil), ("merge", [], nil),
        ("hangup", [call], nil), ("hangup", ["--all"], "[CallState]"),
        ("daemon logout", [], nil), ("daemon deactivate", [], nil),
    ]

    /// Verbs that need more than this daemon: bluetoothd, audio, a program that owns the call, btcall-video. Their own tests
    /// compare them.
    private static let notRun: Set = [
        "headset connect", "headset disconnect", "headset pair", "call update", "doctor", "play", "record", "test-call",
        "watch", "web token", "notify-incoming", "video access", "video background", "video cameras",
        "video picture", "video set", "video view",
    ]

    @Test func `Every verb prints the object on the page`() async throws {
        for run in Self.runs {
            let words = run.verb.split(separator: " ").map(String.init) + run.words + ["--json"]
            let result = try await CommandRun.btcall(words, bus: bus)
            #expect(result.status == 0 && result.errors.isEmpty, "\(words): \(result.errors)")
            let type = try #require(run.shape ?? page.verbs[run.verb], "\(run.verb)")
            let mistakes = page.mistakes(in: result.json ?? "no JSON", type, at: run.verb)
            #expect(mistakes.isEmpty, "\(mistakes)\n\(result.output)")
        }
        #expect(Set(page.verbs.keys).subtracting(Self.runs.map(\.verb)) == Self.notRun)
    }

    @Test func `The doctor prints the object on the page`() throws {
        let fixture = try DoctorFixture()
        fixture.setHeadset("Blocked", true)
        let capture = Capture()
        let command = try #require(try Entry.command(for: ["doctor", "--json"]) as? DoctorCommand)
        _ = command.examine(fixture.system, capture.sink)
        let run = CommandRun(status: 0, output: capture.output, errors: "")
        let mistakes = page.mistakes(in: run.json ?? "no JSON", "Doctor", at: "doctor")
        #expect(mistakes.isEmpty, "\(mistakes)")
    }

    @Test func `A test call prints the object on the page`() async throws {
        await prepare { daemon in
            daemon.course = .headsetAnswersAndEnds
            daemon.microphone = [Int16](repeating: 100, count: 8000)
        }
        let run = try await CommandRun.btcall("test-call", "--incoming", "--json", bus: bus)
        let mistakes = page.mistakes(in: run.json ?? "no JSON", "TestCall", at: "test-call")
        #expect(mistakes.isEmpty, "\(mistakes)\n\(run.output)")
    }

    @Test func `Every verb with --json is on the page`() {
        let others: Set = [
            "daemon incident", "monitor", "call report", "provider", "interrupt", "session activate", "video watch",
        ]
        for other in others { #expect(page.text.contains("`\(other)`"), "\(other)") }
        let verbs = HelpTests.verbs.filter {
            $0.type is any BridgeCommand.Type || $0.type == DoctorCommand.self || $0.type == WebTokenCommand.self
                || $0.type == NotifyIncomingCommand.self
        }
        #expect(verbs.count > 40)
        let names = Set(verbs.map { $0.words.joined(separator: " ") })
        #expect(names == Set(page.verbs.keys).union(others))
    }

    @Test func `A field has the same type in every object`() {
        var types: [String: (type: String, shape: String)] = [:]
        for (shape, fields) in page.shapes.sorted(by: { $0.key < $1.key }) {
            for (name, type) in fields {
                let bare = type.replacing("?", with: "")
                if let known = types[name] { #expect(known.type == bare, "\(name) in \(shape) and \(known.shape)") }
                types[name] = (bare, shape)
            }
        }
        #expect(types.count > 100)
    }

    @Test func `No field abbreviates a unit, and no value is "none"`() async throws {
        for (shape, fields) in page.shapes {
            for (name, _) in fields {
                #expect(!name.hasSuffix("Ms") && !name.hasSuffix("Seconds"), "\(shape).\(name)")
            }
        }
        await prepare { $0.router = RouterState() }
        for verb in ["status", "prefer", "fallback", "move", "why"] {
            let output = try await CommandRun.btcall(verb, "--json", bus: bus).output
            #expect(!output.contains("\"none\"") && !output.contains("\"\""), "\(output)")
        }
    }

    @Test func `Every event has the fields of the page`() async throws {
        let status = try await CallBridge(bus: .address(bus.address)).status()
        let call = try #require(status.calls.first)
        let events: [BridgeEvent] = [
            .daemonAppeared, .daemonVanished, .speakingWhileMuted,
            .routeChanged(old: .none, new: .earpiece, reason: "callStarted"), .activationFailed(device: .bluetooth),
            .callAdded(call), .incomingCall(call), .callStateChanged(call.id, .active, reason: nil),
            .callStatusChanged(call.id, .mediaPending, reason: nil),
            .callRemoved(call.id, reason: "remote"), .callQualityChanged(call.id, 90),
            .callRecordedChanged(call.id, true), .callTalkChanged(call.id, .talking, holder: "board pedal"),
            .recordingDenied(call.id, client: "a"),
            .recordingRequested(call.id, client: "a"), .mutedChanged(true), .doNotDisturbChanged(true),
            .buttonPressed(address: Self.address, button: "play"),
            .headsetEvent(address: Self.address, event: "DON", values: ["1"]),
            .headsetChanged(address: Self.address, name: "powerSource", value: nil), .devicesChanged(status.devices),
            .problemsChanged(status.problems), .stateChanged(.active), .settingChanged(name: "pending", value: nil),
        ]
        for event in events {
            let text = event.json(at: WallClock(milliseconds: 0)).text()
            var object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(object.removeValue(forKey: "event") as? String == event.word)
            #expect(object.removeValue(forKey: "time") as? String == "1970-01-01T00:00:00.000Z")
            let fields = try #require(page.events[event.word], "\(event.word)")
            let mistakes = page.mistakes(in: object, fields: fields, at: event.word)
            #expect(mistakes.isEmpty, "\(mistakes)")
        }
        #expect(Set(page.events.keys) == Set(BridgeEvent.words))
    }
}
