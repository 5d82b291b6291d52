import BTCallSimulator
import Foundation
import Testing

/// The scenario format, sentence by sentence (docs/inside/Routing.md §15): the runner's part around the policy.
@Suite struct ReplayTests {
    /// Outcome of one scenario.
    func replay(
        _ given: String, _ steps: [String], more: String = "",
        defaults: String = ""
    ) throws -> ScenarioResult {
        let text = """
            {"format": "btcall-scenario/1", \(defaults) "scenarios": [
              {"id": "R900", \(more) "given": {\(given)}, "steps": [\(steps.joined(separator: ",\n"))]}]}
            """
        let scenario = try #require(try ScenarioFile(Data(text.utf8)).scenarios.first)
        var runner = ScenarioRunner(scenario, isTracing: true)
        return runner.run()
    }

    func check(
        _ given: String, _ steps: [String], more: String = "",
        defaults: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try replay(given, steps, more: more, defaults: defaults)
        #expect(
            result.hasPassed, "\(result.line)\n\(result.trace.joined(separator: "\n"))", sourceLocation: sourceLocation)
    }

    static let headsets = #""headsets": {"H1": {}, "H2": {}}"#
    static let call = #"{"t": 0, "do": "call.outgoing", "call": "c"}"#

    // MARK: Time

    @Test func `at equal times a completion precedes the timer that would bridge`() throws {
        let given = #""headsets": {"H1": {"openMs": 1500}}, "connected": ["H1"], "preferred": "bluetooth""#
        let steps = [
            Self.call, #"{"t": 1499, "expect": {"route": "none", "pending": "bluetooth:H1"}}"#,
            #"{"t": 1500, "expect": {"route": "bluetooth:H1", "switches": 1, "neverRoute": ["earpiece"]}}"#,
        ]
        let result = try replay(given, steps)
        #expect(result.hasPassed)
        #expect(result.trace.filter { $0.contains("path.") } == ["1500 effect path.open bluetooth:H1 (hfp)"])
    }

    @Test func `at equal times a completion precedes the timer that would end its attempt`() throws {
        let given = #""headsets": {"H1": {"openMs": 5000}}, "connected": ["H1"], "preferred": "bluetooth""#
        try check(
            given,
            [
                Self.call,
                #"{"t": 5000, "expect": {"route": "bluetooth:H1", "opens": {"H1": 1}, "error": null}}"#,
            ])
    }

    @Test func `at equal times a timer precedes the step`() throws {
        // The jack has been quiet for 200 ms: the plug is believed before it is removed.
        let steps = [
            Self.call, #"{"t": 1000, "do": "jack.plugged"}"#, #"{"t": 1200, "do": "jack.unplugged"}"#,
            #"{"t": 1200, "expect": {"everRoute": ["wiredHeadset"], "route": "wiredHeadset"}}"#,
            #"{"t": 1399, "expect": {"route": "wiredHeadset"}}"#, #"{"t": 1400, "expect": {"route": "earpiece"}}"#,
        ]
        try check(#""default": "earpiece""#, steps)
    }

    @Test func `steps at one time are completed one after the other`() throws {
        let given = #""headsets": {"H1": {"openMs": 0, "closeMs": 0}}, "connected": ["H1"]"#
        let steps = [
            Self.call, #"{"t": 0, "expect": {"route": "bluetooth:H1", "opens": {"H1": 1}}}"#,
            #"{"t": 0, "do": "api.select", "device": "earpiece"}"#,
            #"{"t": 0, "do": "api.select", "device": "bluetooth:H1"}"#,
            #"{"t": 0, "expect": {"route": "bluetooth:H1", "opens": {"H1": 2}, "switches": 3}}"#,
        ]
        try check(given, steps)
    }

    @Test func `a year of events takes no time`() throws {
        // A headset that never opens is tried for a year: three attempts every two minutes.
        let given = """
            "headsets": {"H1": {"openMs": 100, "script": [\(Array(repeating: "\"fail\"", count: 20).joined(separator: ", "))]}},
            "connected": ["H1"], "preferred": "bluetooth", "default": "earpiece"
            """
        let year: Int64 = 365 * 24 * 3600 * 1000
        try check(
            given, [Self.call, #"{"t": \#(year), "expect": {"route": "bluetooth:H1", "opens": {"H1": 21}}}"#])
        let failing = given.replacing("\"fail\", \"fail\"", with: "\"hang\", \"fail\"")
        #expect(
            try replay(failing, [Self.call, #"{"t": \#(year), "do": "call.ended", "call": "c"}"#]).hasPassed)
    }

    // MARK: Given

    @Test func `given devices, jack, headsets and preferences hold at the first step`() throws {
        let given = """
            "hw": {"earpiece": false}, "jack": "headphones", "headsets": {"H1": {"category": "watch"}, "H2": {}},
            "connected": ["H1"], "preferred": "bluetooth:H9", "default": "wiredHeadset", "started": false
            """
        let expected = """
            {"t": 0, "expect": {"available": ["wiredHeadset", "bluetooth:H1", "speakerphone"],
              "preferred": "bluetooth:H9", "default": "wiredHeadset", "started": false, "selected": "bluetooth:H9",
              "route": "none", "pending": "none", "mode": null, "out": "none", "in": "none", "override": null,
              "muted": false, "error": null, "reason": null, "opens": {"H1": 0, "H2": 0, "H7": 0}, "switches": 0,
              "silenceMaxMs": 0, "ring": {"local": false, "headset": "none"}, "restored": [], "everRoute": [],
              "neverRoute": ["earpiece", "bluetooth"], "routeIn": ["none"]}}
            """
        try check(given, [expected])
    }

    @Test func `a given jack was plugged after the headsets, before any call, without debounce`() throws {
        let slow = #""config": {"jackDebounceMilliseconds": 3600000}"#
        let given = #""jack": "headset", "headsets": {"H1": {}}, "connected": ["H1"]"#
        // The most recently attached wins in the platform order.
        try check(
            "\(given), \(slow)",
            [Self.call, #"{"t": 1, "expect": {"route": "wiredHeadset", "in": "jackMic", "out": "jack"}}"#])
        // A plug before the call is no gesture in it.
        try check(
            #"\#(given), "default": "speakerphone""#,
            [Self.call, #"{"t": 400, "expect": {"route": "speakerphone"}}"#])
    }

    @Test func `connected headsets were attached oldest first, and are settled whatever the settling time`() throws {
        let slow = #""config": {"settleBluetoothMilliseconds": 3600000, "settleMaxMilliseconds": 3600000}"#
        let steps = [Self.call, #"{"t": 400, "expect": {"route": "bluetooth:H1"}}"#]
        try check(#""headsets": {"H1": {}, "H2": {}}, "connected": ["H2", "H1"]"#, steps)
        let other = #"{"t": 0, "do": "api.select", "device": "earpiece"}"#
        let clear = #"{"t": 1000, "do": "api.clearSelection"}"#
        try check(
            #""headsets": {"H1": {}}, "connected": ["H1"], \#(slow)"#,
            [Self.call, other, clear, #"{"t": 1400, "expect": {"route": "bluetooth:H1"}}"#])
    }

    @Test func `defaults of the file hold for all its scenarios and may name only some keys`() throws {
        let defaults = #""defaults": {"startGraceMilliseconds": 700},"#
        let given = #""headsets": {"H1": {"openMs": 1400}}, "connected": ["H1"], "preferred": "bluetooth""#
        let bridged = #"{"t": 800, "expect": {"route": "earpiece", "reason": "bridge"}}"#
        let waiting = #"{"t": 800, "expect": {"route": "none", "pending": "bluetooth:H1"}}"#
        try check(given, [Self.call, bridged], defaults: defaults)
        try check(given, [Self.call, waiting])
        try check(given + #", "config": {"startGraceMilliseconds": 1500}"#, [Self.call, waiting], defaults: defaults)
        // Other keys keep their defaults.
        try check(
            #""config": {"jackDebounceMilliseconds": 100}, "default": "earpiece""#,
            [
                Self.call, #"{"t": 50, "do": "jack.plugged"}"#, #"{"t": 149, "expect": {"route": "earpiece"}}"#,
                #"{"t": 150, "expect": {"route": "wiredHeadset"}}"#,
            ], defaults: defaults)
    }

    // MARK: Links

    @Test func `every request takes the next word of the script, a cancelled one too`() throws {
        let given = """
            "headsets": {"H1": {"script": ["hang", "fail", "ok+2000", "ok"], "openMs": 100, "closeMs": 70}},
            "connected": ["H1"], "default": "earpiece", "config": {"openTimeoutMilliseconds": 1000}
            """
        let steps = [
            Self.call, #"{"t": 0, "do": "api.select", "device": "bluetooth"}"#,
            #"{"t": 400, "do": "api.select", "device": "earpiece"}"#,
            #"{"t": 469, "do": "api.select", "device": "bluetooth"}"#,
            // The cancelled set-up is closed after closeMs; only then the next request is made.
            #"{"t": 469, "expect": {"opens": {"H1": 1}, "pending": "bluetooth:H1"}}"#,
            #"{"t": 470, "expect": {"opens": {"H1": 2}}}"#,
            // Refused after openMs, closed at once, retried after retryBaseMilliseconds.
            #"{"t": 1069, "expect": {"opens": {"H1": 2}}}"#, #"{"t": 1070, "expect": {"opens": {"H1": 3}}}"#,
            #"{"t": 1170, "expect": {"route": "bluetooth:H1"}}"#,
            // The headset closes it: that is its transfer button.
            #"{"t": 3169, "expect": {"route": "bluetooth:H1"}}"#,
            #"{"t": 3170, "expect": {"route": "earpiece", "reason": "headsetTransfer", "override": "local"}}"#,
            #"{"t": 4000, "do": "api.select", "device": "bluetooth"}"#,
            #"{"t": 9999, "expect": {"route": "bluetooth:H1", "opens": {"H1": 4}}}"#,
        ]
        try check(given, steps)
    }

    @Test func `a scenario with a million events between two steps ends there`() throws {
        let given = """
            "headsets": {"H1": {"openMs": 100}}, "connected": ["H1"], "preferred": "bluetooth", "default": "earpiece",
            "config": {"openTimeoutMilliseconds": 1, "retryBaseMilliseconds": 1, "penaltyBaseMilliseconds": 0, "penaltyMaxMilliseconds": 0}
            """
        let result = try replay(given, [Self.call, #"{"t": 1000000000000, "expect": {"pending": "none"}}"#])
        #expect(result.failures.map(\.text).contains { $0.contains("does not come to rest at") })
    }

    @Test func `an unanswered request ends by timeout, and is closed after closeMs`() throws {
        let given = """
            "headsets": {"H1": {"script": ["hang"], "closeMs": 300}}, "connected": ["H1"], "preferred": "bluetooth",
            "default": "earpiece", "config": {"openTimeoutMilliseconds": 1000, "retryBaseMilliseconds": 100}
            """
        let steps = [
            Self.call, #"{"t": 1299, "expect": {"opens": {"H1": 1}, "pending": "bluetooth:H1"}}"#,
            #"{"t": 1300, "expect": {"opens": {"H1": 2}}}"#,
        ]
        try check(given, steps)
    }

    @Test(arguments: [
        #""do": "bt.disconnected", "addr": "H1""#, #""do": "bt.adapter", "powered": false"#,
        #""do": "bt.profile", "addr": "H1", "profile": "hfp", "up": false"#,
    ])
    func `when the headset disappears its link closes at once and a request gets no answer`(_ event: String) throws {
        let given = """
            "headsets": {"H1": {"openMs": 1000, "closeMs": 5000}, "H2": {}}, "connected": ["H1"],
            "preferred": "bluetooth", "default": "earpiece"
            """
        let returns =
            event.contains("adapter") ? #""do": "bt.adapter", "powered": true"# : #""do": "bt.connected", "addr": "H1""#
        let steps = [
            Self.call, "{\"t\": 500, \(event)}",
            #"{"t": 500, "expect": {"pending": "none", "route": "earpiece", "available": ["speakerphone", "earpiece"]}}"#,
            "{\"t\": 600, \(returns)}",
            // No answer at 1000, no closing until 5600: a new request is made when it has settled.
            #"{"t": 1100, "expect": {"opens": {"H1": 1}, "route": "earpiece"}}"#,
            #"{"t": 8000, "expect": {"opens": {"H1": 2}, "route": "bluetooth:H1"}}"#,
        ]
        try check(given, steps)
    }

    @Test func `links that the headset opens or closes change at that instant`() throws {
        let given = """
            "headsets": {"H1": {"openMs": 1000}}, "connected": ["H1"], "preferred": "earpiece"
            """
        let steps = [
            Self.call, #"{"t": 3000, "do": "bt.audioOpened", "addr": "H1"}"#,
            #"{"t": 3000, "expect": {"route": "bluetooth:H1", "mode": "hfp", "opens": {"H1": 0}, "override": "bluetooth:H1"}}"#,
            #"{"t": 5000, "do": "bt.audioClosed", "addr": "H1"}"#,
            #"{"t": 5000, "expect": {"route": "earpiece", "reason": "headsetTransfer", "mode": null}}"#,
            // There is no open link to close, and an open link is not opened again.
            #"{"t": 5100, "do": "bt.audioClosed", "addr": "H1", "reason": "linkLoss"}"#,
            #"{"t": 5100, "expect": {"route": "earpiece", "reason": "headsetTransfer"}}"#,
        ]
        try check(given, steps)
    }

    @Test func `a headset opens its link during our set-up: it is adopted, without a second one or an answer to ours`()
        throws
    {
        let given =
            #""headsets": {"H1": {"openMs": 1000, "script": ["fail"]}}, "connected": ["H1"], "preferred": "bluetooth""#
        let steps = [
            Self.call, #"{"t": 500, "do": "bt.audioOpened", "addr": "H1"}"#,
            #"{"t": 500, "expect": {"route": "bluetooth:H1", "pending": "none"}}"#,
            #"{"t": 4000, "expect": {"route": "bluetooth:H1", "opens": {"H1": 1}, "error": null}}"#,
        ]
        try check(given, steps)
    }

    @Test func `the link model is the same for A2DP`() throws {
        let given = """
            "headsets": {"H1": {"profiles": ["a2dp"], "script": ["fail"], "openMs": 200}}, "connected": ["H1"],
            "preferred": "bluetooth", "config": {"microphoneEnabled": false}
            """
        let steps = [
            Self.call, #"{"t": 699, "expect": {"opens": {"H1": 1}, "pending": "bluetooth:H1"}}"#,
            #"{"t": 900, "expect": {"route": "bluetooth:H1", "mode": "a2dp", "out": "a2dp:H1", "in": "none"}}"#,
            #"{"t": 900, "expect": {"opens": {"H1": 2}}}"#,
        ]
        try check(given, steps)
    }

    // MARK: Events

    @Test func `unknown addresses and calls are ignored or answered, never refused`() throws {
        let steps = [
            Self.call, #"{"t": 1, "do": "bt.connected", "addr": "H7"}"#,
            #"{"t": 2, "do": "bt.audioOpened", "addr": "H7"}"#, #"{"t": 3, "do": "bt.audioClosed", "addr": "H7"}"#,
            #"{"t": 4, "do": "bt.disconnected", "addr": "11:22:33:44:55:66"}"#,
            #"{"t": 5, "do": "bt.profile", "addr": "H7", "profile": "hfp", "up": true}"#,
            #"{"t": 6, "do": "bt.audioSilent", "addr": "H7"}"#, #"{"t": 7, "do": "bt.audioResumed", "addr": "H7"}"#,
            #"{"t": 8, "do": "bt.codec", "addr": "H7", "codec": "mSBC"}"#,
            #"{"t": 9, "do": "call.held", "call": "x"}"#, #"{"t": 10, "do": "call.resumed", "call": "x"}"#,
            #"{"t": 11, "do": "call.answered", "call": "x", "via": "bluetooth:H7"}"#,
            #"{"t": 12, "do": "call.ended", "call": "x"}"#,
            #"{"t": 13, "expect": {"route": "earpiece", "switches": 1, "available": ["earpiece", "speakerphone"]}}"#,
            #"{"t": 14, "do": "api.select", "device": "bluetooth:H7"}"#,
            #"{"t": 14, "expect": {"error": "unavailable"}}"#,
            #"{"t": 15, "do": "api.setPreferred", "device": "bluetooth:H7"}"#,
            #"{"t": 15, "expect": {"error": null, "selected": "bluetooth:H7", "route": "earpiece"}}"#,
        ]
        try check(#""headsets": {"H1": {}}"#, steps)
    }

    @Test func `a connected headset has the given profiles, unless the step names others`() throws {
        let given = #""headsets": {"H1": {"profiles": ["a2dp"]}, "H2": {}}, "config": {"microphoneEnabled": false}"#
        let steps = [
            #"{"t": 0, "do": "bt.connected", "addr": "H1"}"#,
            #"{"t": 0, "do": "bt.connected", "addr": "H2", "profiles": ["hfp"]}"#,
            #"{"t": 0, "expect": {"available": ["bluetooth:H1", "earpiece", "speakerphone"]}}"#,
            #"{"t": 1, "do": "api.config", "microphoneEnabled": true}"#,
            #"{"t": 1, "expect": {"available": ["bluetooth:H2", "earpiece", "speakerphone"]}}"#,
        ]
        try check(given, steps)
    }

    @Test func `configuration at run time changes the named keys and keeps the others`() throws {
        let steps = [
            #"{"t": 0, "do": "api.config", "exclude": ["speakerphone", "bluetooth:H1"], "ringLocal": false}"#,
            #"{"t": 1, "do": "api.config", "jackDebounceMilliseconds": 0, "headsetOrder": ["H2"], "systemDevice": "earpiece"}"#,
            #"{"t": 2, "do": "bt.connected", "addr": "H1"}"#, #"{"t": 3, "do": "call.incoming", "call": "c"}"#,
            #"{"t": 4, "do": "jack.plugged"}"#,
            """
            {"t": 4, "expect": {"available": ["wiredHeadset"], "ring": {"local": false, "headset": "none"},
              "error": null}}
            """,
        ]
        try check(Self.headsets, steps)
    }

    @Test func `a default argument has the table's value`() throws {
        let steps = [
            Self.call, #"{"t": 500, "do": "jack.plugged"}"#, #"{"t": 800, "expect": {"in": "jackMic"}}"#,
            #"{"t": 900, "do": "interruption.begin", "source": "phone"}"#, #"{"t": 900, "expect": {"route": "none"}}"#,
            #"{"t": 1000, "do": "interruption.end"}"#, #"{"t": 1000, "expect": {"route": "wiredHeadset"}}"#,
            #"{"t": 1100, "do": "interruption.begin", "source": "phone"}"#,
            #"{"t": 1200, "do": "interruption.end", "resume": false}"#, #"{"t": 1300, "expect": {"route": "none"}}"#,
            #"{"t": 1400, "do": "interruption.end", "resume": true}"#,
            #"{"t": 1400, "expect": {"route": "wiredHeadset"}}"#,
        ]
        try check(Self.headsets, steps)
    }
}
