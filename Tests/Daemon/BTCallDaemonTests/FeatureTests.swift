import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The audio device manager's features through the daemon, one test for each row; a test's name begins with the row's
    /// number.
    @Suite @ControlPlane struct FeatureTests {
        let first = Choice("bluetooth:\(Box.first)") ?? .none
        let second = Choice("bluetooth:\(Box.second)") ?? .none

        @Test func `S0.1 two look-ups return the same object, and two clients see one state`() async throws {
            // The quality of the call's audio is not measured between two reads.
            let configure: (inout Configuration) -> Void = { $0.timeouts.quality = .seconds(60) }
            try await Box.run(configure: configure) { box in
                #expect(box.bridge.audioDeviceManager === box.bridge.audioDeviceManager)
                let other = try await CallBridge(bus: .address("\(box.address)"))
                try await box.bridge.audioDeviceManager.setAudioDevice(.bluetooth)
                try await other.audioDeviceManager.setDefaultAudio(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await eventually("the earpiece carries the call") {
                    try await box.bridge.calls.list().first?.link != nil
                }
                #expect("\(try await other.status())" == "\(try await box.bridge.status())")
                await other.close()
                let program = try Program(box.address)
                #expect(try await program("prefer", "speakerphone").status == 0)
                try await box.route(.speakerphone)
                let states = (try await program("status", "--json"), try await program("status", "--json"))
                #expect(states.0.status == 0 && states.0.text == states.1.text)
                #expect(states.0.text.contains("\"preferred\": \"speakerphone\""))
                #expect(states.0.text.contains("\"fallback\": \"earpiece\""))
                #expect(states.0.text.contains("\"route\": \"speakerphone\""))
            }
        }

        @Test
        func `S0.3 availability matters only after the start; then the policy applies; a second start does nothing`()
            async throws
        {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    let manager = box.bridge.audioDeviceManager
                    try await box.bridge.activate()
                    try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
                    let log = try await SignalLog(box.address)
                    defer { log.close() }
                    try await box.prefer(.bluetooth)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(.speakerphone)
                    _ = try await box.connect(Box.first)
                    try await box.playing("speakerphone")
                    #expect(log.changes.map(\.new) == ["speakerphone"])
                    #expect(!box.simulation.opened.contains("headset 1"))
                    // A new headset would have to settle first.
                    try await eventually("the headset has settled") {
                        try await manager.explain().levels.contains { $0.name == "preferred" && $0.isEligible }
                    }
                    try await manager.start()
                    try await box.route(first)
                    #expect(try await Program(box.address)("start").status == 0)
                    try await manager.start()
                    try await eventually("the change is signalled") { log.changes.count > 1 }
                    #expect(log.changes.map(\.new) == ["speakerphone", first.description])
                    #expect(log.changes.last?.reason == "started")
                })
        }

        @Test func `S0.4 stopping keeps the call, moves it once, and ignores later headset events`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(first)
                let log = try await SignalLog(box.address)
                defer { log.close() }
                try await manager.stop()
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                try await eventually("the link is released") { !box.daemon.graph.holdsLink(Box.first) }
                box.bluez.disconnect(Box.first)
                _ = try await box.connect(Box.second)
                _ = try await box.connect(Box.first)
                try await manager.stop()
                try await box.playing("speakerphone")
                #expect(
                    log.changes == [.init(old: first.description, new: "speakerphone", reason: "stopped")])
                let calls = try await box.bridge.calls.list()
                #expect(calls.map(\.id) == [call] && calls.map(\.state) == [.active])
                #expect(box.simulation.opened.filter { $0.hasPrefix("headset") } == ["headset 1"])
            }
        }

        @Test func `S0.13 while stopped a call uses the configured system device`() async throws {
            try await Box.run(
                configure: { $0.routing.systemDevice = .earpiece },
                body: { box in
                    try await box.prefer(.bluetooth, default: .speakerphone)
                    _ = try await box.connect(Box.first)
                    try await box.bridge.audioDeviceManager.stop()
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    try await box.route(.earpiece)
                    try await registration.update(call, .ended)
                    try await box.bridge.setSetting("routing.systemDevice", to: "speakerphone")
                    _ = try await box.startCall(registration)
                    try await box.route(.speakerphone)
                    try await box.bridge.audioDeviceManager.start()
                    try await box.route(first)
                })
        }

        @Test func `S0.17 before the start preferences are stored and a selection is refused`() async throws {
            try await Box.run(
                configure: { $0.autostart = false },
                body: { box in
                    let manager = box.bridge.audioDeviceManager
                    try await box.bridge.activate()
                    try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let refused = await refusal { () throws(BridgeError) in try await manager.select(.earpiece) }
                    #expect(refused?.code == .notStarted)
                    #expect(refused?.message.contains("btcall daemon routing on") == true)
                    #expect(try await manager.preferredAudioDevice() == .bluetooth)
                    #expect(try await manager.defaultAudioDevice() == .earpiece)
                    try await manager.start()
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(first)
                })
        }
    }
}
