import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import HandsFree
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The announcement of the in-band ring to headsets, and headsets that do not want it.
    @Suite @ControlPlane struct InbandRingTests {
        private static let announced = "+BSIR: 1"
        private static let withdrawn = "+BSIR: 0"

        private func connect(_ box: Box, _ commands: String...) async throws -> RawHeadset {
            let headset = try await box.establishedHeadset()
            headset.say(commands)
            return headset
        }

        @Test func `the only headset is told whether its link gets the ring tone, each time that changes`() async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                let word = "bluetooth:\(Box.first)"
                #expect(try await box.device(word)?["inbandRing"] == true)
                // The feature promises it.
                #expect(!headset.lines.contains { $0.hasPrefix("+BSIR") })
                @ControlPlane func hears(_ line: String, after change: @ControlPlane () async throws -> Void)
                    async throws
                {
                    headset.forget()
                    try await change()
                    try await headset.hear(line)
                    #expect(headset.lines.filter { $0.hasPrefix("+BSIR") } == [line])
                }
                try await hears(Self.withdrawn) { _ = try await box.connect(Box.second) }
                try await hears(Self.announced) { box.bluez.disconnect(Box.second) }
                try await hears(Self.withdrawn) { try await box.prefer(.earpiece) }
                try await hears(Self.announced) { try await box.prefer(.bluetooth) }
                try await hears(Self.withdrawn) { try await box.bridge.setSetting("routing.inbandRing", to: "no") }
                try await hears(Self.announced) { try await box.bridge.resetSetting("routing.inbandRing") }
            }
        }

        /// Reports a call, and expects RING without a link.
        private func isRungByIndication(_ box: Box, _ headset: RawHeadset) async throws {
            let registration = try await box.register()
            let call = try await registration.reportIncoming(number: "1001")
            try await headset.hear("RING")
            try await eventually("the board rings") { box.simulation.opened.contains("output:speakerphone") }
            #expect(!box.simulation.opened.contains("headset 1"))
            #expect(box.daemon.router.policy.ringing.headset == .indication)
            try await registration.update(call, .ended, reason: .missed)
        }

        @Test func `a headset that declines the ring tone rings by RING, and says so in its policy`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box, "AT+ANDROID=SINKAUDIOPOLICY,0,0,2")
                try await headset.hear(Self.withdrawn)
                try await eventually("the policy knows") {
                    try await box.device("bluetooth:\(Box.first)")?["inbandRing"] == false
                }
                try await isRungByIndication(box, headset)
            }
        }

        @Test func `a headset whose quirk masks the in-band ring is promised none and rings by RING`() async throws {
            try await Box.run(
                configure: { $0.headsetEffects = [Box.first: [.maskFeatures(.inbandRing)]] },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let headset = try await connect(box)
                    let line = try #require(headset.lines.first { $0.hasPrefix("+BRSF: ") })
                    #expect(try #require(Int(line.dropFirst("+BRSF: ".count))) & 8 == 0)
                    try await isRungByIndication(box, headset)
                    #expect(!headset.lines.contains { $0.hasPrefix("+BSIR") })
                })
        }

        @Test func `a headset rings by RING while the in-band ring is switched off, and is told at its connection`()
            async throws
        {
            try await Box.run(
                configure: { $0.routing.inbandRing = false },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let headset = try await connect(box)
                    try await headset.hear(Self.withdrawn)
                    try await isRungByIndication(box, headset)
                })
        }
    }
}
