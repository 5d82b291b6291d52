import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Headsets that send too much.
    @Suite @ControlPlane struct AbuseTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// A headset that carries a call.
        private func talking(_ box: Box, isReading: Bool = true) async throws -> RawHeadset {
            try await box.prefer(.bluetooth)
            let headset = try await box.rawHeadset(isReading: isReading)
            if isReading {
                try await headset.establish()
            } else {
                headset.say("AT+BRSF=16", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1")
            }
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(first)
            try await box.playing("headset 1")
            return headset
        }

        @Test func `A headset that floods during a call is disconnected, and the call continues on the board`()
            async throws
        {
            try await Box.run { box in
                let headset = try await talking(box)
                headset.say(Array(repeating: "AT+CIND?", count: 400))
                try await eventually("it is disconnected") { headset.isClosed }
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                #expect(!box.log.containing("warning", "\(Box.first)", "more commands", "unpair it").isEmpty)
                try await eventually("its audio is closed") { !box.daemon.graph.holdsLink(Box.first) }
                // After switching off and on it works like any other.
                box.bluez.disconnect(Box.first)
                _ = try await box.establishedHeadset()
            }
        }

        @Test func `Lines without end and garbage alone disconnect nobody`() async throws {
            try await Box.run { box in
                let headset = try await talking(box)
                headset.forget()
                headset.say(String(repeating: "x", count: 5000), "\u{1}\u{2}AT", "AT+CIND?")
                try await eventually("it is answered") { headset.lines.contains { $0.hasPrefix("+CIND: ") } }
                #expect(headset.lines.first == "ERROR")
                try await box.playing("headset 1")
            }
        }

        @Test func `A headset that reads nothing is disconnected before its queue exceeds a bound`() async throws {
            try await Box.run(
                prepare: { $0.bluez.outputBuffer = 4096 },
                body: { box in
                    let headset = try await talking(box, isReading: false)
                    headset.say(Array(repeating: "AT+CIND=?", count: 190))
                    try await box.route(.earpiece)
                    try await box.playing("earpiece")
                    #expect(!box.log.containing("warning", "\(Box.first)", "takes no bytes").isEmpty)
                    #expect(box.log.containing("more commands").isEmpty)
                })
        }

        @Test func `A connection without a service level connection ends after a timeout`() async throws {
            try await Box.run(
                configure: { $0.timeouts.setUp = .milliseconds(200) },
                body: { box in
                    let mute = try await box.rawHeadset()
                    let slow = try await box.rawHeadset(Box.second)
                    slow.say("AT+BRSF=16")
                    try await eventually("both are disconnected") { mute.isClosed && slow.isClosed }
                    for address in [Box.first, Box.second] {
                        #expect(!box.log.containing("warning", "\(address)", "did not finish its set-up").isEmpty)
                    }
                })
        }

        @Test func `Of too many half-open connections only the oldest ends`() async throws {
            let limit = HeadsetDirectory.halfOpenLimit
            let addresses = (0...limit).map { BluetoothAddress(value: 0x0000_5E00_5310 + UInt64($0)) }
            try await Box.run(
                prepare: { box in
                    for address in addresses { box.bluez.addHeadset(address, name: "\(address)") }
                },
                body: { box in
                    let good = try await box.connect(Box.first)
                    var headsets: [RawHeadset] = []
                    for address in addresses {
                        headsets.append(try await box.rawHeadset(address))
                    }
                    try await eventually("the oldest is disconnected") { headsets[0].isClosed }
                    #expect(!box.log.containing("warning", "\(addresses[0])", "said nothing useful").isEmpty)
                    try await headsets[limit].establish()
                    #expect(headsets[1...].allSatisfy { !$0.isClosed })
                    #expect(good.headset.isConnected)
                })
        }
    }
}
