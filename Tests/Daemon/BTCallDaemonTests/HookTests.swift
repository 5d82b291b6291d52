import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import Foundation
import Glibc
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct HookTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// A program that records its environment, and then does what the test wants.
        private final class Command {
            private let directory = FileManager.default.temporaryDirectory.appending(
                path: "btcall-\(UUID().uuidString)")
            var path: String { directory.appending(path: "hook").path }

            init(_ words: [String], then script: String = "") throws {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                let variables = words.map { "$\($0)" }.joined(separator: "|")
                let text = "#!/bin/sh\necho \"$*|\(variables)\" >>\(directory.path)/runs\n\(script)\n"
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }

            deinit { try? FileManager.default.removeItem(at: directory) }

            var words: CommandWords? { CommandWords(path) }
            var runs: [String] {
                let text = (try? String(contentsOfFile: directory.appending(path: "runs").path, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").map { String($0) }
            }
        }

        @Test func `A command runs for each event, with its data in the environment`() async throws {
            let headset = try Command(["BTCALL_EVENT", "BTCALL_ADDRESS", "BTCALL_NAME"])
            let call = try Command(
                ["BTCALL_EVENT", "BTCALL_NUMBER", "BTCALL_NAME", "BTCALL_DIRECTION", "BTCALL_STATE", "BTCALL_REASON"],
                then: "echo said it")
            let earlier = try Command(["BTCALL_EVENT", "BTCALL_NUMBER"])
            let route = try Command(["BTCALL_OLD_DEVICE", "BTCALL_DEVICE", "BTCALL_REASON"])
            let problem = try Command(["BTCALL_PROBLEM", "BTCALL_WHAT"])
            try await Box.run(
                configure: {
                    for event in [HookEvent.headsetConnected, .headsetLost] { $0.hooks[event] = headset.words }
                    for event in [HookEvent.incomingCall, .callStarted, .callEnded] { $0.hooks[event] = call.words }
                    $0.hooks[.callIncoming] = earlier.words
                    $0.hooks[.routeChanged] = route.words
                    $0.hooks[.problem] = problem.words
                },
                body: { box in
                    try await box.prefer(first)
                    _ = try await box.connect(Box.first)
                    try await eventually("the headset's is run") {
                        headset.runs == ["|headsetConnected|\(Box.first)|headset 1"]
                    }
                    let registration = try await box.register()
                    // A name that a shell would execute.
                    let id = try await registration.reportIncoming(number: "5550100", name: "$(id) \"x\"; exit")
                    try await eventually("it rings") { call.runs.count == 1 }
                    try await eventually("by the earlier name, too") { earlier.runs == ["|callIncoming|5550100"] }
                    try await registration.update(id, .active)
                    try await eventually("it is up") { call.runs.count == 2 }
                    try await box.route(first)
                    try await registration.update(id, .ended)
                    try await eventually("it has ended") { call.runs.count == 3 }
                    let party = "5550100|$(id) \"x\"; exit|incoming"
                    #expect(call.runs[0] == "|incomingCall|\(party)|ringing|")
                    #expect(call.runs[1] == "|callStarted|\(party)|active|")
                    #expect(call.runs[2].hasPrefix("|callEnded|\(party)|") && call.runs[2].hasSuffix("|remoteHangUp"))
                    try await eventually("its output is in the log") {
                        box.log.containing("info", "callEnded: said it").count == 1
                    }
                    try await eventually("the route's is run") {
                        route.runs.contains { $0.contains("|bluetooth:\(Box.first)|") }
                    }
                    box.bluez.disconnect(Box.first)
                    try await eventually("it is gone") { headset.runs.last == "|headsetLost|\(Box.first)|headset 1" }
                    box.bluez.stop()
                    try await eventually("a problem is reported") {
                        problem.runs.contains("|bluetoothd|bluetoothd is not on the bus")
                    }
                    let text = try OpenMetricsReader(try await box.bridge.metrics())
                    #expect(try text.value("btcall_hook_runs", ["event": "callStarted"]) == 1)
                    #expect(try text.value("btcall_hook_failures", ["event": "callStarted"]) == 0)
                    // A placed call does not ring.
                    _ = try await box.startCall(registration)
                    try await eventually("it is up") { call.runs.count == 4 }
                    #expect(call.runs[3].hasPrefix("|callStarted|+4930123456||outgoing|active|"))
                    #expect(earlier.runs.count == 1)
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.setSetting("hooks.callEnded", to: "/bin/true")
                    }
                    #expect(error?.code == .notSupported)
                })
        }

        @Test func `A command that fails, hangs or is missing is a problem that ends, and does not trigger itself`()
            async throws
        {
            let hang = try Command([], then: "sleep 600 & sleep 600")
            let problem = try Command(["BTCALL_PROBLEM"], then: "date +%N; exit 7")
            try await Box.run(
                configure: {
                    $0.hooks[.headsetConnected] = hang.words
                    $0.hooks[.headsetLost] = CommandWords("/nonexistent/hook")
                    $0.hooks[.problem] = problem.words
                    $0.timeouts.hook = .seconds(3)
                },
                body: { box in
                    _ = try await box.connect(Box.first)
                    #expect(try await box.problem("hook.headsetConnected").what.contains("did not end within"))
                    box.bluez.disconnect(Box.first)
                    let missing = try await box.problem("hook.headsetLost")
                    #expect(missing.what.contains("ENOENT") && missing.remedy.contains("`/nonexistent/hook` by hand"))
                    box.bluez.stop()
                    #expect(try await box.problem("hook.problem").what.contains("status 7"))
                    // bluetoothd may be missing for a moment at the start as well.
                    #expect(Set(problem.runs) == ["|bluetoothd"])
                    let text = try OpenMetricsReader(try await box.bridge.metrics())
                    #expect(try text.value("btcall_hook_failures", ["event": "headsetLost"]) == 1)
                })
        }

        @Test func `Commands of one event run one at a time, in order; excess runs are dropped and logged`()
            async throws
        {
            let slow = try Command(["BTCALL_NUMBER"], then: "sleep 0.05; echo end >>$(dirname $0)/runs")
            try await Box.run(
                configure: { $0.hooks[.callEnded] = slow.words },
                body: { box in
                    let owner = Switchboard()
                    box.daemon.calls.register(owner)
                    for number in 0..<HookRunner.mostWaiting + 5 {
                        let record = try box.daemon.calls.reportIncoming(
                            from: owner, number: "\(number)", options: ReportOptions())
                        try owner.report("ended", of: record, to: box.daemon.calls)
                    }
                    // One runs in addition to those that wait.
                    let count = HookRunner.mostWaiting + 1
                    try await eventually("all have run") { slow.runs.count == 2 * count }
                    #expect(slow.runs == (0..<count).flatMap { ["|\($0)", "end"] })
                    #expect(box.log.containing("warning", "callEnded", "dropped").count == 4)
                })
        }

        // MARK: Buttons

        /// Runs a box with a ringing call and a headset whose media buttons are known.
        private func run(
            _ buttons: [ButtonGesture: ButtonAction], hook: CommandWords? = nil,
            _ body: (Box, RawHeadset, ProviderRegistration) async throws -> Void
        ) async throws {
            try await Box.run(
                configure: {
                    $0.buttons = buttons
                    $0.hooks[.button] = hook
                },
                body: { box in
                    try await box.prefer(.earpiece)
                    let headset = try await box.establishedHeadset()
                    try await eventually("it is connected") {
                        box.daemon.headsets.description(of: Box.first) != nil
                    }
                    let registration = try await box.register([.hold, .dial])
                    try await body(box, headset, registration)
                })
        }

        @Test func `Buttons act on calls as configured, on short and double presses`() async throws {
            try await run([
                ButtonGesture(.callKey, .short): .toggle, ButtonGesture(.callKey, .double): .hold,
                ButtonGesture(.hangUp, .short): .mute,
            ]) { box, headset, registration in
                let id = try await registration.reportIncoming(number: "1")
                headset.say("AT+CKPD=200")
                try await eventually("it is answered") { try await box.bridge.calls.list().first?.state == .active }
                headset.say("AT+CKPD=200", "AT+CKPD=200")
                try await eventually("it is held") { try await box.bridge.calls.list().first?.state == .held }
                headset.say("AT+CKPD=200", "AT+CKPD=200")
                try await eventually("it is resumed") { try await box.bridge.calls.list().first?.state == .active }
                headset.say("AT+CKPD=200")
                try await eventually("it has ended") { try await box.bridge.calls.list().isEmpty }
                #expect(try await box.bridge.calls.log().first?.id == id)
                // Without a call the action has nothing to do, which is logged.
                headset.say("AT+CKPD=200")
                try await eventually("it is logged") {
                    box.log.containing("notice", "the button does nothing", "there is no call").count == 1
                }
            }
        }

        @Test func `Other buttons redial, mute and change the volume; one without an action runs the hook`()
            async throws
        {
            let hook = try Command(["BTCALL_BUTTON", "BTCALL_PRESS", "BTCALL_ADDRESS"])
            let own = try Command(["BTCALL_BUTTON", "BTCALL_PRESS"])
            let command = try #require(CommandWords(own.path + " \"two words\""))
            try await run(
                [
                    ButtonGesture(.play, .short): .redial, ButtonGesture(.pause, .short): .mute,
                    ButtonGesture(.next, .short): .volumeUp, ButtonGesture(.previous, .short): .volumeDown,
                    ButtonGesture(.stop, .double): .run(command),
                ], hook: hook.words
            ) { box, headset, registration in
                try await eventually("bluetoothd has the endpoint") { !box.bluez.media.endpoints.isEmpty }
                try await box.bluez.configureMedia(of: Box.first)
                try await eventually("its A2DP is up") { box.daemon.media.likelySource == Box.first }
                @ControlPlane func press(_ method: String) async throws {
                    try await eventually("\(method) is taken") { box.bluez.pressMedia(method, of: Box.first) }
                }
                try await press("Play")
                try await eventually("nothing was dialled yet") {
                    !box.log.containing("nothing was dialled yet").isEmpty
                }
                let call = try await box.startCall(registration)
                try await registration.update(call, .ended)
                try await press("Play")
                try await eventually("it is dialled again") {
                    try await box.bridge.calls.list().first?.number == "+4930123456"
                }
                try await press("Pause")
                try await eventually("it is muted") { try await box.bridge.calls.isMuted() }
                try await press("Pause")
                try await eventually("it is not muted") { try await !box.bridge.calls.isMuted() }
                headset.say("AT+VGS=9")
                try await eventually("the volume is known") {
                    box.daemon.headsets.description(of: Box.first)?.speakerVolume == 9
                }
                try await press("Next")
                try await headset.hear("+VGS: 10")
                try await press("Previous")
                try await headset.hear("+VGS: 9")
                try await press("Stop")
                try await press("Stop")
                try await eventually("the command is run") { own.runs == ["two words|stop|double"] }
                try await press("Stop")
                try await eventually("the hook is run") { hook.runs == ["|stop|short|\(Box.first)"] }
            }
        }

        @Test func `Holding the call key is an action where configured, and headsets then see voice recognition`()
            async throws
        {
            let own = try Command(["BTCALL_BUTTON", "BTCALL_PRESS"])
            let command = try #require(own.words)
            try await run([ButtonGesture(.callKey, .long): .run(command)]) { box, _, _ in
                box.bluez.disconnect(Box.first)
                let headset = try await box.rawHeadset()
                // Voice recognition is bit 3 of a headset's features, bit 2 of the gateway's.
                headset.say("AT+BRSF=24", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1")
                try await eventually("it is connected") { headset.lines.count { $0 == "OK" } >= 4 }
                let features = headset.lines.first { $0.hasPrefix("+BRSF: ") }.flatMap { Int($0.dropFirst(7)) }
                #expect((features ?? 0) & 4 == 4)
                headset.forget()
                headset.say("AT+BVRA=1")
                try await headset.hear("+BVRA: 0")
                #expect(headset.lines == ["OK", "+BVRA: 0"])
                try await eventually("the command is run") { own.runs == ["|callKey|long"] }
                headset.say("AT+BVRA=1")
                try await eventually("and again") { own.runs.count == 2 }
            }
            try await run([:]) { _, headset, _ in
                let features = headset.lines.first { $0.hasPrefix("+BRSF: ") }.flatMap { Int($0.dropFirst(7)) }
                #expect((features ?? 4) & 4 == 0)
            }
        }
    }
}
