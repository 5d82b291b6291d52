import BTCall
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import TestSupport
import Testing

extension DaemonTests {
    /// Numbers that a headset dials without knowing them: memory locations and the last number.
    @Suite @ControlPlane struct DialTests {
        /// The first line after the command that is not an indicator; nil before it has arrived.
        private func reply(of headset: VirtualHeadset, to command: String) -> String? {
            guard let index = headset.transcript.lastIndex(of: "> " + command) else { return nil }
            return headset.transcript[(index + 1)...].first { !$0.hasPrefix("< +CIEV") }
        }

        @Test func `The last number is redialled, no matter who dialled it, also by a headset that connected later`()
            async throws
        {
            try await Box.run { box in
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.dial])
                headset.press(.redial)
                try await eventually("there is none yet") { reply(of: headset, to: "AT+BLDN") == "< ERROR" }
                #expect(box.telephone.requests.isEmpty)
                let call = try await registration.reportOutgoing(number: "4711")
                try await registration.update(call, .ended)
                headset.press(.redial)
                try await eventually("4711 is dialled again") { box.telephone.requests == [.start("4711")] }
                let again = try #require(try await box.bridge.calls.list().first)
                #expect(again.number == "4711" && again.direction == .outgoing)
                try await registration.update(again.id, .ended)
                let second = try await box.connect(Box.second).headset
                second.press(.redial)
                try await eventually("the other one dials it as well") {
                    box.telephone.requests.count { $0 == .start("4711") } == 2
                }
            }
        }

        @Test func `The last number remains that of the later call when this call ends first`() async throws {
            try await Box.run { box in
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.dial, .hold])
                let first = try await registration.reportOutgoing(number: "4711")
                try await registration.update(first, .active)
                try await registration.update(first, .held)
                let second = try await registration.reportOutgoing(number: "4712")
                try await registration.update(second, .ended)
                try await eventually("the first call is left") {
                    (try? await box.bridge.calls.list().map(\.number)) == ["4711"]
                }
                headset.press(.redial)
                try await eventually("the later number is dialled") { box.telephone.requests.contains(.start("4712")) }
            }
        }

        @Test func `While a call is being dialled a second number is refused, to a headset and on the bus`()
            async throws
        {
            try await Box.run { box in
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.dial, .hold])
                let call = try await box.bridge.calls.dial("4711")
                headset.say("ATD4712;")
                try await eventually("the headset is refused") { reply(of: headset, to: "ATD4712;") == "< ERROR" }
                let error = await box.error(
                    "/org/btcall/calls", "org.btcall.Calls1", "Place", [.string("4712"), .vardict([:])])
                #expect(error == "org.btcall.Error.WrongState")
                let (text, status) = try await Program(box.address)("dial", "4712")
                #expect(status == 1 && text.contains("a call is being dialled"), "\(text)")
                #expect(box.telephone.requests == [.start("4711")])
                try await registration.update(call, .active)
                _ = try await box.bridge.calls.dial("4712")
                #expect(box.telephone.requests.last == .start("4712"))
            }
        }

        @Test func `Memory locations are dialled, unknown ones refused, and a change applies at once`() async throws {
            try await Box.run(
                configure: { $0.memory = [1: "5551000"] },
                body: { box in
                    let headset = try await box.connect(Box.first).headset
                    let registration = try await box.register([.dial])
                    headset.say("ATD>2;")
                    try await eventually("place 2 is empty") {
                        reply(of: headset, to: "ATD>2;") == "< ERROR"
                    }
                    headset.say("ATD>1;")
                    try await eventually("place 1 is dialled") { box.telephone.requests == [.start("5551000")] }
                    let call = try #require(try await box.bridge.calls.list().first)
                    try await registration.update(call.id, .ended)
                    try await box.bridge.setSetting("calls.memory", to: "2:110, 7:+49*30#")
                    headset.say("ATD>7;")
                    try await eventually("place 7 is dialled") { box.telephone.requests.last == .start("+49*30#") }
                    headset.say("AT+CNUM")
                    try await eventually("there is no own number") {
                        reply(of: headset, to: "AT+CNUM") == "< OK"
                    }
                    try await box.bridge.setSetting("calls.ownNumber", to: "+493012345")
                    headset.say("AT+CNUM")
                    try await eventually("the own number is sent") {
                        headset.transcript.contains("< +CNUM: ,\"+493012345\",145,,4")
                    }
                })
        }
    }
}
