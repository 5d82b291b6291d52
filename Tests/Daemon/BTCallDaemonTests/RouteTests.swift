import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct RouteTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        @Test func `A call begins on the earpiece, follows the headset and comes back`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                func explain(_ choice: Choice, _ level: String, _ reason: String) async throws {
                    let explanation = try await manager.explain()
                    #expect(explanation.chosen == choice)
                    #expect(explanation.level == level)
                    #expect(explanation.reason == reason)
                    #expect(explanation.text.first?.contains(choice.description) == true)
                }
                try await box.prefer(.bluetooth)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await explain(.earpiece, "default", "callStarted")
                let ears = try await box.connect(Box.first)
                try await box.route(first)
                try await box.playing("headset 1")
                try await explain(first, "preferred", "newDeviceAvailable")
                box.bluez.disconnect(Box.first)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await explain(.earpiece, "default", "oldDeviceUnavailable")
                #expect(ears.events.last == .closed)
            }
        }

        @Test func `A call leaves a headset that dies silently before anybody notices`() async throws {
            // With the shipped configuration, in which a link's history counts.
            try await Box.run(
                configure: { $0.routing.silentLimit = .zero },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(first)
                    try await box.playing("headset 1")
                    ears.headset.dieSilently()
                    box.simulation.die(Box.first)
                    try await box.route(.earpiece)
                    #expect(try await box.bridge.status().reason == "linkSilent")
                    try await box.playing("earpiece")
                })
        }

        @Test func `Volume and battery of a headset are shown, and the volume can be set`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                ears.headset.setSpeakerVolume(11)
                ears.headset.setMicrophoneVolume(4)
                ears.headset.tellBattery(35)
                let path = "/org/btcall/headsets/\(Box.first.pathComponent)"
                func get(_ name: String) async throws -> Value? {
                    try await box.client.call(
                        "org.btcall", path, "org.freedesktop.DBus.Properties", "Get",
                        ["org.btcall.Headset1", .string(name)]
                    ).first?.unwrapped
                }
                try await eventually("the battery is known") { try await get("Battery") == .int32(35) }
                #expect(try await get("SpeakerVolume") == .byte(11))
                #expect(try await get("MicrophoneVolume") == .byte(4))
                #expect(try await get("Codecs") == .strings(["mSBC", "CVSD"]))
                let device = try #require(
                    try await box.bridge.audioDeviceManager.audioDevices().first { $0.choice == first })
                #expect(device.battery == 35)
                #expect(device.speakerVolume == 11)
                #expect(device.microphoneVolume == 4)
                #expect(device.name == "headset 1")
                #expect(device.isAvailable)
                let set: [Value] = ["org.btcall.Headset1", "SpeakerVolume", .variant(.byte(7))]
                #expect(await box.error(path, "org.freedesktop.DBus.Properties", "Set", set) == nil)
                try await ears.hear(.speakerVolume(7))
                #expect(try await get("SpeakerVolume") == .byte(7))
            }
        }

        @Test func `Selecting needs a started router and an available device`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                let absent = await refusal { () throws(BridgeError) in try await manager.select(first) }
                #expect(absent?.code == .unavailable)
                #expect(try await manager.activeRoute() == .none)
                try await manager.stop()
                let stopped = await refusal { () throws(BridgeError) in try await manager.select(.earpiece) }
                #expect(stopped?.code == .notStarted)
                try await manager.clearSelection()
                try await manager.stop()
                #expect(try await !box.bridge.status().isStarted)
                try await manager.start()
                try await manager.start()
                #expect(try await box.bridge.status().isStarted)
            }
        }

        @Test func `A choice applies for one call, and a stopped router uses the system device`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await manager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                try await manager.clearSelection()
                try await box.route(.earpiece)
                try await manager.stop()
                try await box.route(.speakerphone)
                try await manager.start()
                try await box.route(.earpiece)
                try await manager.select(.speakerphone)
                try await registration.update(call, .ended)
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
            }
        }

        @Test func `Two headsets: the second is used only when chosen or after the first has gone`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                _ = try await box.connect(Box.second)
                try await box.bridge.audioDeviceManager.select(second)
                try await box.route(second)
                try await box.playing("headset 2")
                #expect(!box.daemon.graph.hasLink(Box.first))
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
                try await box.playing("headset 1")
                box.bluez.disconnect(Box.first)
                try await box.route(second)
                try await box.playing("headset 2")
            }
        }

        @Test func `After any number of choices the last one is used`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                _ = try await box.connect(Box.first)
                _ = try await box.connect(Box.second)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let choices = [first, second, .earpiece, .speakerphone]
                var generator = Generator(state: 7)
                for _ in 0..<40 {
                    try await box.bridge.audioDeviceManager.select(choices[Int(generator.next() % 4)])
                    // From before the start of the set-up to after the first packet.
                    let pause = Int(generator.next() % 60)
                    await ControlLoop.shared.sleep(for: .milliseconds(pause))
                }
                for (choice, device) in [(first, "headset 1"), (second, "headset 2"), (first, "headset 1")] {
                    try await box.bridge.audioDeviceManager.select(choice)
                    try await box.route(choice)
                    try await box.playing(device)
                }
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await box.route(.earpiece)
                try await eventually("no link is left over") {
                    !box.daemon.graph.holdsLink(Box.first) && !box.daemon.graph.holdsLink(Box.second)
                }
            }
        }

        @Test func `The headset's button takes the audio, and closing the link gives it back`() async throws {
            try await Box.run { box in
                try await box.prefer(.earpiece)
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                ears.headset.press(.transfer)
                try await box.route(first)
                #expect(try await box.bridge.status().reason == "headsetTransfer")
                try await box.playing("headset 1")
                box.simulation.closeLink(Box.first)
                try await box.route(.earpiece)
                #expect(try await box.bridge.status().reason == "headsetTransfer")
                box.simulation.openLink(Box.first)
                try await box.route(first)
                try await box.playing("headset 1")
            }
        }

        @Test func `A headset that leaves during link set-up may return`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                box.simulation.linkDelay = .seconds(4)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("the link is being set up") {
                    try await box.bridge.status().pending == first
                }
                box.bluez.disconnect(Box.first)
                try await eventually("nothing is pending") { try await box.bridge.status().pending == .none }
                try await box.route(.earpiece)
                box.simulation.linkDelay = .milliseconds(20)
                _ = try await box.connect(Box.first)
                try await box.route(first)
                try await box.playing("headset 1")
            }
        }
    }
}

/// A reproducible sequence (xorshift).
private struct Generator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
