import CommandTestSupport
import ControlLoop
import Foundation
import TestSupport
import Testing

@testable import BTCall
@testable import BTCallCommand

/// The hooks of `btcall watch`.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct EventHookTests {
    private let capture = Capture()
    private let file = FileManager.default.temporaryDirectory.appending(path: "btcall-hook-\(UUID().uuidString)")

    /// Runs a hook for events with these words, until the one named `last` is done.
    private func run(_ command: String, within limit: Duration = .seconds(30), _ words: String...) async {
        let hook = EventHook(command, within: limit, capture.sink, isJSON: true)
        for word in words + ["last"] {
            hook.add(["BTCALL_EVENT": word, "FILE": file.path()])
        }
        await capture.contains("\"last\"")
    }

    private var written: String {
        // A missing file means no output.
        (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }

    @Test func `Hooks run one at a time, in the order of the events`() async throws {
        let words = (0..<20).map { "event\($0)" }
        let hook = EventHook(
            #"printf '<%s' "$BTCALL_EVENT" >>"$FILE"; printf '>' >>"$FILE""#, within: .seconds(30), capture.sink,
            isJSON: true)
        for word in words { hook.add(["BTCALL_EVENT": word, "FILE": file.path()]) }
        await capture.contains("\"event19\"")
        #expect(written == words.map { "<\($0)>" }.joined())
        #expect(capture.errors == "")
    }

    @Test func `A hook that hangs is killed with its children and reported, and the next one runs`() async throws {
        await run(
            #"if [ "$BTCALL_EVENT" = slow ]; then sleep 1000 & echo $! >"$FILE"; wait; fi"#, within: .seconds(3),
            "slow")
        #expect(
            capture.output == """
                {"event":"slow","status":137,"killed":true}
                {"event":"last","status":0,"killed":false}

                """)
        #expect(
            capture.errors == "btcall: the hook for slow was killed: it took longer than 3.0 seconds (--timeout)\n")
        let sleeper = try #require(pid_t(written.trimmingCharacters(in: .whitespacesAndNewlines)))
        // The process is gone once its new parent has reaped it: then there is no such process group either.
        try await eventually("the hook's child ends") {
            try kill(sleeper, 0) != 0 || Self.state(of: sleeper) == "Z"
        }
    }

    /// The state letter in /proc; nil when there is no such process.
    private static func state(of process: pid_t) throws -> String? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return nil }
        return text.split(separator: ") ").last.map { String($0.prefix(1)) }
    }

    @Test func `A failed hook is reported with its status, one that cannot run with the shell's`() async throws {
        await run(#"[ "$BTCALL_EVENT" = last ] || exit 3"#, "bad")
        #expect(capture.errors == "btcall: the hook for bad ended with 3\n")
    }

    @Test func `Stopping kills the running hook and drops the waiting ones`() async throws {
        let hook = EventHook(
            #"echo "$BTCALL_EVENT" >>"$FILE"; exec sleep 1000"#, within: .seconds(1000), capture.sink, isJSON: true)
        for word in ["first", "second"] { hook.add(["BTCALL_EVENT": word, "FILE": file.path()]) }
        try await eventually("the first hook runs") { written == "first\n" }
        await hook.stop()
        #expect(written == "first\n" && capture.output == "")
    }

    @Test func `A thousand events may wait, more are dropped and counted`() async throws {
        let hook = EventHook("true", within: .seconds(30), capture.sink, isJSON: false)
        for _ in 0..<EventHook.most + 3 { hook.add(["BTCALL_EVENT": "quality"]) }
        #expect(
            capture.errors == "btcall: the hook is too slow: 1000 events wait, further ones are dropped\n")
        await hook.stop()
    }

    @Test func `Every variable is set, unused ones to an empty value`() throws {
        let muted = HookVariables.values(of: .mutedChanged(true), nil, at: .now)
        #expect(Set(muted.keys) == Set(HookVariables.names))
        #expect(muted["BTCALL_VALUE"] == "true" && muted["BTCALL_CALL"] == "")
        let route = HookVariables.values(
            of: .routeChanged(old: .none, new: .earpiece, reason: "callStarted"), nil, at: .now)
        #expect(Set(route.keys) == Set(HookVariables.names))
        #expect(route["BTCALL_DEVICE"] == "earpiece" && route["BTCALL_OLD_DEVICE"] == "none")
        #expect(route["BTCALL_REASON"] == "callStarted")
        let status = HookVariables.values(
            of: .callStatusChanged(Call.ID(text: "c1"), .busy, reason: "busy"), nil, at: .now)
        #expect(status["BTCALL_STATUS"] == "busy" && status["BTCALL_REASON"] == "busy")
        #expect(status["BTCALL_STATE"] == "" && status["BTCALL_EVENT"] == "callStatus")
        let message = HookVariables.values(
            of: .headsetEvent(address: "AA", event: "DON", values: ["1", "2"]), nil, at: .now)
        #expect(message["BTCALL_ADDRESS"] == "AA")
        #expect(message["BTCALL_SETTING"] == "DON")
        #expect(message["BTCALL_VALUE"] == "1,2")
        let setting = HookVariables.values(
            of: .settingChanged(name: "preferred", value: nil), nil, at: .now)
        #expect(setting["BTCALL_SETTING"] == "preferred" && setting["BTCALL_VALUE"] == "")
        #expect(setting["BTCALL_NAME"] == "")
    }

    @Test func `A document too long for the environment is replaced by a short one`() async throws {
        let long = String(repeating: "x", count: 200_000)
        let values = HookVariables.values(
            of: .settingChanged(name: "preferred", value: long), nil, at: WallClock(milliseconds: 0))
        let short = #"{"event":"setting","time":"1970-01-01T00:00:00.000Z","cut":true}"#
        #expect(values["BTCALL_JSON"] == short)
        // Otherwise the hook could not run at all.
        let hook = EventHook(
            #"printf '%s %s' "${#BTCALL_VALUE}" "$BTCALL_JSON" >"$FILE""#, within: .seconds(30), capture.sink,
            isJSON: true)
        hook.add(values.merging(["FILE": file.path()]) { $1 })
        await capture.contains("\"setting\"")
        #expect(written == "\(ControlLoop.longestVariable) \(short)" && capture.errors == "")
    }
}
