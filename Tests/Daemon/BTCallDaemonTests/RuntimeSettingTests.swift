import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import Logging
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct RuntimeSettingTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func setting(_ box: Box, _ key: String) async throws -> Setting {
            try #require(try await box.bridge.settings().first { $0.key == key })
        }

        @Test func `Settings take effect as documented, survive a restart and can be reset`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try await Box.run(
                configure: { $0.stateDirectory = folder.path },
                body: { box in
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    try await box.route(first)
                    try await box.bridge.setSetting("routing.exclude", to: "bluetooth")
                    try await box.route(.earpiece)
                    #expect(try await box.bridge.status().reason == "configurationChanged")
                    let excluded = try await box.device(first.description)
                    #expect(excluded?["unavailableBecause"] == "excluded")
                    try await registration.update(call, .ended)
                    try await box.bridge.setSetting("audio.callQueueBlocks", to: "4")
                    box.bluez.disconnect(Box.first)
                    try await box.restartDaemon()
                    let kept = try await setting(box, "routing.exclude")
                    #expect(kept.value == "bluetooth" && kept.origin == .runtime && kept.effect == .now)
                    let blocks = try await setting(box, "audio.callQueueBlocks")
                    #expect(blocks.value == "4" && blocks.origin == .runtime && blocks.effect == .nextCall)
                    #expect(try await box.bridge.audioDeviceManager.preferredAudioDevice() == .bluetooth)
                    _ = try await box.connect(Box.first)
                    let next = try await box.register()
                    _ = try await box.startCall(next)
                    try await box.route(.earpiece)
                    try await box.bridge.resetSetting("routing.exclude")
                    try await box.route(first)
                    #expect(try await setting(box, "routing.exclude").origin == .default)
                })
        }

        @Test func `Codecs apply when the link is next opened`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                try await box.playing("headset 1")
                #expect(try await box.bridge.status().codec == "mSBC")
                #expect(try await setting(box, "bluetooth.codecs").effect == .reopen)
                try await box.bridge.setSetting("bluetooth.codecs", to: "cvsd")
                #expect(try await box.bridge.status().codec == "mSBC")
                #expect(try await box.device(first.description)?["codecs"] == .strings(["CVSD"]))
                #expect(try await box.device(first.description)?["rates"] == .array("u", [.uint32(8000)]))
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await box.route(.earpiece)
                try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.first) }
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
                #expect(try await box.bridge.status().codec == "CVSD")
                try await box.playing("headset 1")
                #expect(!ears.events.contains(.closed))
                try await box.bridge.setSetting("bluetooth.codecs", to: "msbc")
                #expect(try await setting(box, "bluetooth.codecs").value == "msbc, cvsd")
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.first) }
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
                #expect(try await box.bridge.status().codec == "mSBC")
            }
        }

        @Test func `The log level changes at once`() async throws {
            let level = LogThreshold.level
            defer { LogThreshold.level = level }
            try await Box.run { box in
                try await box.bridge.setSetting("daemon.logLevel", to: "trace")
                #expect(LogThreshold.level == .trace)
                #expect(StandardErrorLogHandler(label: "test").logLevel == .trace)
                try await box.bridge.resetSetting("daemon.logLevel")
                #expect(LogThreshold.level == .info)
            }
        }

        @Test func `A silent link is noticed after a limit that was set while it was open`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                try await box.playing("headset 1")
                try await box.bridge.setSetting("routing.silentLimitMilliseconds", to: "1200")
                // The audio thread applies it within its next block.
                try await box.playing("headset 1")
                let start = ControlLoop.now
                box.simulation.die(Box.first)
                try await box.route(.earpiece)
                let passed = start.duration(to: ControlLoop.now)
                #expect(passed > .milliseconds(1100), "\(passed)")
                #expect(try await box.bridge.status().reason == "linkSilent")
            }
        }

        @Test func `A state directory that cannot be written is a problem, and the setting still applies`() async throws
        {
            try await Box.run(
                configure: { $0.stateDirectory = "/proc/btcall" },
                body: { box in
                    try await box.bridge.setSetting("routing.newHeadset", to: "take")
                    #expect(try await box.problem("state").what == "preferences are not kept")
                    #expect(try await setting(box, "routing.newHeadset").value == "take")
                })
        }

        @Test func `Without permission everybody may read settings, and nobody may change them`() throws {
            let file = URL(filePath: #filePath).appending(path: "../../../../dbus/org.btcall.conf").standardized
            let text = try String(contentsOf: file, encoding: .utf8)
            let everybody = try #require(text.components(separatedBy: "<policy context=\"default\">").last)
            #expect(everybody.contains("<deny send_destination=\"org.btcall\"/>"))
            let members = everybody.matches(of: /send_interface="org\.btcall\.[A-Za-z0-9]+" send_member="([A-Za-z]+)"/)
                .map { String($0.output.1) }
            #expect(members.contains("ListSettings") && members.contains("Explain"))
            for changing in [
                "SetSetting", "ResetSetting", "Interrupt", "AcquireSelection", "Activate", "Set", "Select",
            ] {
                #expect(!members.contains(changing))
            }
        }
    }
}
