import BTCall
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Diagnostics
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Headsets that reconnect with only some of their profiles.
    @Suite @ControlPlane struct ExpectedProfilesTests {
        /// The A2DP of headsets, which another program serves, and the requests to bluetoothd.
        @ControlPlane
        private final class Scene {
            let box: Box
            /// Whether A2DP is up; nil: not expected.
            var music: Bool? { didSet { box.daemon.expectedProfiles.follow() } }
            /// Errors for the next requests, in order; later requests succeed.
            var refusals: [BusError] = []
            private(set) var requests: [ServiceUUID] = []
            private(set) var headsets: [Ears] = []

            init(_ box: Box, music: Bool?) {
                self.box = box
                self.music = music
                box.daemon.expectedProfiles.isUp = { [weak self] address, service in
                    address == Box.first && service == .audioSink ? self?.music : nil
                }
                box.bluez.onProfileRequest = { [weak self] address, service throws(BusError) in
                    guard let self else { return false }
                    requests.append(service)
                    if !refusals.isEmpty { throw refusals.removeFirst() }
                    guard service == .audioSink else { return false }
                    self.music = true
                    return true
                }
                box.bluez.onConnected = { [weak self] address, descriptor in
                    let headset = VirtualHeadset(
                        .init(address: address, name: "headset 1", codecs: [.cvsd], battery: 70))
                    self?.headsets.append(Ears(headset))
                    // A failure shows in the conditions that the test waits for.
                    try? headset.attach(descriptor)
                }
            }

            var isVoiceUp: Bool { box.daemon.headsets.presence(of: Box.first) == .up }

            func eventuallyVoice() async throws {
                try await eventually("its HFP is up") { isVoiceUp }
            }
        }

        private static let refused = BusError(name: "org.bluez.Error.Failed", message: "br-connection-refused")
        private static let busy = BusError(name: "org.bluez.Error.InProgress", message: "In Progress")
        private static let already = BusError(name: "org.bluez.Error.AlreadyConnected", message: "Already Connected")

        private func run(
            music: Bool? = nil, check: Duration = .milliseconds(300), _ body: (Scene) async throws -> Void
        ) async throws {
            try await Box.run(
                configure: {
                    $0.profileCheck = check
                    $0.timeouts.profileQuiet = .milliseconds(30)
                    $0.timeouts.profilePause = .milliseconds(60)
                },
                body: { box in try await body(Scene(box, music: music)) })
        }

        private func problem(_ word: String) -> String { "profile.\(Box.first).\(word)" }

        @Test func `btcalld connects HFP when only A2DP comes up`() async throws {
            try await run(music: true) { scene in
                scene.box.bluez.setConnected(true, Box.first)
                try await scene.eventuallyVoice()
                #expect(scene.requests == [.handsFree])
                let log = scene.box.log
                #expect(log.containing("notice: headset 1 (\(Box.first))", "and its HFP is missing").count == 1)
                try await eventually("it is reported") { !log.containing("its HFP is up, as requested").isEmpty }
                #expect(try await scene.box.bridge.status().problems.isEmpty)
            }
        }

        @Test func `btcalld connects A2DP when only HFP comes up`() async throws {
            try await run(music: false) { scene in
                _ = try await scene.box.connect(Box.first)
                try await eventually("its A2DP is up") { scene.music == true }
                #expect(scene.requests == [.audioSink])
                try await eventually("it is reported") {
                    !scene.box.log.containing("its A2DP is up, as requested").isEmpty
                }
            }
        }

        @Test func `A profile that fails once is requested once more`() async throws {
            try await run { scene in
                scene.refusals = [Self.refused]
                scene.box.bluez.setConnected(true, Box.first)
                try await scene.eventuallyVoice()
                #expect(scene.requests == [.handsFree, .handsFree])
                #expect(scene.box.log.containing("its HFP: the device refused the connection").count == 1)
                #expect(scene.box.log.containing("still missing, requested again").count == 1)
            }
        }

        @Test func `A profile that fails twice is a problem until the profile comes up`() async throws {
            try await run(music: false) { scene in
                scene.refusals = [Self.refused, Self.refused]
                let ears = try await scene.box.connect(Box.first)
                let problem = try await scene.box.problem(problem("A2DP"))
                #expect(problem.what == "headset 1: its A2DP does not come up")
                #expect(problem.remedy.contains("it may be busy with another machine"))
                #expect(scene.requests == [.audioSink, .audioSink])
                scene.music = true
                try await scene.box.noProblem(problem.id)
                #expect(!ears.events.isEmpty)
            }
        }

        @Test func `The reason why a headset is unusable is listed with the devices until it has gone`() async throws {
            try await run { scene in
                scene.refusals = [Self.refused, Self.refused]
                scene.box.bluez.setConnected(true, Box.first)
                _ = try await scene.box.problem(problem("HFP"))
                let device = try await scene.box.device("bluetooth:\(Box.first)")
                #expect(device?["unavailableBecause"] == "its HFP does not come up")
                scene.box.bluez.disconnect(Box.first)
                try await scene.box.noProblem(problem("HFP"))
                // It is checked again when it reconnects.
                scene.box.bluez.setConnected(true, Box.first)
                try await scene.eventuallyVoice()
                #expect(scene.requests == [.handsFree, .handsFree, .handsFree])
            }
        }

        @Test func `btcalld waits for bluetoothd's own attempt, and believes its success only when the profile is up`()
            async throws
        {
            try await run(music: false) { scene in
                scene.refusals = [Self.busy, Self.busy, Self.already, Self.already]
                _ = try await scene.box.connect(Box.first)
                let problem = try await scene.box.problem(problem("A2DP"))
                #expect(scene.requests.count == 4)
                #expect(problem.remedy.contains("the profile is not up"))
            }
        }

        @Test func `A device that leaves during the request gets a new request when it is back`() async throws {
            try await run { scene in
                let gate = Gate()
                let usual = scene.box.bluez.onProfileRequest
                scene.box.bluez.onProfileRequest = { address, service throws(BusError) in
                    let isFirst = !gate.isReached
                    gate.isReached = true
                    if isFirst {
                        await gate.wait()
                        throw Self.refused
                    }
                    return try await usual?(address, service) ?? false
                }
                scene.box.bluez.setConnected(true, Box.first)
                try await eventually("it is requested") { gate.isReached }
                scene.box.bluez.disconnect(Box.first)
                try await eventually("it is gone") {
                    try await scene.box.device("bluetooth:\(Box.first)")?["available"] == false
                }
                scene.box.bluez.setConnected(true, Box.first)
                try await scene.eventuallyVoice()
                gate.open()
                #expect(scene.requests == [.handsFree])
                #expect(try await scene.box.bridge.status().problems.isEmpty)
            }
        }

        @Test func `After a restart of bluetoothd surviving connections count, and the rest is requested`() async throws
        {
            try await run(music: true) { scene in
                _ = try await scene.box.connect(Box.first)
                scene.box.bluez.stop()
                _ = try await scene.box.problem("bluetoothd")
                scene.music = false
                try await scene.box.bluez.start()
                try await eventually("its A2DP is up") { scene.music == true }
                #expect(scene.requests == [.audioSink] && scene.isVoiceUp)
            }
        }

        @Test func `Nothing is requested after somebody disconnected the headset`() async throws {
            try await run(music: false) { scene in
                // A2DP is not requested while a call rings.
                let registration = try await scene.box.register()
                let call = try await registration.reportIncoming(number: "1", name: "")
                _ = try await scene.box.connect(Box.first)
                // As in bluetoothd: the profile first, the radio link up to two seconds later.
                await scene.box.bluez.requestDisconnection(Box.first)
                try await eventually("its HFP is gone") { !scene.isVoiceUp }
                try await registration.update(call, .ended)
                // The complete course of another headset is the clock.
                scene.box.bluez.setConnected(true, Box.second)
                try await eventually("the other one is requested") { !scene.requests.isEmpty }
                #expect(scene.requests == [.handsFree])
            }
        }

        @Test func `A2DP is requested only without a call`() async throws {
            try await run(music: false) { scene in
                let registration = try await scene.box.register()
                let call = try await registration.reportIncoming(number: "1", name: "")
                _ = try await scene.box.connect(Box.first)
                // The complete course of another headset is the clock: HFP does not wait for a call on the board.
                scene.box.bluez.setConnected(true, Box.second)
                try await eventually("the other one is requested") { scene.requests == [.handsFree] }
                try await registration.update(call, .active)
                try await registration.update(call, .ended)
                try await eventually("its A2DP is up") { scene.music == true }
                #expect(scene.requests == [.handsFree, .audioSink])
            }
        }

        @Test func `The check can be switched off and on at run time`() async throws {
            try await run(check: .zero) { scene in
                scene.box.bluez.setConnected(true, Box.first)
                #expect(try await scene.box.bridge.settings().contains { $0.key == "bluetooth.profileCheckSeconds" })
                try await scene.box.bridge.setSetting("bluetooth.profileCheckSeconds", to: "1")
                try await scene.eventuallyVoice()
                let error = await refusal { () throws(BridgeError) in
                    try await scene.box.bridge.setSetting("bluetooth.profileCheckSeconds", to: "61")
                }
                #expect(error?.message.contains("a whole number from 0 to 60") == true)
            }
        }
    }
}

/// A gate that the test opens.
@ControlPlane
final class Gate {
    var isReached = false
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func wait() async {
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
