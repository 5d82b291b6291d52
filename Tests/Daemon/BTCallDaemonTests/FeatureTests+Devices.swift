import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import TestSupport
import Testing

/// The list of devices, and the choice among them.
extension DaemonTests.FeatureTests {
    @Test func `S0.5 the device list matches reality at every moment, and changes are signalled within 200 ms`()
        async throws
    {
        try await Box.run { box in
            let log = try await SignalLog(box.address)
            defer { log.close() }
            var ears: Ears?
            func field(_ name: String, _ devices: [[String: Value]]) -> Value? {
                devices.first { $0["device"] == .string(first.description) }?[name]
            }
            let steps: [(String, @ControlPlane () async throws -> Void, @ControlPlane ([[String: Value]]) -> Bool)] = [
                (
                    "a headset connects", { ears = try await box.connect(Box.first) },
                    { field("available", $0) == true && field("battery", $0) == .int32(70) }
                ),
                (
                    "its battery falls", { ears?.headset.tellBattery(20) },
                    { field("battery", $0) == .int32(20) }
                ),
                (
                    "it is excluded", { try await box.bridge.setSetting("routing.exclude", to: "bluetooth") },
                    { field("unavailableBecause", $0) == "excluded" && field("state", $0) == "unavailable" }
                ),
                (
                    "it may be used again", { try await box.bridge.resetSetting("routing.exclude") },
                    { field("state", $0) == "available" }
                ),
                ("it leaves", { box.bluez.disconnect(Box.first) }, { field("available", $0) == false }),
                ("it is unpaired", { box.bluez.remove(Box.first) }, { field("device", $0) == nil }),
                (
                    "it is paired again", { box.bluez.addHeadset(Box.first, name: "headset 1") },
                    { field("unavailableBecause", $0) == "not connected" }
                ),
            ]
            let limit = Duration.milliseconds(200)
            // `connect` itself waits for the headset's own time.
            var quickest = Dictionary(uniqueKeysWithValues: steps.dropFirst().map { ($0.0, Duration.seconds(60)) })
            // The steps end where they began; a stalled machine affects one round, not all three.
            for _ in 1...3 where quickest.values.contains(where: { $0 >= limit }) {
                for (what, action, isExpected) in steps {
                    let passed = try await log.devicesChange(what, after: action, to: isExpected)
                    quickest[what] = quickest[what].map { min($0, passed) }
                    let signalled = log.devices?.value.map { $0["device"]?.stringValue }
                    let listed = try await box.bridge.audioDeviceManager.audioDevices().map(\.choice.description)
                    #expect(signalled == listed, "\(what)")
                }
            }
            for (what, passed) in quickest { #expect(passed < limit, "\(what): \(passed)") }
        }
    }

    @Test func `S0.6 selected is the choice, otherwise the preference, otherwise the device that a call would use`()
        async throws
    {
        try await Box.run { box in
            let manager = box.bridge.audioDeviceManager
            #expect(try await manager.selectedAudioDevice() == .earpiece)
            try await manager.setAudioDevice(.bluetooth)
            #expect(try await manager.selectedAudioDevice() == .bluetooth)
            try await manager.select(.speakerphone)
            #expect(try await manager.selectedAudioDevice() == .speakerphone)
            try await manager.clearSelection()
            #expect(try await manager.selectedAudioDevice() == .bluetooth)
        }
    }

    @Test func `S0.7 the default is used when the preferred device is absent, and survives a restart`() async throws {
        try await persists { box in
            try await box.bridge.audioDeviceManager.setDefaultAudio(.speakerphone)
            #expect(try await Program(box.address)("fallback", "earpiece").text == "fallback: earpiece\n")
            try await box.bridge.audioDeviceManager.setDefaultAudio(.speakerphone)
            try await box.bridge.audioDeviceManager.setAudioDevice(.bluetooth)
        } after: { box in
            #expect(try await box.bridge.audioDeviceManager.defaultAudioDevice() == .speakerphone)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(.speakerphone)
            #expect(try await box.bridge.audioDeviceManager.explain().level == "default")
        }
    }

    @Test func `S0.8 the preferred device is used as soon as it is available, and survives a restart`() async throws {
        try await persists { box in
            #expect(try await Program(box.address)("prefer", "bluetooth").text == "preferred: bluetooth\n")
            try await box.bridge.audioDeviceManager.setAudioDevice(second)
        } after: { box in
            #expect(try await box.bridge.audioDeviceManager.preferredAudioDevice() == second)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(.earpiece)
            _ = try await box.connect(Box.second)
            try await box.route(second)
            let explanation = try await box.bridge.audioDeviceManager.explain()
            #expect(explanation.level == "preferred")
            let level = explanation.levels.first { $0.name == "preferred" }
            #expect(level?.value?.hasSuffix(" ms") == true && level?.limit == "50 ms")
        }
    }

    private func persists(
        _ before: @ControlPlane (Box) async throws -> Void, after: @ControlPlane (Box) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
        try await Box.run(
            configure: { $0.stateDirectory = folder.path },
            body: { box in
                try await before(box)
                try await box.restartDaemon()
                try await after(box)
            })
    }

    @Test func `S0.23 selects any headset, or a named one`() async throws {
        try await Box.run { box in
            let manager = box.bridge.audioDeviceManager
            try await box.prefer(.bluetooth)
            _ = try await box.connect(Box.second)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(second)
            _ = try await box.connect(Box.first)
            try await manager.setAudioDevice(first)
            try await box.route(first)
            box.bluez.disconnect(Box.first)
            // The named headset is absent, and another one does not replace it: the default.
            try await box.route(.earpiece)
            try await manager.setAudioDevice(.bluetooth)
            try await box.route(second)
        }
    }

    @Test func `S0.26 the documentation's example works, and a second preference replaces the first`() async throws {
        try await Box.run { box in
            let manager = box.bridge.audioDeviceManager
            try await manager.start()
            try await manager.setDefaultAudio(.earpiece)
            try await manager.setAudioDevice(.bluetooth)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(.earpiece)
            _ = try await box.connect(Box.first)
            try await box.route(first)
            try await manager.setAudioDevice(.speakerphone)
            #expect(try await manager.preferredAudioDevice() == .speakerphone)
            #expect(try await manager.defaultAudioDevice() == .earpiece)
            try await box.route(.speakerphone)
        }
    }

    @Test func `S0.27 no headset, a headset, its failure, a second headset`() async throws {
        try await Box.run { box in
            let log = try await SignalLog(box.address)
            defer { log.close() }
            try await box.prefer(.bluetooth)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.playing("earpiece")
            let ears = try await box.connect(Box.first)
            try await box.route(first)
            try await box.playing("headset 1")
            ears.headset.dieSilently()
            box.simulation.die(Box.first)
            box.bluez.setConnected(false, Box.first)
            try await box.route(.earpiece)
            try await box.playing("earpiece")
            _ = try await box.connect(Box.second)
            try await box.route(second)
            try await box.playing("headset 2")
            #expect(
                log.changes.map(\.new) == ["earpiece", first.description, "earpiece", second.description])
            #expect(try await box.bridge.calls.list().map(\.state) == [.active])
        }
    }

    @Test func `S0.29 a device without a microphone has no input, and absent devices are not listed as present`()
        async throws
    {
        try await Box.run(
            configure: { $0.localDevices[.speakerphone] = .init(playback: "simulated") },
            body: { box in
                let speakerphone = try #require(try await box.device("speakerphone"))
                #expect(speakerphone["output"] == "speaker" && speakerphone["input"] == nil)
                #expect(speakerphone["duplex"] == false && speakerphone["available"] == true)
                let earpiece = try #require(try await box.device("earpiece"))
                #expect(earpiece["output"] == "earpiece" && earpiece["input"] == "builtinMic")
                #expect(earpiece["duplex"] == true)
                let wired = try #require(try await box.device("wiredHeadset"))
                #expect(wired["available"] == false && wired["unavailableBecause"] == "not configured")
                #expect(wired["output"] == nil && wired["input"] == nil && wired["duplex"] == false)
                let headset = try #require(try await box.device(first.description))
                #expect(headset["available"] == false && headset["output"] == nil && headset["input"] == nil)
                let library = try await box.bridge.audioDeviceManager.audioDevices()
                #expect(library.first { $0.choice == .speakerphone }?.input == nil)
            })
    }

    @Test func `S0.30 a device reports all its capabilities`() async throws {
        try await Box.run { box in
            let word = first.description
            let sco = Value.string("sco:\(Box.first)")
            let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
            ears.headset.setSpeakerVolume(9)
            ears.headset.setMicrophoneVolume(4)
            try await eventually("the volumes are known") {
                try await box.device(word)?["microphoneVolume"] == .int32(4)
            }
            let expected: [String: Value] = [
                "device": .string(word), "kind": "bluetooth", "address": .string("\(Box.first)"),
                "name": "headset 1", "available": true, "state": "available",
                "output": sco, "input": sco, "mode": "hfp", "duplex": true,
                "rates": .array("u", [.uint32(16000), .uint32(8000)]), "codecs": .strings(["mSBC", "CVSD"]),
                "battery": .int32(70), "speakerVolume": .int32(9), "microphoneVolume": .int32(4),
                "speakerVolumeMax": .int32(15), "microphoneVolumeMax": .int32(15), "inbandRing": true,
                "microphoneMuted": false,
                "category": "headset",
            ]
            #expect(try await box.device(word) == expected)
            let local: [String: Value] = [
                "device": "earpiece", "kind": "earpiece", "name": "earpiece", "available": true, "state": "available",
                "output": "earpiece", "input": "builtinMic", "duplex": true,
                "rates": .array("u", [.uint32(16000)]), "codecs": .strings([]), "inbandRing": false,
            ]
            #expect(try await box.device("earpiece") == local)
        }
    }

    @Test func `S0.30 the state follows the headset from connecting to disconnecting`() async throws {
        try await Box.run(
            configure: { configuration in
                configuration.routing.settleBluetooth = .milliseconds(700)
                configuration.routing.penaltyBase = .seconds(1)
                configuration.routing.openAttempts = 1
                configuration.routing.openTimeout = .seconds(2)
            },
            body: { box in
                func state(_ word: String, is expected: String) async throws {
                    try await eventually("\(word) is \(expected)") {
                        try await box.device(word)?["state"] == .string(expected)
                    }
                }
                let log = try await SignalLog(box.address)
                defer { log.close() }
                try await state(first.description, is: "unavailable")
                try await box.prefer(.bluetooth)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await state("earpiece", is: "active")
                box.simulation.linkDelay = .milliseconds(700)
                _ = try await box.connect(Box.first)
                // Each state lasts less than a busy machine may stand still: all of them are signalled.
                let course = ["settling", "pending", "active"]
                try await eventually("it was \(course)") { log.hasPassed(course, first.description) }
                try await state(first.description, is: "active")
                try await state("earpiece", is: "available")
                try await registration.update(call, .ended)
                try await state(first.description, is: "available")
                // A headset that does not open its link.
                box.simulation.die(Box.first)
                let next = try await box.startCall(registration)
                try await eventually("it rests") { log.hasPassed(course + ["penalty"], first.description) }
                try await registration.update(next, .ended)
                // It ends without any event, by time alone, and is signalled.
                try await eventually("the end of the penalty is signalled") {
                    log.devices?.value.first { $0["device"] == .string(first.description) }?["state"] == "available"
                }
            })
    }
}
