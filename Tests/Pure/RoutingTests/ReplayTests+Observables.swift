import BTCallSimulator
import Foundation
import Testing

/// Expectations of a step.
extension ReplayTests {
    @Test func `every request of a client sets error to its own result, and an error stays until the next`() throws {
        let given = """
            "headsets": {"H1": {"script": ["fail", "fail", "fail"], "openMs": 10}}, "connected": ["H1"],
            "default": "earpiece"
            """
        let requests = [
            #""do": "api.clearSelection""#, #""do": "api.mute", "on": true"#, #""do": "api.refresh""#,
            #""do": "api.config", "ringLocal": true"#, #""do": "api.setDefault", "device": "earpiece""#,
            #""do": "api.setPreferred", "device": "none""#, #""do": "api.start""#, #""do": "api.stop""#,
        ]
        for request in requests {
            try check(
                given,
                [
                    Self.call, #"{"t": 10, "do": "api.select", "device": "wiredHeadset"}"#,
                    #"{"t": 10, "expect": {"error": "unavailable", "route": "earpiece"}}"#,
                    #"{"t": 20, "do": "bt.codec", "addr": "H1", "codec": "CVSD"}"#,
                    #"{"t": 20, "expect": {"error": "unavailable"}}"#, "{\"t\": 30, \(request)}",
                    #"{"t": 30, "expect": {"error": null}}"#,
                ])
        }
        try check(
            given,
            [
                #"{"t": 0, "do": "api.setPreferred", "device": "bluetooth"}"#, Self.call,
                #"{"t": 3000, "expect": {"error": "activationFailed", "override": null, "preferred": "bluetooth"}}"#,
                // It stays although the headset finally carries the call.
                #"{"t": 40000, "expect": {"error": "activationFailed", "route": "bluetooth:H1", "opens": {"H1": 4}}}"#,
            ])
        try check(
            #""started": false"#,
            [#"{"t": 0, "do": "api.select", "device": "earpiece"}"#, #"{"t": 0, "expect": {"error": "notStarted"}}"#])
    }

    @Test func `mark restarts switches, everRoute and neverRoute, and nothing else`() throws {
        let given = #""headsets": {"H1": {}}, "connected": ["H1"], "default": "earpiece""#
        let steps = [
            Self.call, #"{"t": 100, "do": "api.select", "device": "bluetooth"}"#,
            #"{"t": 500, "expect": {"switches": 2, "everRoute": ["earpiece", "bluetooth:H1"], "opens": {"H1": 1}}}"#,
            #"{"t": 500, "do": "mark"}"#,
            #"{"t": 500, "expect": {"switches": 0, "everRoute": ["bluetooth:H1"], "neverRoute": ["earpiece"]}}"#,
            #"{"t": 600, "do": "api.select", "device": "speakerphone"}"#,
            """
            {"t": 600, "expect": {"switches": 1, "switchesMax": 1, "everRoute": ["speakerphone", "bluetooth:H1"],
              "neverRoute": ["earpiece"], "opens": {"H1": 1}, "opensMax": {"H1": 1}, "reason": "userSelection"}}
            """,
        ]
        try check(given, steps)
    }

    @Test func `switches count paths that become active, a change through a gap once`() throws {
        let given = #""headsets": {"H1": {}, "H2": {}}, "connected": ["H1", "H2"], "config": {"headsetOrder": ["H1"]}"#
        let steps = [
            Self.call, #"{"t": 400, "expect": {"route": "bluetooth:H1", "switches": 1}}"#,
            #"{"t": 1000, "do": "api.select", "device": "bluetooth:H2"}"#,
            #"{"t": 1010, "expect": {"route": "none", "reason": "switching", "switches": 1, "pending": "bluetooth:H2"}}"#,
            #"{"t": 1349, "expect": {"route": "none"}}"#,
            #"{"t": 1350, "expect": {"route": "bluetooth:H2", "switches": 2, "reason": "userSelection"}}"#,
            #"{"t": 2000, "do": "call.ended", "call": "c"}"#,
            #"{"t": 2000, "expect": {"route": "none", "switches": 2, "reason": "callEnded", "silenceMaxMs": 350}}"#,
        ]
        try check(given, steps)
    }

    @Test func `silence counts only while a path is due and possible`() throws {
        let given = #""headsets": {"H1": {"openMs": 700}}, "connected": ["H1"], "preferred": "bluetooth""#
        try check(
            given,
            [
                Self.call, #"{"t": 400, "expect": {"silenceMaxMs": 400}}"#,
                #"{"t": 5000, "expect": {"silenceMaxMs": 700}}"#,
                #"{"t": 6000, "do": "interruption.begin", "source": "x"}"#,
                #"{"t": 60000, "do": "interruption.end"}"#, #"{"t": 60900, "expect": {"silenceMaxMs": 700}}"#,
                #"{"t": 61000, "do": "call.held", "call": "c"}"#,
                #"{"t": 90000, "expect": {"silenceMaxMs": 700}}"#,
            ])
        #expect(
            try replay(given, [Self.call, #"{"t": 9, "do": "mark"}"#, #"{"t": 600, "expect": {"silenceMaxMs": 599}}"#])
                .line == "not ok R900 step 3: silenceMaxMs expected 599, got 600")
        // No device is available: no silence.
        try check(
            #""hw": {"speakerphone": false, "earpiece": false}, "headsets": {"H1": {}}"#,
            [
                Self.call, #"{"t": 9000, "do": "bt.connected", "addr": "H1"}"#,
                #"{"t": 9400, "expect": {"silenceMaxMs": 300}}"#,
            ])
    }

    @Test func `the silence invariant is checked at the step where it breaks, unless the scenario may be silent`()
        throws
    {
        let given =
            #""hw": {"speakerphone": false, "earpiece": false}, "headsets": {"H1": {"script": ["hang"]}}, "connected": ["H1"]"#
        let steps = [
            Self.call, #"{"t": 2000, "expect": {}}"#, #"{"t": 2001, "expect": {}}"#, #"{"t": 4000, "expect": {}}"#,
        ]
        let result = try replay(given, steps)
        #expect(result.failures.map(\.step) == [3])
        #expect(result.line == "not ok R900 step 3: I2: a call was without a path for 2001 ms, at most 2000 expected")
        try check(given, steps, more: #""mayBeSilent": true,"#)
    }

    @Test func `lists are sets, objects are compared in the named keys, all expectations of a step must hold`() throws {
        let given = #""headsets": {"H1": {}, "H2": {}}, "connected": ["H2", "H1"]"#
        try check(
            given,
            [
                #"{"t": 0, "expect": {"available": ["bluetooth:H2", "bluetooth:H1", "earpiece", "speakerphone"]}}"#,
                #"{"t": 0, "do": "call.incoming", "call": "c"}"#, #"{"t": 0, "expect": {"ring": {"local": true}}}"#,
                #"{"t": 0, "expect": {"ring": {"headset": "indication"}, "opens": {}, "opensMax": {"H2": 0}}}"#,
            ])
        let steps = [
            Self.call, #"{"t": 400, "expect": {"route": "earpiece", "mode": "hfp", "switches": 2, "out": "jack"}}"#,
        ]
        #expect(
            try replay(given, steps).line
                == "not ok R900 step 2: out expected jack, got sco:H1; route expected earpiece, got bluetooth:H1; "
                + "switches expected 2, got 1")
        for wrong in [#""available": ["bluetooth:H2", "bluetooth:H1", "earpiece"]"#, #""opens": {"H1": 1}"#] {
            #expect(try !replay(given, [#"{"t": 0, "expect": {\#(wrong)}}"#]).hasPassed)
        }
    }

    @Test func `restored lists the headsets that got their music back, in order`() throws {
        let given = #""headsets": {"H1": {}, "H2": {}}, "connected": ["H1"], "preferred": "bluetooth""#
        let steps = [
            Self.call, #"{"t": 1000, "do": "call.ended", "call": "c"}"#, #"{"t": 2999, "expect": {"restored": []}}"#,
            #"{"t": 3000, "expect": {"restored": ["H1"]}}"#, #"{"t": 4000, "do": "bt.disconnected", "addr": "H1"}"#,
            #"{"t": 5000, "do": "bt.connected", "addr": "H2"}"#, #"{"t": 7000, "do": "call.outgoing", "call": "d"}"#,
            #"{"t": 8000, "do": "call.ended", "call": "d"}"#, #"{"t": 9000, "do": "call.outgoing", "call": "e"}"#,
            #"{"t": 10500, "expect": {"restored": ["H1"]}}"#, #"{"t": 11000, "do": "call.ended", "call": "e"}"#,
            #"{"t": 13000, "expect": {"restored": ["H1", "H2"]}}"#,
        ]
        try check(given, steps)
        #expect(
            try !replay(given, steps.dropLast() + [#"{"t": 13000, "expect": {"restored": ["H2", "H1"]}}"#]).hasPassed)
    }

    @Test func `mute belongs to the group of calls`() throws {
        let steps = [
            #"{"t": 0, "do": "api.mute", "on": true}"#, #"{"t": 0, "expect": {"muted": true}}"#, Self.call,
            #"{"t": 1, "do": "api.select", "device": "speakerphone"}"#, #"{"t": 1, "expect": {"muted": true}}"#,
            #"{"t": 2, "do": "call.ended", "call": "c"}"#, #"{"t": 2, "expect": {"muted": false, "override": null}}"#,
        ]
        try check(Self.headsets, steps)
    }

    @Test func `the scenario of the page about incidents holds`() throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let page = root.appending(path: "docs/operate/Incidents.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let block = try #require(text.split(separator: "```").first { $0.hasPrefix("json\n{\"format\"") })
        let scenario = try #require(try ScenarioFile(Data(block.dropFirst(5).utf8)).scenarios.first)
        var runner = ScenarioRunner(scenario)
        #expect(runner.run().line == "ok KIOSK-1")
    }

    @Test func `every key of the configuration can be given, and set at run time`() throws {
        let values = #"""
            "exclude": ["bluetooth"], "headsetOrder": ["H2", "H1"], "newHeadset": "take", "jackGesture": "latched",
            "jackMasksEarpiece": false, "microphoneEnabled": true, "allowBluetoothA2DP": true, "inbandRing": false,
            "ringLocal": false, "manualAudio": false, "manualRendering": false, "releaseOnHold": true,
            "systemDevice": "earpiece", "settleBluetoothMs": 1, "settleMaxMs": 2, "flapWindowMs": 3, "jackDebounceMs": 4,
            "openTimeoutMs": 5, "openAttempts": 6, "retryBaseMs": 7, "penaltyBaseMs": 8, "penaltyMaxMs": 9,
            "startGraceMs": 10, "reopenBridgeMs": 11, "reopenPauseMs": 12, "minDwellMs": 13, "gapResetMs": 14,
            "transferGuardMs": 15, "silentLimitMs": 16, "silentResumeMs": 17, "silentCloseMs": 18, "mediaRestoreMs": 19
            """#
        try check(
            #""config": {\#(values)}"#, [#"{"t": 0, "do": "api.config", \#(values)}"#],
            defaults: #""defaults": {\#(values)},"#)
    }
}
