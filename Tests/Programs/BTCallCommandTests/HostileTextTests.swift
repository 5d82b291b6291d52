import ArgumentParser
import BTCall
import BTCallAPI
import BTCallJSON
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Testing

@testable import BTCallCommand

/// Headsets, callers, programs and a daemon whose texts would clear the screen, forge lines and reverse the following text.
@Suite(.timeLimit(.minutes(2))) struct HostileTextTests {
    private static let evil =
        "E\u{1B}[2J\u{1B}]0;title\u{7}\u{9B}31m\r\nFORGED a line\u{2028}FORGED\u{202E}\u{2066}\u{85}FORGED\u{0B}\u{7F}"
    private static let address = "00:00:5E:00:53:01"
    private static let call = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        await prepare()
    }

    @ControlPlane private func prepare() {
        let evil = Self.evil
        var headset = DeviceDescription(
            device: .headset(BluetoothAddress(value: 0x0000_5E00_5301)), name: evil, isAvailable: false,
            unavailableBecause: evil, output: evil, input: evil, battery: 5, codecs: [evil], category: evil, state: evil
        )
        headset.codecReason = evil
        daemon.router = RouterState(
            isStarted: true, activeRoute: headset.device, mode: evil, codec: evil, reason: evil, devices: [headset],
            interruptions: [evil])
        daemon.manager.version = evil
        daemon.manager.problems = [.init(id: evil, what: evil, remedy: evil)]
        daemon.explanation = ExplanationDescription(
            chosen: headset.device, level: evil, reason: evil,
            levels: [.init(name: evil, spec: evil, candidate: evil, verdict: evil, value: evil, limit: evil)],
            next: .init(action: evil, device: evil, remaining: 7), text: [evil, evil])
        daemon.log = [
            CallLogDescription(
                id: Self.call, direction: .incoming, number: evil, name: evil, provider: evil, began: 1_700_000_000_000,
                answered: nil, ended: 1_700_000_000_000, reason: evil, device: evil)
        ]
        daemon.settings = ["routing.headsetOrder", "audio.volumeCeiling", evil].map { key in
            SettingDescription(
                key: key, value: evil, defaultValue: evil, accepted: evil, effect: .now, origin: .runtime, summary: evil
            )
        }
        let quirk = QuirkDescription(
            name: evil, origin: .admin, line: 9, expires: evil, conditions: [evil], effects: [evil], advice: evil,
            reference: evil, reason: evil, because: [evil], obstacles: [evil])
        daemon.quirks = QuirksDescription(
            files: [.init(path: evil, origin: .shipped, version: evil, rows: 1)], rows: [quirk], unknown: [evil])
        var explained = QuirksExplanationDescription(address: BluetoothAddress(value: 0x0000_5E00_5301))
        explained.name = evil
        explained.modalias = evil
        explained.controller = evil
        explained.controllerModalias = evil
        explained.driver = evil
        explained.kernel = evil
        explained.applied = [quirk]
        explained.near = [quirk]
        explained.outcomes = [.init(key: evil, value: evil, summary: evil, sources: [evil])]
        daemon.quirksExplanation = explained
        daemon.setMetrics("# HELP x \(evil.filter { !$0.isNewline })\n# EOF\n")
        // Valid JSON: characters that need not be escaped are not.
        daemon.incident = "{\n  \"name\": \"\u{9B}31m\u{202E}\u{2028}\u{7F}\"\n}\n"
        daemon.addCall(
            CallDescription(
                id: Self.call, state: .active, direction: .incoming, number: evil, name: evil, provider: evil, index: 1,
                startedAt: 1_700_000_000_000))
    }

    /// Text on a terminal: printable characters, our own line feeds, and emphasis where enabled.
    private func expectHarmless(_ text: String, _ verb: [String]) {
        var rest = text
        for parameter in [1, 2, 22, 31, 32, 33, 39] {
            if verb.contains("always") { rest = rest.replacing("\u{1B}[\(parameter)m", with: "") }
        }
        let bad = rest.unicodeScalars.first { $0 != "\n" && !PrintableText.isShown($0) }
        #expect(bad == nil, "\(verb): U+\(String(bad?.value ?? 0, radix: 16)) in \(rest.debugDescription)")
        for line in rest.split(separator: "\n") {
            #expect(!line.drop { $0 == " " }.hasPrefix("FORGED"), "\(verb): \(line)")
        }
    }

    private static let verbs: [[String]] = [
        ["status"], ["devices"], ["why"], ["calls"], ["call"], ["log"], ["config"], ["config", "volumeCeiling"],
        ["config", "volumeCeiling", "radio"], ["config", "volumeCeiling", "1"], ["config", "nothing"], ["order"],
        ["order", "--clear"], ["quirks"], ["quirks", address], ["metrics"], ["incident"], ["volume"], ["mic"],
        ["voice"],
        ["mute"], ["hold"], ["resume"], ["swap"], ["conference"], ["answer"], ["dtmf", "1"], ["dial", "1"], ["exclude"],
        ["headset", "--forget-codecs", address], ["select", "earpiece"], ["prefer", "bluetooth"], ["default", "none"],
        ["session"], ["dnd"], ["scan"], ["trust", address], ["forget", address], ["record", "--allow"],
        ["call", "update", "1", "held"], ["hangup"],
    ]

    @Test func `every verb cleans foreign names before printing them to a terminal`() async throws {
        var count = 0
        for verb in Self.verbs {
            for form in [[], ["--color", "always"], ["--json"]] {
                let words = verb + form
                // A verb that does not exist in this form prints nothing.
                guard (try? CommandRun.parse(words)) != nil else { continue }
                let run = try await CommandRun.btcall(words, bus: bus)
                expectHarmless(run.output, words)
                expectHarmless(run.errors, words)
                count += 1
                if form == ["--json"], run.status == 0, !run.output.isEmpty {
                    #expect(run.json != nil, "\(words): \(run.output)")
                }
            }
        }
        #expect(count > 100)
    }

    @Test func `a cleaned text is still visible, on one line`() async throws {
        let shown = PrintableText.line(Self.evil)
        #expect(
            shown.hasPrefix(#"E\u{1B}[2J\u{1B}]0;title\u{7}\u{9B}31m\u{D}\u{A}FORGED a line\u{2028}FORGED\u{202E}"#))
        for verb in ["devices", "calls", "status", "log"] {
            let lines = try await CommandRun.btcall(verb, bus: bus).output.split(separator: "\n")
            #expect(lines.contains { $0.contains(shown) }, "\(verb)")
        }
        #expect(try await CommandRun.btcall("devices", bus: bus).output.split(separator: "\n").count == 3)
        #expect(try await CommandRun.btcall("calls", bus: bus).output.split(separator: "\n").count == 2)
        let refused = try await CommandRun.btcall("config", "volumeCeiling", "radio", bus: bus)
        #expect(refused.status == 1 && refused.errors.contains(shown))
        #expect(refused.errors.split(separator: "\n").count == 1)
    }

    @Test func `JSON contains the original text, escaped`() async throws {
        let devices = try await CommandRun.btcall("devices", "--json", bus: bus).array
        #expect(devices.first?["name"] as? String == Self.evil)
        let calls = try await CommandRun.btcall("calls", "--json", bus: bus).array
        #expect(calls.first?["name"] as? String == Self.evil && calls.first?["number"] as? String == Self.evil)
        let incident = try await CommandRun.btcall("incident", bus: bus)
        #expect(incident.object["name"] as? String == "\u{9B}31m\u{202E}\u{2028}\u{7F}")
        let metrics = try await CommandRun.btcall("metrics", "--json", bus: bus).object
        #expect((metrics["text"] as? String)?.hasPrefix("# HELP x E\u{1B}[2J") == true)
    }

    @Test func `monitor and the live view clean foreign names, too`() async throws {
        let capture = Capture()
        let status = try await CallBridge(bus: .address(bus.address)).status()
        let events: [BridgeEvent] = [
            .routeChanged(old: .none, new: .none, reason: Self.evil), .problemsChanged(status.problems),
            .buttonPressed(address: Self.evil, button: Self.evil),
            .headsetEvent(address: Self.evil, event: Self.evil, values: [Self.evil]),
            .headsetChanged(address: Self.evil, name: Self.evil, value: Self.evil),
            .settingChanged(name: Self.evil, value: Self.evil),
        ]
        let calls = status.calls.flatMap { [BridgeEvent.callAdded($0), .incomingCall($0)] }
        for event in events + calls {
            capture.sink.print(event.line(at: WallClock(milliseconds: 0)))
            capture.sink.printLine(event.json(at: WallClock(milliseconds: 0)))
        }
        expectHarmless(capture.output, ["monitor"])
        #expect(capture.output.split(separator: "\n").count == 2 * (events.count + calls.count))
        for line in LiveView(.present(status), now: WallClock(milliseconds: 0)).lines(.init(columns: 200, rows: 60)) {
            expectHarmless(line.text(width: 200), ["status", "--watch"])
        }
    }

    @Test func `each completion candidate is one line`() {
        let candidates = [CompletionCandidate(Self.evil, Self.evil)]
        for line in CompletionCandidate.lines(candidates, for: .zsh) + CompletionCandidate.lines(candidates, for: .bash)
        {
            expectHarmless(line, ["completions"])
            #expect(!line.contains("\n"))
        }
    }
}
