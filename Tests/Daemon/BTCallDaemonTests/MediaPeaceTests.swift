import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Music of other programs around calls.
    @Suite @ControlPlane struct MediaPeaceTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// Runs a box with a headset and a playing player `clock`: once it resumes, every player has been asked to.
        private func run(
            restore: Duration = .milliseconds(30), timeout: Duration = .milliseconds(500), rules: String = "",
            configure: (inout Configuration) -> Void = { _ in },
            body: (Box, FakePlayer, ProviderRegistration) async throws -> Void
        ) async throws {
            try await Box.run(
                rules: rules,
                configure: {
                    $0.routing.mediaRestore = restore
                    $0.timeouts.foreignMusic = timeout
                    configure(&$0)
                },
                body: { box in
                    let clock = try await player(box, "clock", "Playing")
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    try await body(box, clock, try await box.register())
                    withExtendedLifetime(clock) {}
                })
        }

        /// A player that the daemon knows.
        private func player(_ box: Box, _ name: String, _ status: String) async throws -> FakePlayer {
            let player = try await FakePlayer(box.address, name, status)
            try await eventually("the daemon knows \(name)") {
                box.daemon.peace.status(ofPlayer: "org.mpris.MediaPlayer2.\(name)") == status
            }
            return player
        }

        @Test func `A playing player is paused before the link opens, and resumes after the last call`() async throws {
            try await run(timeout: .seconds(600)) { box, clock, registration in
                box.daemon.peace.isPlaying = { $0 == Box.first && clock.status == "Playing" }
                clock.onCommand = { command in
                    if command == "Pause" { #expect(!box.simulation.opened.contains("headset 1")) }
                }
                let call = try await box.startCall(registration)
                try await box.route(first)
                #expect(clock.commands == ["Pause"])
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
                #expect(clock.status == "Playing")
                #expect(
                    box.log.containing("notice: org.mpris.MediaPlayer2.clock plays and is paused for the call").count
                        == 1)
            }
        }

        @Test func `Nothing delays the link when nothing plays to the headset`() async throws {
            try await run(timeout: .seconds(600)) { box, clock, registration in
                clock.refusal = .failed("busy")
                box.daemon.peace.isPlaying = { _ in false }
                _ = try await box.startCall(registration)
                try await box.route(first)
                #expect(clock.status == "Playing")
                try await eventually("the refusal is reported") {
                    !box.log.containing("warning", "clock cannot be paused", "mediaCommand").isEmpty
                }
            }
        }

        @Test func `The link opens beside a stream that does not end, which is logged once`() async throws {
            try await run(timeout: .milliseconds(60)) { box, _, registration in
                box.daemon.peace.isPlaying = { _ in true }
                let call = try await box.startCall(registration)
                try await box.route(first)
                #expect(box.log.containing("notice: \(Box.first): another program's music goes on").count == 1)
                try await registration.update(call, .ended)
            }
        }

        @Test func `A call that ends while its link waits opens none, and the music resumes`() async throws {
            try await run(timeout: .seconds(600)) { box, clock, registration in
                box.daemon.peace.isPlaying = { _ in true }
                let call = try await box.startCall(registration)
                try await eventually("it is paused") { clock.commands == ["Pause"] }
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
                #expect(!box.simulation.opened.contains("headset 1"))
                // The policy has the end of that set-up.
                box.daemon.peace.isPlaying = { _ in false }
                _ = try await box.startCall(registration)
                try await box.route(first)
            }
        }

        @Test func `A headset that opens its link during the wait ends the wait`() async throws {
            try await run(timeout: .seconds(600)) { box, clock, registration in
                box.daemon.peace.isPlaying = { _ in true }
                _ = try await box.startCall(registration)
                try await eventually("it is paused") { clock.commands == ["Pause"] }
                box.simulation.openLink(Box.first)
                try await box.route(first)
                try await box.playing("headset 1")
                #expect(box.simulation.opened.filter { $0 == "headset 1" }.count == 1)
            }
        }

        @Test func `A headset that fetches a call has its music paused as well`() async throws {
            try await run { box, clock, registration in
                try await box.prefer(.earpiece)
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                #expect(clock.commands == [])
                box.simulation.openLink(Box.first)
                try await box.route(first)
                try await eventually("it is paused") { clock.commands == ["Pause"] }
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
            }
        }

        @Test func `The policy gives a headset back to its music`() async throws {
            try await run { box, clock, registration in
                // Only the policy's own delay is short.
                box.daemon.peace.setDelay(.seconds(600))
                box.daemon.router.handle(.headsetProfile(Box.first, .a2dp, isUp: true))
                let call = try await box.startCall(registration)
                try await box.route(first)
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
            }
        }

        @Test func `Consecutive calls do not resume the music in between`() async throws {
            try await run(restore: .seconds(600)) { box, clock, registration in
                for _ in 0..<3 {
                    let call = try await box.startCall(registration)
                    try await box.route(first)
                    try await registration.update(call, .ended)
                    try await box.route(.none)
                }
                #expect(clock.commands == ["Pause"])
                let call = try await box.startCall(registration)
                try await box.route(first)
                try await box.bridge.setSetting("routing.mediaRestoreMilliseconds", to: "20")
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
            }
        }

        @Test func `Players that somebody else paused, started or stopped are left alone`() async throws {
            try await run { box, clock, registration in
                let resting = try await player(box, "resting", "Paused")
                let started = try await player(box, "started", "Playing")
                let stopped = try await player(box, "stopped", "Playing")
                let silent = try await player(box, "silent", "Playing")
                silent.isTalkative = false
                let call = try await box.startCall(registration)
                try await box.route(first)
                for player in [clock, started, stopped, silent] {
                    try await eventually("it is paused") { player.commands == ["Pause"] }
                }
                started.set("Playing")
                try await eventually("the daemon has noticed it") {
                    !box.log.containing("started was touched meanwhile (Playing): left alone").isEmpty
                }
                started.set("Paused")
                stopped.set("Stopped")
                let late = try await player(box, "late", "Playing")
                try await registration.update(call, .ended)
                for player in [clock, silent] {
                    try await eventually("it continues") { player.commands == ["Pause", "Play"] }
                }
                #expect(resting.commands == [] && late.commands == [])
                #expect(started.commands == ["Pause"] && stopped.commands == ["Pause"])
                for player in [resting, started, stopped, silent, late] { player.close() }
            }
        }

        @Test func `A player that leaves and returns during a call counts as a new one`() async throws {
            try await run { box, clock, registration in
                let before = try await player(box, "radio", "Playing")
                let call = try await box.startCall(registration)
                try await eventually("it is paused") { before.status == "Paused" }
                before.close()
                try await eventually("it is gone") {
                    box.daemon.peace.status(ofPlayer: "org.mpris.MediaPlayer2.radio") == nil
                }
                let after = try await player(box, "radio", "Paused")
                try await registration.update(call, .ended)
                try await eventually("the other one continues") { clock.commands == ["Pause", "Play"] }
                #expect(after.commands == [])
                after.close()
            }
        }

        @Test func `Players are left alone as soon as pausePlayers is off`() async throws {
            try await run(
                // Suspended music is forgotten with the call.
                restore: .zero, configure: { $0.pausesPlayers = true },
                body: { box, clock, registration in
                    try await box.bridge.setSetting("bluetooth.pausePlayers", to: "no")
                    let call = try await box.startCall(registration)
                    try await box.route(first)
                    try await registration.update(call, .ended)
                    try await box.route(.none)
                    try await box.bridge.setSetting("bluetooth.pausePlayers", to: "yes")
                    try await eventually("the daemon knows it again") {
                        box.daemon.peace.status(ofPlayer: "org.mpris.MediaPlayer2.clock") == "Playing"
                    }
                    #expect(clock.commands == [])
                    _ = try await box.startCall(registration)
                    try await eventually("it is paused") { clock.commands == ["Pause"] }
                })
        }

        @Test func `A bus policy that forbids pausing players is reported with its remedy`() async throws {
            let rule = #"<deny send_interface="org.mpris.MediaPlayer2.Player" send_member="Pause"/>"#
            try await run(rules: rule) { box, clock, registration in
                _ = try await box.startCall(registration)
                try await box.route(first)
                try await eventually("it is reported") {
                    !box.log.containing("warning", "clock cannot be paused", "D-Bus policy").isEmpty
                }
                #expect(clock.commands == [])
            }
        }

        @Test func `The shipped policy lets the daemon pause players on a bus that forbids it otherwise`() async throws
        {
            let file = URL(filePath: #filePath).appending(path: "../../../../dbus/org.btcall.conf").standardized
            let policy = try String(contentsOf: file, encoding: .utf8)
            let allowed = policy.split(separator: "\n").filter { $0.contains("<allow send_path=\"/org/mpris") }
            #expect(allowed.count == 4)
            let rules = """
                <deny send_interface="org.mpris.MediaPlayer2.Player"/>
                <deny send_path="/org/mpris/MediaPlayer2" send_interface="org.freedesktop.DBus.Properties"/>
                \(allowed.joined(separator: "\n"))
                <allow send_type="signal"/>
                """
            try await run(rules: rules) { box, clock, registration in
                let call = try await box.startCall(registration)
                try await eventually("it is paused") { clock.status == "Paused" }
                try await registration.update(call, .ended)
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
            }
        }

        @Test func `A daemon stopped during a call resumes the music`() async throws {
            try await run { box, clock, registration in
                _ = try await box.startCall(registration)
                try await eventually("the daemon knows that it is paused") {
                    box.daemon.peace.status(ofPlayer: "org.mpris.MediaPlayer2.clock") == "Paused"
                }
                try await box.restartDaemon()
                try await eventually("it continues") { clock.commands == ["Pause", "Play"] }
            }
        }

        // MARK: The program

        /// A program that records its runs, and does what the test wants.
        private final class Command {
            private let directory: URL
            var path: String { directory.appending(path: "music").path }

            init() throws {
                directory = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID())")
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                try set("")
                let text = "#!/bin/sh\necho \"$@\" >> '\(directory.path)/runs'\n. '\(directory.path)/script'\n"
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }

            deinit { try? FileManager.default.removeItem(at: directory) }

            func set(_ script: String) throws {
                try script.write(
                    toFile: directory.appending(path: "script").path, atomically: true, encoding: .utf8)
            }

            var runs: [String] {
                let text = (try? String(contentsOfFile: directory.appending(path: "runs").path, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").map { String($0) }
            }
        }

        @Test func `The program runs for the headset before its link and after the last call`() async throws {
            let command = try Command()
            try await run(
                configure: { $0.mediaCommand = command.path },
                body: { box, _, registration in
                    let call = try await box.startCall(registration)
                    try await eventually("it has run") { command.runs == ["suspend \(Box.first)"] }
                    try await registration.update(call, .ended)
                    try await eventually("it has run") {
                        command.runs == ["suspend \(Box.first)", "restore \(Box.first)"]
                    }
                    #expect(try await box.bridge.status().problems.isEmpty)
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.setSetting("bluetooth.mediaCommand", to: "/bin/true")
                    }
                    #expect(error?.code == .notSupported)
                })
        }

        @Test func `A failing program is a problem with its message, until it works`() async throws {
            let command = try Command()
            try await run(
                configure: { $0.mediaCommand = command.path },
                body: { box, _, registration in
                    try command.set("echo no such player >&2; exit 3")
                    let call = try await box.startCall(registration)
                    let problem = try await box.problem("mediaCommand")
                    #expect(
                        problem.what
                            == "the music program did not suspend the music of \(Box.first): status 3: no such player")
                    #expect(problem.remedy.contains("`\(command.path) suspend \(Box.first)` by hand"))
                    try await box.route(first)
                    try command.set("")
                    try await registration.update(call, .ended)
                    try await box.noProblem("mediaCommand")
                })
        }

        @Test func `A program that does not end is killed, and does not keep the link from opening`() async throws {
            let command = try Command()
            try command.set("exec sleep 600")
            try await run(
                configure: {
                    $0.mediaCommand = command.path
                    $0.timeouts.mediaCommand = .milliseconds(300)
                },
                body: { box, _, registration in
                    _ = try await box.startCall(registration)
                    try await box.route(first)
                    #expect(try await box.problem("mediaCommand").what.contains("did not end within"))
                })
        }

        @Test func `A missing program is a problem`() async throws {
            try await run(
                configure: { $0.mediaCommand = "/nonexistent/music" },
                body: { box, _, registration in
                    _ = try await box.startCall(registration)
                    #expect(try await box.problem("mediaCommand").what.contains("ENOENT"))
                })
        }
    }
}
