import BTCallSimulator
import Foundation
import Testing

@Suite struct ScenarioFileTests {
    /// A file with one scenario R900 of one headset H1.
    private func file(given: String = "\"headsets\": {\"H1\": {}}", steps: String = "", more: String = "") -> Data {
        Data(
            """
            {"format": "btcall-scenario/1", "scenarios": [
              {"id": "R900", "title": "t", \(more) "given": {\(given)}, "steps": [{"t": 0, "do": "api.start"}\(steps)]}]}
            """.utf8)
    }

    private func refusal(_ data: Data) -> String? {
        do throws(ScenarioError) {
            _ = try ScenarioFile(data)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        (
            #", {"t": 1, "do": "bt.connekted", "addr": "H1"}"#,
            "R900 step 2: unknown event 'bt.connekted'; accepted: api.start, "
        ),
        (
            #", {"t": 1, "do": "link.opened", "addr": "H1"}"#,
            "R900 step 2: unknown event 'link.opened'; accepted: api.start, "
        ),
        (
            #", {"t": 1, "do": "bt.connected", "adr": "H1"}"#,
            "R900 step 2: bt.connected: unknown key 'adr'; accepted: addr, profiles"
        ),
        (#", {"t": 1, "do": "bt.connected"}"#, "R900 step 2: bt.connected: key 'addr' is missing; accepted: H1, "),
        (
            #", {"t": 1, "do": "api.select", "device": "headphones"}"#,
            "R900 step 2: api.select: 'device' is not accepted; accepted: speakerphone | wiredHeadset | earpiece"
        ),
        (#", {"t": 1, "do": "mark", "x": 1}"#, "R900 step 2: mark: unknown key 'x'; accepted: none"),
        (
            #", {"t": 1, "do": "api.config", "settleMs": 5}"#,
            "R900 step 2: api.config: unknown key 'settleMs'; accepted: exclude, "
        ),
        (
            #", {"t": 1, "do": "api.config", "openAttempts": 0}"#,
            "R900 step 2: api.config: openAttempts: '0' is not accepted; accepted: a whole number"
        ),
        (#", {"t": 1, "expect": {"rout": "none"}}"#, "R900 step 2: unknown key 'rout' in expect; accepted: route, "),
        (
            #", {"t": 1, "expect": {"route": "speaker"}}"#,
            "R900 step 2: route: speaker is no device; accepted: speakerphone | "
        ),
        (
            #", {"t": 1, "expect": {"reason": "because"}}"#,
            "R900 step 2: reason: because is not accepted; accepted: newDeviceAvailable | "
        ),
        (
            #", {"t": 1, "expect": {"out": "builtinMic"}}"#,
            "R900 step 2: out: builtinMic is not accepted; accepted: none | speaker | earpiece | jack | sco:ADDRESS"
        ),
        (#", {"t": 1, "expect": {"in": "a2dp:H1"}}"#, "R900 step 2: in: a2dp:H1 is not accepted; accepted: none | "),
        (#", {"t": 1, "expect": {"mode": "sco"}}"#, "R900 step 2: mode: sco is not accepted; accepted: hfp | a2dp"),
        (
            #", {"t": 1, "expect": {"error": "broken"}}"#,
            "R900 step 2: error: broken is not accepted; accepted: notStarted | unavailable | activationFailed | null"
        ),
        (
            #", {"t": 1, "expect": {"ring": {"headset": "loud"}}}"#,
            "R900 step 2: ring: loud is not accepted; accepted: none | indication | inband"
        ),
        (
            #", {"t": 1, "expect": {"opens": {"left": 1}}}"#,
            "R900 step 2: opens: 'left' is not a headset with a number; accepted: H1, "
        ),
        (#", {"t": 1, "expect": {"restored": ["x"]}}"#, "R900 step 2: restored: x is not accepted; accepted: H1, "),
        (#", {"t": 1, "expect": {"switches": "1"}}"#, "R900 step 2: switches: 1 is not accepted; accepted: a number"),
        (#", {"t": 1, "expect": {"muted": 1}}"#, "R900 step 2: muted: 1 is not accepted; accepted: true | false"),
        (
            #", {"t": 1, "do": "bt.audioClosed", "addr": "H1", "reason": "requested"}"#,
            "R900 step 2: bt.audioClosed: 'reason' is not accepted; accepted: remote | linkLoss"
        ),
        (
            #", {"t": 1, "do": "bt.audioOpened", "addr": "H1", "mode": "hfp"}"#,
            "R900 step 2: bt.audioOpened: unknown key 'mode'; accepted: addr"
        ),
        (
            #", {"t": 1, "do": "bt.profile", "addr": "H1", "profile": "hsp", "up": true}"#,
            "R900 step 2: bt.profile: 'profile' is not accepted; accepted: hfp | a2dp"
        ),
        (
            #", {"t": 1, "do": "call.outgoing", "call": "c", "routes": ["tv"]}"#,
            "R900 step 2: call.outgoing: 'routes' is not accepted; accepted: speakerphone | wiredHeadset | earpiece | "
        ),
        (
            #", {"t": 1, "do": "call.answered", "call": "c", "via": "bluetooth"}"#,
            "R900 step 2: call.answered: 'via' is not accepted; accepted: handset | bluetooth:ADDRESS"
        ),
        (
            #", {"t": 1, "do": "local.lost", "kind": "bluetooth"}"#,
            "R900 step 2: local.lost: 'kind' is not accepted; accepted: speakerphone | wiredHeadset | earpiece"
        ),
        (
            #", {"t": 1, "do": "bt.codec", "addr": "H1", "codec": "opus"}"#,
            "R900 step 2: bt.codec: 'codec' is not accepted; accepted: CVSD | mSBC | LC3-SWB"
        ),
        (#", {"t": 1, "do": "jack.plugged", "mic": "no"}"#, "R900 step 2: jack.plugged: 'mic' is not accepted; "),
        (#", {"t": 1.5, "do": "mark"}"#, "R900 step 2: 't' is not a whole number of 0 or more"),
        (#", {"t": 1, "do": "mark", "expect": {}}"#, "R900 step 2: unknown key 'do' beside 'expect'"),
        (
            #", {"t": 1, "expect": {"ring": {"loud": true}}}"#,
            "R900 step 2: ring: unknown key 'loud'; accepted: local, headset"
        ),
        (#", {"t": 5, "do": "api.stop"}, {"t": 4, "do": "api.stop"}"#, "R900 step 3: 't' goes back"),
        (#", {"t": 1}"#, "R900 step 2: a step needs 'do' or 'expect'"),
        (#", {"do": "api.stop"}"#, "R900 step 2: key 't' is missing"),
    ])
    func `an invalid step is refused with scenario, step and accepted words`(
        _ step: String, _ message: String
    ) throws {
        let text = try #require(refusal(file(steps: step)))
        #expect(text.hasPrefix(message))
    }

    @Test(arguments: [
        (#""hw": {"headphones": true}"#, "R900: unknown key 'headphones' in hw; accepted: speakerphone, earpiece"),
        (#""headsets": {"H1": {"colour": "red"}}"#, "R900: unknown key 'colour' in headset H1; accepted: profiles, "),
        (#""headsets": {"left": {}}"#, "R900: 'left' is no headset; accepted: H1, H2, "),
        (
            #""headsets": {"H1": {"script": ["maybe"]}}"#,
            "R900: script: 'maybe' is not known; accepted: ok | fail | hang | ok+N"
        ),
        (#""connected": ["H1"]"#, "R900: connected: 'H1' is not in 'headsets'"),
        (
            #""config": {"newHeadset": "steal"}"#,
            "R900: config: newHeadset: 'steal' is not accepted; accepted: stay, take"
        ),
        (#""bluetooth": true"#, "R900: unknown key 'bluetooth' in given; accepted: hw, "),
    ])
    func `an invalid given is refused with the scenario and accepted words`(
        _ given: String, _ message: String
    ) throws {
        let text = try #require(refusal(file(given: given)))
        #expect(text.hasPrefix(message))
    }

    @Test func `a file of another format or without JSON is refused`() throws {
        #expect(refusal(Data(#"{"format": "other/1", "scenarios": []}"#.utf8))?.contains("btcall-scenario/1") == true)
        #expect(refusal(file(more: #""tag": "x","#))?.hasPrefix("R900: unknown key 'tag'") == true)
        #expect(
            refusal(Data(#"{"format": "btcall-scenario/1", "scenarios": [{"steps": []}]}"#.utf8))
                == "scenario 1 of the file: key 'id' is missing")
    }

    @Test(arguments: [
        ("", "line 1: a value expected, but it ends"),
        ("{", "line 1: a key in quotes expected, but it ends"),
        ("{\n\"a\" 1}", "line 2: ':' expected, not '1}'"),
        ("{\"a\": 1 \"b\"}", "line 1: ',' or '}' expected, not '\"b\"}'"),
        ("[1,\n\n2 3]", "line 3: ',' or ']' expected, not '3]'"), ("[01]", "line 1: a value expected, not '01]'"),
        ("[+1]", "line 1: a value expected, not '+1]'"), ("[1.]", "line 1: a value expected, not '1.]'"),
        ("[nul]", "line 1: a value expected, not 'nul]'"), ("[1e999]", "line 1: a value expected, not '1e999]'"),
        ("{\"a\": 1,\n \"a\": 2}", "line 2: key 'a' stands twice in one object"),
        ("[\"a\nb\"]", "line 1: a text that goes over the end of the line, or has a control character"),
        ("[\"\\ud800\"]", "line 1: half a surrogate pair"), ("[\"\\x\"]", "line 1: one of \" \\ / b f n r t u behind"),
        ("[\"\\u12G4\"]", "line 1: four hexadecimal digits expected, not '12G4\"]'"),
        ("[] []", "line 1: something stands"),
        (String(repeating: "[", count: 65), "line 1: nested more than 64 deep"),
        ("[\"a", "line 1: '\"' expected, but it ends"),
    ])
    func `invalid JSON is refused with the line and what is expected there`(_ text: String, _ message: String) throws {
        let problem = try #require(refusal(Data(text.utf8)))
        #expect(problem.hasPrefix("no valid JSON, " + message))
    }

    @Test func `all of JSON is read: escapes, surrogate pairs, exponents, a byte order mark`() throws {
        let text =
            "\u{FEFF}{\"format\": \"btcall-scenario\\/1\", \"scenarios\":\r\n\t[ {\"id\": \"\\u0052\\ud83d\\ude00\\n\\\"\\\\\","
            + "\"steps\": [{\"t\": 1e3, \"do\": \"mark\"}, {\"t\": 1000.0, \"expect\": {}}]}]}"
        #expect(try ScenarioFile(Data(text.utf8)).scenarios.map(\.id) == ["R\u{1F600}\n\"\\"])
    }

    @Test func `a text that is not UTF-8 is refused`() {
        #expect(
            refusal(Data([UInt8](#"{"a": ""#.utf8) + [0xFF, 0x22, 0x7D]))?.hasSuffix("a text that is not UTF-8") == true
        )
    }

    @Test func `words of recordings only are refused in a scenario`() {
        #expect(
            refusal(file(more: #""startedAt": "2025-03-01T17:04:05.678Z","#))?.contains("only for recordings") == true)
        #expect(
            refusal(file(more: #""recorded": true, "startedAt": "noon","#))?.contains("is not a time like 2025-")
                == true)
    }

    @Test func `unknown headsets and calls are handled by the policy, not refused`() throws {
        let steps = """
            , {"t": 1, "do": "bt.connected", "addr": "H7"}, {"t": 2, "do": "call.ended", "call": "nobody"},
            {"t": 3, "do": "api.select", "device": "bluetooth:H7"},
            {"t": 4, "expect": {"error": "unavailable", "available": ["speakerphone", "earpiece"]}}
            """
        let scenario = try #require(try ScenarioFile(file(steps: steps)).scenarios.first)
        var runner = ScenarioRunner(scenario)
        #expect(runner.run().line == "ok R900")
    }

    @Test func `a failed expectation names scenario, step, the expected and the actual value`() throws {
        let steps = #", {"t": 0, "do": "call.outgoing", "call": "c"}, {"t": 9, "expect": {"route": "bluetooth:H1"}}"#
        let scenario = try #require(try ScenarioFile(file(steps: steps)).scenarios.first)
        var runner = ScenarioRunner(scenario, isTracing: true, isObserving: true)
        let result = runner.run()
        #expect(result.line == "not ok R900 step 3: route expected bluetooth:H1, got earpiece")
        #expect(result.observations.count == 3)
        #expect(result.observations.last?.contains(#""route":"earpiece""#) == true)
        #expect(result.trace.contains("0 route earpiece: callStarted"))
    }

    @Test func `real addresses work as well as placeholders`() throws {
        let given = #""headsets": {"00:1B:DC:08:00:11": {}}, "connected": ["00:1b:dc:08:00:11"]"#
        let steps = """
            , {"t": 0, "do": "call.outgoing", "call": "c"},
            {"t": 400, "expect": {"route": "bluetooth:00:1b:dc:08:00:11", "opens": {"00:1B:DC:08:00:11": 1},
              "out": "sco:00:1B:DC:08:00:11"}}
            """
        let scenario = try #require(try ScenarioFile(file(given: given, steps: steps)).scenarios.first)
        var runner = ScenarioRunner(scenario)
        #expect(runner.run().line == "ok R900")
    }

    @Test func `a recording carries its own completions`() throws {
        let steps = """
            , {"t": 0, "do": "bt.connected", "addr": "H1", "profiles": ["hfp"]},
            {"t": 10, "do": "call.outgoing", "call": "c"}, {"t": 700, "do": "link.opened", "addr": "H1"},
            {"t": 700, "expect": {"route": "bluetooth:H1"}}
            """
        let data = file(steps: steps, more: #""recorded": true,"#)
        let scenario = try #require(try ScenarioFile(data).scenarios.first)
        var runner = ScenarioRunner(scenario)
        #expect(runner.run().line == "ok R900")
    }

    @Test func `a call that is silent for too long fails without an expectation`() throws {
        let given =
            #""headsets": {"H1": {"script": ["hang"]}}, "connected": ["H1"],"#
            + #""hw": {"speakerphone": false, "earpiece": false}"#
        let steps = #", {"t": 0, "do": "call.outgoing", "call": "c"}, {"t": 4000, "expect": {"route": "none"}}"#
        for (more, isFine) in [("", false), (#""mayBeSilent": true,"#, true)] {
            let scenario = try #require(try ScenarioFile(file(given: given, steps: steps, more: more)).scenarios.first)
            var runner = ScenarioRunner(scenario)
            #expect(runner.run().hasPassed == isFine)
        }
    }
}
