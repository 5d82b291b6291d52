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

/// Signals of changes, and devices that are left alone.
extension DaemonTests.FeatureTests {
    @Test func `S0.15 a client gets every change exactly once, with its reason`() async throws {
        try await Box.run(
            // No local device may stand in while a link opens.
            configure: { $0.routing.startGrace = .seconds(2) },
            body: { box in
                let manager = box.bridge.audioDeviceManager
                let log = try await SignalLog(box.address)
                defer { log.close() }
                try await box.prefer(.bluetooth)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                _ = try await box.connect(Box.first)
                try await box.route(first)
                try await manager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await manager.select(.speakerphone)
                try await manager.clearSelection()
                try await box.route(first)
                let page = try await manager.interrupt(source: "page")
                try await box.route(.none)
                page.release()
                try await box.route(first)
                box.bluez.disconnect(Box.first)
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                try await box.route(.none)
                let word = first.description
                #expect(
                    log.changes == [
                        .init(old: "none", new: "earpiece", reason: "callStarted"),
                        .init(old: "earpiece", new: word, reason: "newDeviceAvailable"),
                        .init(old: word, new: "speakerphone", reason: "userSelection"),
                        .init(old: "speakerphone", new: word, reason: "userSelection"),
                        .init(old: word, new: "none", reason: "interruptionBegan"),
                        .init(old: "none", new: word, reason: "interruptionEnded"),
                        .init(old: word, new: "earpiece", reason: "oldDeviceUnavailable"),
                        .init(old: "earpiece", new: "none", reason: "callEnded"),
                    ])
                #expect(try await manager.activeRoute() == .none)
            })
    }

    @Test func `S0.16 an excluded device is never opened`() async throws {
        try await Box.run { box in
            let program = try Program(box.address)
            #expect(try await program("exclude", "bluetooth").text == "excluded: bluetooth\n")
            try await box.prefer(.bluetooth)
            let ears = try await box.connect(Box.first)
            _ = try await box.connect(Box.second)
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(.earpiece)
            let refused = await refusal { () throws(BridgeError) in
                try await box.bridge.audioDeviceManager.select(first)
            }
            #expect(refused?.code == .unavailable)
            ears.headset.press(.transfer)
            try await box.playing("earpiece")
            try await registration.update(call, .ended)
            #expect(box.simulation.opened.allSatisfy { !$0.hasPrefix("headset") })
            #expect(
                try await program("exclude", "earpiece", "bluetooth:\(Box.first)").text
                    == "excluded: bluetooth, earpiece, bluetooth:\(Box.first)\n")
            _ = try await program("exclude", "--remove", "bluetooth")
            _ = try await box.startCall(registration)
            try await box.route(second)
            #expect(!box.simulation.opened.contains("headset 1"))
            #expect(try await program("exclude", "--clear").text == "nothing is excluded\n")
        }
    }

    @Test func `S0.18 only the configured devices and the calls' headset are ever opened`() async throws {
        try await Box.run(
            prepare: { box in box.simulation.addCard(.wiredHeadset, microphone: Tone.samples) },
            body: { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                _ = try await box.connect(Box.second)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.route(.speakerphone)
                box.bluez.disconnect(Box.first)
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                try await eventually("everything is closed") { box.daemon.graph.isQuiet }
                // The third card belongs to another program, whatever happens to the others.
                #expect(
                    Set(box.simulation.opened).isSubset(of: ["headset 1", "headset 2", "speakerphone", "earpiece"]))
                #expect(!box.simulation.opened.contains("wiredHeadset"))
            })
    }
}
