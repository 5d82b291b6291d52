import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Requests of headsets about calls, and the delay before their audio link.
    @Suite @ControlPlane struct HeadsetAudioPolicyTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func connect(_ box: Box) async throws -> RawHeadset {
            let headset = try await box.establishedHeadset()
            return headset
        }

        @Test func `A headset that declines calls gets only those that are sent there`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                headset.say("AT+ANDROID=?")
                try await eventually("its request is acknowledged") {
                    headset.lines.contains { $0.contains("SINKAUDIOPOLICY") }
                }
                headset.say("AT+ANDROID=SINKAUDIOPOLICY,2,1,0")
                try await eventually("its request is known") {
                    box.daemon.headsets.description(of: Box.first)?.audioPolicy["calls"] == "notAllowed"
                }
                let reply = try await box.client.call(
                    BTCallName.bus, BTCallPath.headset(Box.first), "org.freedesktop.DBus.Properties", "Get",
                    [.string(BTCallName.Interface.headset), "AudioPolicy"])
                #expect(
                    reply.first?.unwrapped.vardictValue == [
                        "calls": "notAllowed", "activation": "allowed", "inbandRing": "unspecified",
                    ])
                #expect(!box.log.containing("notice", "\(Box.first)", "calls notAllowed").isEmpty)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
            }
        }

        @Test func `The configured order overrides a headset's request, which ends with its connection`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                headset.say("AT+ANDROID=SINKAUDIOPOLICY,2,2,2")
                try await eventually("its request is known") {
                    box.daemon.headsets.description(of: Box.first)?.audioPolicy["calls"] == "notAllowed"
                }
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.bridge.setSetting("routing.headsetOrder", to: "\(Box.first)")
                try await box.route(first)
                try await box.bridge.resetSetting("routing.headsetOrder")
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                box.bluez.disconnect(Box.first)
                _ = try await connect(box)
                _ = try await box.startCall(registration)
                try await box.route(first)
            }
        }

        @Test func `The audio link opens only after the configured delay from dialling`() async throws {
            try await Box.run(
                configure: { $0.audioDelayMilliseconds = 400 },
                body: { box in
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await box.register()
                    let start = ControlLoop.now
                    _ = try await registration.reportOutgoing(number: "1")
                    try await eventually("the link is open") { box.simulation.opened.contains("headset 1") }
                    let passed = start.duration(to: ControlLoop.now)
                    #expect(passed >= .milliseconds(400), "\(passed)")
                })
        }

        @Test func `By default it also waits after the service level connection`() async throws {
            try await Box.run(
                configure: { $0.audioDelayMilliseconds = 200 },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(.earpiece)
                    let start = ControlLoop.now
                    _ = try await connect(box)
                    try await box.route(first)
                    #expect(start.duration(to: ControlLoop.now) >= .milliseconds(200))
                })
        }
    }
}
