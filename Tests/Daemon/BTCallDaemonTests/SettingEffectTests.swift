import AudioPaths
import BTCall
import BTCallBench
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import HandsFree
import HeadsetPolicy
import Routing
import TestSupport
import Testing

@testable import BTCallDaemon
@testable import HeadsetControl

extension DaemonTests {
    /// Settings changed at run time, and what they do from then on: for the keys without another such test.
    @Suite @ControlPlane struct SettingEffectTests {
        private nonisolated static let routing = [
            ("routing.jackGesture", "latched"), ("routing.jackMasksEarpiece", "false"),
            ("routing.allowBluetoothA2DP", "true"), ("routing.ringLocal", "false"),
            ("routing.settleBluetoothMilliseconds", "1234"), ("routing.settleMaxMilliseconds", "1234"),
            ("routing.flapWindowMilliseconds", "1234"), ("routing.jackDebounceMilliseconds", "123"),
            ("routing.retryBaseMilliseconds", "123"), ("routing.penaltyBaseMilliseconds", "1234"),
            ("routing.penaltyMaxMilliseconds", "1234"), ("routing.startGraceMilliseconds", "123"),
            ("routing.reopenBridgeMilliseconds", "123"), ("routing.reopenPauseMilliseconds", "123"),
            ("routing.minDwellMilliseconds", "123"), ("routing.gapResetMilliseconds", "123"),
            ("routing.transferGuardMilliseconds", "123"), ("routing.silentResumeMilliseconds", "123"),
            ("routing.silentCloseMilliseconds", "123"),
        ]

        @Test func `S1.26 the policy has each key of [routing] at once, and the call keeps its device`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                for (key, value) in Self.routing {
                    let word = try #require(RoutingKey(rawValue: String(key.dropFirst("routing.".count))), "\(key)")
                    #expect(box.daemon.router.policy.configuration.value(of: word) != value, "\(key)")
                    try await box.bridge.setSetting(key, to: value)
                    #expect(box.daemon.router.policy.configuration.value(of: word) == value, "\(key)")
                }
                try await box.playing("earpiece")
                #expect(box.simulation.opened == ["earpiece"])
            }
        }

        @Test func `S1.26 routing.releaseOnHold closes the device of a held call at once`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                try await box.playing("earpiece")
                try await registration.update(call, .held)
                try await box.route(.earpiece)
                try await box.bridge.setSetting("routing.releaseOnHold", to: "true")
                try await box.route(.none)
                try await box.bridge.setSetting("routing.releaseOnHold", to: "false")
                try await box.route(.earpiece)
            }
        }

        @Test func `S1.26 the keys about reconnecting headsets apply at once`() async throws {
            try await Box.run { box in
                let reconnector = box.daemon.reconnector
                try await box.bridge.setSetting("bluetooth.reconnectMaxSeconds", to: "60")
                #expect(reconnector.manager.settings.longest == .seconds(60))
                try await box.bridge.setSetting("bluetooth.reconnectLosses", to: "9")
                #expect(reconnector.manager.settings.losses == 9)
                try await box.bridge.setSetting("bluetooth.quarantineSeconds", to: "77")
                #expect(reconnector.manager.settings.quarantine == .seconds(77))
            }
        }

        @Test func `S1.26 bluetooth.callDuration is announced to the next connection`() async throws {
            try await Box.run { box in
                let before = try await features(box)
                try await box.bridge.setSetting("bluetooth.callDuration", to: "yes")
                box.bluez.disconnect(Box.first)
                let after = try await features(box)
                // Bit 14 of +BRSF.
                #expect(before ^ after == 1 << 14 && after & 1 << 14 != 0)
            }
        }

        /// The gateway's features, as a headset that connects receives them.
        private func features(_ box: Box) async throws -> Int {
            let headset = try await box.establishedHeadset()
            let line = try #require(headset.lines.first { $0.hasPrefix("+BRSF: ") })
            return try #require(Int(line.dropFirst("+BRSF: ".count)))
        }

        @Test func `S1.26 bluetooth.audioDelayMilliseconds delays the link of the next connection`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                try await box.bridge.setSetting("bluetooth.audioDelayMilliseconds", to: "600")
                box.bluez.disconnect(Box.first)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                let start = ControlLoop.now
                _ = try await box.startCall(registration)
                try await eventually("the link is open") { box.simulation.opened.contains("headset 1") }
                #expect(start.duration(to: ControlLoop.now) >= .milliseconds(600))
            }
        }

        @Test func `S1.26 bluetooth.virtualCall shows a virtual call to the next connection`() async throws {
            try await Box.run(
                configure: { $0.virtualCall = .never },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let registration = try await box.bridge.register(
                        box.telephone, as: .init(name: "announcer", hasCallState: false))
                    for isShown in [false, true] {
                        let ears = try await box.connect(Box.first)
                        let call = try await registration.reportOutgoing(number: "", state: .active)
                        try await box.playing("headset 1")
                        try await eventually("the headset sees \(isShown)") {
                            ears.events.contains(.indicator("call", 1)) == isShown
                        }
                        try await registration.update(call, .ended)
                        try await box.route(.none)
                        try await box.bridge.setSetting("bluetooth.virtualCall", to: "always")
                        box.bluez.disconnect(Box.first)
                    }
                })
        }

        @Test func `S1.26 bluetooth.a2dpQuality is offered from the next configuration on`() async throws {
            try await Box.run { box in
                let source = box.daemon.headsetParts.music.source
                #expect(source.quality == .standard)
                try await box.bridge.setSetting("bluetooth.a2dpQuality", to: "xq")
                #expect(source.quality == .xq)
            }
        }

        @Test func `S1.26 calls.holdInterrupted decides from the next interruption on`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                try await box.bridge.setSetting("calls.holdInterrupted", to: "no")
                var hold = try await box.bridge.audioDeviceManager.interrupt(source: "page")
                try await box.route(.none)
                hold.release()
                try await box.route(.earpiece)
                #expect(!box.telephone.requests.contains(.held(call, true)))
                try await box.bridge.setSetting("calls.holdInterrupted", to: "yes")
                hold = try await box.bridge.audioDeviceManager.interrupt(source: "page")
                try await eventually("the far end is held") { box.telephone.requests.contains(.held(call, true)) }
                hold.release()
            }
        }

        @Test func `S1.26 calls.videoDirection applies to the next answer`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.video])
                let video = CallMedia(video: .sendReceive)
                let before = try await registration.reportIncoming(number: "1", media: video)
                try await box.bridge.calls.answer(before)
                #expect(box.telephone.asked.last?.video == .sendReceive)
                try await registration.update(before, .ended)
                try await box.bridge.setSetting("calls.videoDirection", to: "sendOnly")
                let after = try await registration.reportIncoming(number: "2", media: video)
                try await box.bridge.calls.answer(after)
                #expect(box.telephone.asked.last?.video == .sendOnly)
            }
        }

        @Test func `S1.26 ring.tones and ring.ringback apply to the next call`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let telephone = QuietTelephone()
                defer { telephone.exchange.stop() }
                let registration = try await box.bridge.register(telephone, as: .init(name: "quiet"))
                for (tones, hertz) in [("eu", 425.0), ("us", 440.0)] {
                    try await box.bridge.setSetting("ring.tones", to: tones)
                    let call = try await registration.reportOutgoing(number: "1001", state: .alerting)
                    try await eventually("\(tones) is heard") { share(heard(box), hertz) > 0.3 }
                    try await registration.update(call, .ended)
                    try await box.route(.none)
                }
                try await box.bridge.setSetting("ring.ringback", to: "no")
                _ = try await registration.reportOutgoing(number: "1001", state: .alerting)
                try await eventually("it is silent") { heard(box).count == 9_600 && level(heard(box)) < 20 }
            }
        }

        private func heard(_ box: Box) -> ArraySlice<Int16> {
            (box.simulation.played("earpiece").last?.samples ?? []).suffix(9_600)
        }

        @Test func `S1.26 ring.cadence and ring.pageDevice apply to what rings or plays next`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let sounds = box.daemon.audioParts.sounds
                try await box.bridge.setSetting("ring.cadence", to: "400on 200off")
                #expect(sounds.ringer.configuration.cadence == [400, 200])
                try await box.bridge.setSetting("ring.pageDevice", to: "earpiece")
                let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                defer { speaker.stop() }
                try await eventually("it plays there") { box.simulation.opened == ["output:earpiece"] }
            }
        }

        @Test func `S1.26 identity.displayName and identity.localizedName are seen without reconnecting`() async throws
        {
            try await Box.run { box in
                let headset = try await box.establishedHeadset()
                headset.say("AT+COPS=3,0")
                for (key, name) in [("identity.displayName", "Kitchen"), ("identity.localizedName", "Upstairs")] {
                    try await box.bridge.setSetting(key, to: name)
                    headset.say("AT+COPS?")
                    try await headset.hear("+COPS: 0,0,\"\(name)\"")
                }
                #expect(!headset.isClosed)
            }
        }
    }
}
