import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import Glibc
import Routing
import Telephony
import TestSupport
import Testing

extension RawHeadset {
    /// Sets up a service level connection with call waiting and caller identification enabled.
    func establishWithCallWaiting() async throws {
        let commands = [
            "AT+BRSF=18", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+CLIP=1", "AT+CCWA=1",
        ]
        say(commands)
        try await eventually("it is connected") { self.lines.count { $0 == "OK" } >= commands.count }
        forget()
    }

    /// The lines up to the reply to a command sent now; every earlier line is among them.
    func said() async throws -> [String] {
        say("AT+CLCC")
        try await eventually("it is answered") { self.lines.contains("OK") }
        return lines
    }
}

extension DaemonTests {
    @Suite @ControlPlane struct CallPolicyTests {
        @Test func `S2.24 With do not disturb a reported call is refused with Filtered, and nothing rings`()
            async throws
        {
            try await Box.run { box in
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let registration = try await box.register()
                var events = await box.bridge.events().makeAsyncIterator()
                #expect(try await !box.bridge.calls.isDoNotDisturb())
                try await box.bridge.calls.setDoNotDisturb(true)
                #expect(try await box.bridge.calls.isDoNotDisturb())
                let error = await refusal { () throws(BridgeError) in
                    _ = try await registration.reportIncoming(number: "5550100", name: "Gate")
                }
                #expect(error?.code == .filtered)
                #expect(error?.message.contains("do not disturb") == true)
                #expect(try await box.bridge.calls.list().isEmpty)
                #expect(try await headset.said() == ["OK"])
                #expect(box.daemon.router.policy.current == nil)
                #expect(box.log.containing("info", "refused", "filtered").count == 1)
                // Outgoing calls and calls that are already up are not affected.
                let own = try await box.startCall(registration)
                #expect(try await box.bridge.calls.list().map(\.id) == [own])
                try await registration.update(own, .ended)
                try await box.bridge.calls.setDoNotDisturb(false)
                headset.forget()
                let call = try await registration.reportIncoming(number: "5550100", name: "Gate")
                try await headset.hear("RING")
                try await registration.update(call, .ended)
                var seen: [Bool] = []
                while seen.count < 2, let event = await events.next() {
                    if case .doNotDisturbChanged(let isOn) = event { seen.append(isOn) }
                }
                #expect(seen == [true, false])
            }
        }

        @Test func `S2.24 Do not disturb outlives a restart, and is a setting like any other`() async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)").path()
            defer { try? FileManager.default.removeItem(atPath: directory) }  // A temporary directory may stay.
            try await Box.run(
                configure: { $0.stateDirectory = directory },
                body: { box in
                    try await box.bridge.calls.setDoNotDisturb(true)
                    try await box.restartDaemon()
                    #expect(try await box.bridge.calls.isDoNotDisturb())
                    let registration = try await box.register()
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await registration.reportIncoming(number: "5550100")
                    }
                    #expect(error?.code == .filtered)
                    try await box.bridge.resetSetting("calls.doNotDisturb")
                    #expect(try await !box.bridge.calls.isDoNotDisturb())
                    _ = try await registration.reportIncoming(number: "5550100")
                })
        }

        @Test func `S2.26 With secondCall = wait a second call is announced by +CCWA, and can be ended`() async throws {
            try await Box.run { box in
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let registration = try await box.register()
                let first = try await box.startCall(registration)
                headset.forget()
                let second = try await registration.reportIncoming(number: "+49301", name: "Gate")
                let said = try await headset.said()
                #expect(said.contains("+CCWA: \"+49301\",145,1,\"Gate\""))
                #expect(said.contains { $0.hasPrefix("+CIEV: ") })
                #expect(!said.contains("RING"))
                #expect(try await box.bridge.calls.list().map(\.state) == [.active, .waiting])
                headset.forget()
                headset.say("AT+CHLD=0")
                try await headset.hear("OK")
                #expect(box.telephone.requests.last == .end(second, "rejected"))
                #expect(try await box.bridge.calls.list().map(\.id) == [first])
            }
        }

        @Test
        func `S2.26 With secondCall = reject a second report gets Busy; headsets and the route see nothing of it`()
            async throws
        {
            try await Box.run(
                configure: { $0.callPolicy.secondCall = .reject },
                body: { box in
                    try await box.prefer(.none)
                    let headset = try await box.rawHeadset()
                    try await headset.establishWithCallWaiting()
                    let registration = try await box.register()
                    let first = try await box.startCall(registration)
                    try await box.route(.earpiece)
                    headset.forget()
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await registration.reportIncoming(number: "+49301")
                    }
                    #expect(error?.code == .busy)
                    let said = try await headset.said()
                    #expect(said == ["+CLCC: 1,0,0,0,0,\"+4930123456\",145", "OK"])
                    #expect(try await box.bridge.calls.list().map(\.id) == [first])
                    #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                    try await box.bridge.setSetting("calls.secondCall", to: "wait")
                    _ = try await registration.reportIncoming(number: "+49301")
                    try await headset.hear("+CCWA: \"+49301\",145")
                })
        }
    }
}
