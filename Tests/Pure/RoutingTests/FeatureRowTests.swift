import BTCallSimulator
import Foundation
import Testing

/// A row of the feature list that only the policy fulfils, with the observables that its scenarios have to check.
struct FeatureRow: Sendable, CustomTestStringConvertible {
    let identifier: String
    let acceptance: String
    /// The observables that show it.
    let observables: Set<String>

    var testDescription: String { "\(identifier) \(acceptance)" }

    init(_ identifier: String, _ acceptance: String, _ observables: String...) {
        self.identifier = identifier
        self.acceptance = acceptance
        self.observables = Set(observables)
    }

    static let all = [
        FeatureRow(
            "S0.4", "stop(): the call stays active, one route change, later events of headsets are ignored", "route",
            "switches", "reason", "opens"),
        FeatureRow(
            "S0.6", "selectedAudioDevice(): explicit choice, else preferred, else what would be used", "selected"),
        FeatureRow("S0.7", "setDefaultAudio(_:): kept, and used without the preferred device", "default", "route"),
        FeatureRow("S0.8", "setAudioDevice(_:): kept, and used", "preferred", "route"),
        FeatureRow("S0.13", "stopped, the platform's own device has the call", "route", "opens"),
        FeatureRow(
            "S0.14", "battery pulled: the other end hears the caller again within 300 ms", "route", "silenceMaxMs"),
        FeatureRow("S0.16", "an excluded device is never opened", "opens", "available", "error"),
        FeatureRow(
            "S0.17", "before start preferences are kept and a selection is refused", "error", "preferred", "default"),
        FeatureRow("S0.20", ".speakerphone: out speaker, in builtinMic", "out", "in"),
        FeatureRow(
            "S0.21", ".wiredHeadset, its microphone if it has one, debounced", "out", "in", "available", "switches"),
        FeatureRow("S0.22", ".earpiece, hook included", "out", "in", "override"),
        FeatureRow("S0.23", ".bluetooth: any, and a specific address", "route", "opens"),
        FeatureRow("S0.24", ".none: falls to the default, then the platform's order", "route", "selected"),
        FeatureRow(
            "S0.25", "preferred available: at once; not available: no change now, later a switch", "route", "reason"),
        FeatureRow(
            "S0.26", "a second setAudioDevice replaces the first; the default is the fallback", "route", "opens"),
        FeatureRow("S0.28", "preferred and default missing: the platform's order", "route"),
        FeatureRow("S0.29", "a device without input is absent or says so", "available", "in"),
        FeatureRow("S1.18", "setMicrophone(enabled:): drives A2DP and HFP", "in", "mode"),
        FeatureRow(
            "S1.2", "another owner of the audio: nothing is opened or taken back against it", "route", "opens", "reason"
        ),
        FeatureRow("S2.13", "it rings without a route; in a call nothing rings", "ring", "route", "out"),
        FeatureRow("S2.14", "an interruption takes the path away and gives it back", "route", "reason", "available"),
        FeatureRow(
            "S2.6", "media directions: receive-only asks for no microphone, A2DP is allowed", "mode", "in", "out"),
        FeatureRow("S2.7", "local gates: no path changes, held or not", "route", "in", "opens", "switches"),
        FeatureRow("S2.19", "a change of media: the route follows", "route", "reason"),
        FeatureRow("S2.28", "video calls: speakerphone before earpiece", "route", "out"),
        FeatureRow("S4.16", "muted: over routes and hold, until the last call ends", "muted", "route", "in"),
        FeatureRow("S3.2", "microphoneEnabled: reconfigures", "in", "mode"),
        FeatureRow("S3.8", "microphone not requested: A2DP, HFP impossible", "mode", "in", "error"),
        FeatureRow("S3.9", "microphone requested: HFP by default", "mode", "in"),
        FeatureRow("S3.10", "allowBluetoothA2DP: A2DP out and the board's microphone", "mode", "out", "in"),
    ]
}

@Suite struct FeatureRowTests {
    @Test(arguments: FeatureRow.all)
    func `the scenarios of a feature row hold and show its acceptance`(_ row: FeatureRow) {
        let scenarios = NamedScenario.all.map(\.scenario).filter { $0.tags.contains(row.identifier) }
        #expect(!scenarios.isEmpty, "no scenario has the tag \(row.identifier)")
        for scenario in scenarios {
            var runner = ScenarioRunner(scenario)
            #expect(runner.run().line == "ok \(scenario.id)")
        }
        let looked = NamedScenario.objects.filter { ($0["tags"] as? [String])?.contains(row.identifier) == true }
            .flatMap { $0["steps"] as? [[String: Any]] ?? [] }
            .flatMap { ($0["expect"] as? [String: Any] ?? [:]).keys }
        #expect(row.observables.subtracting(looked) == [])
    }

    @Test func `every tag in the form of a feature row is in the table`() {
        let rows = Set(FeatureRow.all.map(\.identifier))
        let tags = NamedScenario.all.flatMap(\.scenario.tags).filter { $0.hasPrefix("S") }
        #expect(Set(tags) == rows)
    }
}
