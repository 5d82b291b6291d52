import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
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
    @Suite @ControlPlane struct VoiceRoutingTests {
        /// A helper that records each run, and prints and does what the test wants.
        private final class Helper {
            let directory: URL
            var words: [String] { ["sh", "-c", "echo \"$0\" >> '\(file("runs"))'; . '\(file("script"))'"] }

            init(_ script: String) throws {
                directory = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID())")
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                try set(script)
            }

            deinit { try? FileManager.default.removeItem(at: directory) }

            private func file(_ name: String) -> String { directory.appending(path: name).path }

            /// Sets its script; `$0` is the controller.
            func set(_ script: String) throws {
                try script.write(toFile: file("script"), atomically: true, encoding: .utf8)
            }

            /// The controllers for which it ran.
            var runs: [String] {
                let text = (try? String(contentsOfFile: file("runs"), encoding: .utf8)) ?? ""
                return text.split(separator: "\n").map { String($0) }
            }
        }

        private static let success = "echo \"$0: voice went to the PCM pins and goes to the host now\""

        @Test func `The controller is configured when it appears, and after it was off or away`() async throws {
            let helper = try Helper(Self.success)
            try await Box.run(
                configure: { $0.scoRouting = .host }, environment: { $0.voiceRoutingHelper = helper.words },
                body: { box in
                    let line = "notice: hci0: voice went to the PCM pins and goes to the host now"
                    func told(_ times: Int) async throws {
                        try await eventually("the helper ran \(times) times") {
                            box.log.containing(line).count == times
                        }
                        #expect(helper.runs == [String](repeating: "hci0", count: times))
                    }
                    try await told(1)
                    // A change that leaves the adapter on is not a reset.
                    box.bluez.set("Discovering", .bool(true), of: "org.bluez.Adapter1", at: "/org/bluez/hci0")
                    box.bluez.setPowered(false)
                    _ = try await box.problem("adapter")
                    box.bluez.setPowered(true)
                    try await box.noProblem("adapter")
                    try await told(2)
                    box.bluez.stop()
                    _ = try await box.problem("bluetoothd")
                    try await box.bluez.start()
                    try await told(3)
                    box.bluez.addAdapter("hci1", address: BluetoothAddress(value: 0x0000_5E00_53FF))
                    try await eventually("the second controller was configured") { helper.runs.count == 4 }
                    #expect(helper.runs.last == "hci1")
                })
        }

        @Test func `The helper runs only when configured, and then at once`() async throws {
            let helper = try Helper(Self.success)
            try await Box.run(
                environment: { $0.voiceRoutingHelper = helper.words },
                body: { box in
                    box.bluez.setPowered(false)
                    _ = try await box.problem("adapter")
                    box.bluez.setPowered(true)
                    try await box.noProblem("adapter")
                    #expect(helper.runs == [])
                    try await box.bridge.setSetting("bluetooth.scoRouting", to: "host")
                    try await eventually("the helper ran") { helper.runs == ["hci0"] }
                })
        }

        @Test func `A failure is a problem with the helper's message, until it succeeds or is not needed`() async throws
        {
            let helper = try Helper("echo \"$0: not permitted: do this\" >&2; exit 1")
            try await Box.run(
                configure: { $0.scoRouting = .host }, environment: { $0.voiceRoutingHelper = helper.words },
                body: { box in
                    let problem = try await box.problem("scoRouting.hci0")
                    #expect(problem.what == "hci0: the voice routing is not set: not permitted: do this")
                    #expect(problem.remedy.contains("switched off and on"))
                    try helper.set(Self.success)
                    box.bluez.setPowered(false)
                    try await box.noProblem("scoRouting.hci0")
                    box.bluez.setPowered(true)
                    try await eventually("the helper ran") { !box.log.containing("goes to the host now").isEmpty }
                    try helper.set("echo \"$0: of another maker\" >&2; exit 3")
                    box.bluez.setPowered(false)
                    _ = try await box.problem("adapter")
                    box.bluez.setPowered(true)
                    #expect(try await box.problem("scoRouting.hci0").remedy.contains("scoRouting leave"))
                    try await box.bridge.setSetting("bluetooth.scoRouting", to: "leave")
                    try await box.noProblem("scoRouting.hci0")
                })
        }

        @Test func `A missing helper is a problem that says how to install it`() async throws {
            try await Box.run(
                configure: { $0.scoRouting = .host }, environment: { $0.voiceRoutingHelper = ["/nonexistent/helper"] },
                body: { box in
                    let problem = try await box.problem("scoRouting.hci0")
                    #expect(problem.what.contains("/nonexistent/helper") && problem.what.contains("ENOENT"))
                    #expect(problem.remedy.contains("install btcall again"))
                })
        }

        private static let unchanged = "echo \"$0: voice goes to the host already\""
        private static let path = "/org/bluez/hci0"

        @Test func `A routing that another program changes is set again, and left at the third time`() async throws {
            let helper = try Helper(Self.success)
            try await Box.run(
                configure: { $0.scoRouting = .host }, environment: { $0.voiceRoutingHelper = helper.words },
                body: { box in
                    let routing = box.daemon.voiceRouting
                    let line = "notice: foreign-change: hci0: another program sent voice elsewhere, set again"
                    try await eventually("the helper ran") { !box.log.containing("goes to the host now").isEmpty }
                    for count in 1...2 {
                        routing.nothingCame(through: Self.path)
                        try await eventually("it was set again") { box.log.containing(line).count == count }
                    }
                    routing.nothingCame(through: Self.path)
                    let problem = try await box.problem("scoRouting.hci0")
                    #expect(
                        problem.what == "hci0: another program keeps changing where the controller sends voice")
                    routing.nothingCame(through: Self.path)
                    #expect(routing.advice(Self.path).contains("another program keeps changing where hci0 sends"))
                    let manager = box.bridge.audioDeviceManager
                    let note = try #require(try await manager.explain().text.last)
                    #expect(note.hasPrefix("note: hci0: another program changed where it sends voice 3 times in 10 s"))
                    #expect(helper.runs.count == 3)
                    try await manager.refreshSpeakerphoneSetting()
                    try await box.noProblem("scoRouting.hci0")
                    #expect(helper.runs.count == 4)
                    #expect(try await manager.explain().text.last != note)
                })
        }

        @Test func `A silent link has the routing checked, and accuses nobody when it is unchanged`() async throws {
            let helper = try Helper(Self.unchanged)
            try await Box.run(
                configure: { $0.scoRouting = .host }, environment: { $0.voiceRoutingHelper = helper.words },
                body: { box in
                    let already = "notice: hci0: voice goes to the host already"
                    try await eventually("the helper ran") { box.log.containing(already).count == 1 }
                    box.simulation.mute = [Box.first]
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await eventually("it was checked") { box.log.containing(already).count >= 2 }
                    for count in 3...6 {
                        box.daemon.voiceRouting.nothingCame(through: Self.path)
                        try await eventually("it was checked") { box.log.containing(already).count >= count }
                    }
                    #expect(box.log.containing("foreign-change").isEmpty)
                    #expect(try await box.bridge.status().problems.allSatisfy { $0.id != "scoRouting.hci0" })
                })
        }

        @Test func `An open link without packets is a problem with the controller's maker and a remedy`() async throws {
            try await Box.run(
                environment: {
                    $0.controllers = ControllerFacts(
                        directory: "/nonexistent", manufacturer: { $0 == "hci0" ? 305 : nil })
                },
                body: { box in
                    box.simulation.mute = [Box.first]
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await eventually("the log names it") { !box.log.containing("nothing comes in").isEmpty }
                    let line = try #require(box.log.containing("nothing comes in").first)
                    #expect(line.hasPrefix("warning: \(Box.first): the audio link is up and nothing comes in; trying"))
                    #expect(line.contains("hci0 is made by Cypress") && line.contains("bluetooth.scoRouting host"))
                    #expect(box.log.containing("nothing received for") == [])
                    // Once a headset is heard through this controller, the controller is not the cause.
                    box.simulation.mute = []
                    try await box.playing("headset 1")
                    #expect(box.daemon.voiceRouting.advice("/org/bluez/hci0").contains("were heard before"))
                    #expect(box.daemon.voiceRouting.advice("/org/bluez/hci7").contains("every headset"))
                })
        }

        @Test func `A link that the headset closes before any audio is reported differently`() async throws {
            try await Box.run { box in
                box.simulation.brief = [Box.first]
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("the log says so") {
                    !box.log.containing("\(Box.first): the audio link ended before anything came in").isEmpty
                }
                #expect(box.log.containing("nothing comes in") == [])
            }
        }
    }
}
