import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// `btcall status --watch`, on a terminal and elsewhere.
    @Suite @ControlPlane struct StatusWatchTests {
        private func isGivenBack(_ program: TerminalProgram) -> Bool {
            !program.screen.isAlternate && program.screen.isCursorVisible && program.screen.breaksLines
                && program.isCooked && program.screen.unknown.isEmpty
        }

        @Test func `The view shows routes, calls and levels as they change, and follows the terminal's size`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let program = try Program(box.address).startOnTerminal("status", "--watch")
                try await program.shows("Route     none")
                #expect(program.screen.isAlternate && !program.screen.isCursorVisible && !program.isCooked)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100", name: "Alice")
                try await program.shows("Call in   ringing  Alice (5550100), by test")
                try await registration.update(call, .active)
                try await program.shows("Route     earpiece")
                try await program.shows("Call in   active   0:0")
                _ = try await box.connect(Box.first)
                try await program.shows("Route     headset 1  HFP CVSD")
                try await program.shows("* headset 1")
                try await program.shows("70 %")
                try await eventually("the microphone's level is shown") {
                    program.screen.lines.contains { $0.hasPrefix("Mic       [#") && $0.contains("dB") }
                }
                program.type("m")
                try await program.shows("muted")
                program.resize(columns: 40, rows: 16)
                try await eventually("the view fits") { program.screen.lines.last == "q quit  m mute" }
                #expect(program.screen.lines.count == 16)
                try await registration.update(call, .ended)
                try await program.shows("Calls     none")
                // The view ignores arrow keys.
                program.type("\u{1B}[A")
                program.type("q")
                #expect(try await program.status() == 0)
                try await eventually("the terminal is given back") { self.isGivenBack(program) }
            }
        }

        @Test(arguments: ["\u{3}", "INT", "TERM", "HUP"])
        func `The terminal is restored at Ctrl-C and signals`(_ end: String) async throws {
            try await Box.run { box in
                let program = try Program(box.address).startOnTerminal("status", "--watch")
                try await program.shows("q quit")
                switch end {
                case "INT": program.signal(SIGINT)
                case "TERM": program.signal(SIGTERM)
                case "HUP": program.signal(SIGHUP)
                default: program.type(end)
                }
                #expect(try await program.status() == 0)
                try await eventually("the terminal is given back") { self.isGivenBack(program) }
            }
        }

        @Test func `When stopped it restores the terminal, and takes it again when continued`() async throws {
            try await Box.run { box in
                let program = try Program(box.address).startOnTerminal("status", "--watch")
                try await program.shows("q quit")
                program.type("\u{1A}")
                try await eventually("it is stopped") { program.isStopped && self.isGivenBack(program) }
                program.signal(SIGCONT)
                try await program.shows("q quit")
                #expect(program.screen.isAlternate && !program.isCooked)
                program.type("q")
                #expect(try await program.status() == 0)
                try await eventually("the terminal is given back") { self.isGivenBack(program) }
            }
        }

        @Test func `The view returns with the daemon`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let program = try Program(box.address).startOnTerminal("status", "--watch")
                try await program.shows("active")
                await box.daemon.stop()
                box.connection.close()
                try await program.shows("waiting for btcalld")
                #expect(!program.screen.text.contains("Devices"))
                try await box.restartDaemon()
                try await program.shows("Devices")
                #expect(!program.screen.text.contains("waiting for btcalld"))
                program.type("q")
                #expect(try await program.status() == 0)
                try await eventually("the terminal is given back") { self.isGivenBack(program) }
            }
        }

        @Test func `Without a terminal the status is printed again at each change`() async throws {
            try await Box.run { box in
                let program = try Program(box.address).start("status", "--watch")
                try await eventually("it shows the status") { program.output.contains("Preferred  –") }
                try await box.prefer(.bluetooth)
                try await eventually("it shows it again") { program.output.contains("Preferred  bluetooth") }
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100", name: "Alice")
                try await eventually("the call is shown") { program.output.contains("ringing: Alice (5550100)") }
                try await registration.update(call, .ended)
                await box.daemon.stop()
                box.connection.close()
                try await eventually("it says that it waits") { program.output.contains("waiting for it") }
                program.terminate()
                #expect(try await program.status() == 0)
                let statuses = program.output.split(separator: "\n\n", omittingEmptySubsequences: false)
                #expect(statuses.count >= 4)
                #expect(statuses.dropLast().allSatisfy { $0.hasPrefix("Would use") || $0.hasPrefix("Route") })
                #expect(!program.output.contains("\u{1B}"))
                #expect(Set(zip(statuses, statuses.dropFirst()).map { $0 == $1 }) == [false])
                try await box.restartDaemon()
            }
        }

        @Test func `With --json each status is an object on a line, also while the daemon is absent`() async throws {
            try await Box.run { box in
                let program = try Program(box.address).start("status", "--watch", "--json")
                try await eventually("it shows the status") { program.objects.first?["state"] as? String == "active" }
                try await box.prefer(.bluetooth)
                try await eventually("it shows the change") {
                    program.objects.last?["preferred"] as? String == "bluetooth"
                }
                await box.daemon.stop()
                box.connection.close()
                try await eventually("it shows that") { program.objects.last?["state"] as? String == "absent" }
                try await box.restartDaemon()
                try await eventually("it is back") { program.objects.last?["state"] as? String == "active" }
                program.terminate()
                #expect(try await program.status() == 0)
                #expect(program.objects.count == program.lines.count)
            }
        }

        @Test func `The library reports levels during a call only`() async throws {
            try await Box.run { box in
                #expect(try await box.bridge.audio.levels() == nil)
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.playing("earpiece")
                try await eventually("both are heard") {
                    let levels = try await box.bridge.audio.levels()
                    return (levels?.said.rmsDecibels ?? -96) > -40 && (levels?.heard.rmsDecibels ?? -96) > -40
                }
                try await box.bridge.calls.setMuted(true)
                try await eventually("the far end hears nothing") {
                    let levels = try await box.bridge.audio.levels()
                    return (levels?.said.rmsDecibels ?? 0) < -90 && (levels?.heard.rmsDecibels ?? -96) > -40
                }
                try await registration.update(call, .ended)
                try await eventually("no levels are reported") { try await box.bridge.audio.levels() == nil }
            }
        }
    }
}
