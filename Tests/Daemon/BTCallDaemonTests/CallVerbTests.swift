import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// Calls from the command line.
    @Suite @ControlPlane struct CallVerbTests {
        @Test func `S2.9 btcall answer asks the application once, and the call is active`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100")
                let answer = try await btcall("answer")
                #expect(answer.text == "answered: 5550100\n" && answer.status == 0)
                #expect(box.telephone.requests.filter { $0 != .audio(call) } == [.answer(call)])
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                let again = try await btcall("answer")
                #expect(again.text == "btcall: no call rings\n" && again.status == 1)
                #expect(box.telephone.requests.filter { $0 != .audio(call) } == [.answer(call)])
            }
        }

        @Test func `S4.13 btcall dial, a headset's ATD and its AT+BLDN have the application start a call`() async throws
        {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let nobody = try await btcall("dial", "4711")
                #expect(nobody.text.hasPrefix("btcall: no registered provider can dial: start ") && nobody.status == 1)
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.dial])
                var started: [Telephone.Request] = []
                for (number, origin) in [("4711", "dial"), ("4712", "ATD"), ("4712", "AT+BLDN")] {
                    switch origin {
                    case "ATD": headset.say("ATD4712;")
                    case "AT+BLDN": headset.press(.redial)
                    default: #expect(try await btcall("dial", "4711").text == "dialled: 4711\n")
                    }
                    started.append(.start(number))
                    let expected = started
                    try await eventually("\(number) is dialled") { box.telephone.requests == expected }
                    let call = try #require(try await box.bridge.calls.list().first)
                    #expect(call.number == number && call.direction == .outgoing && call.state == .dialing)
                    #expect(call.provider == "test")
                    try await registration.update(call.id, .ended)
                }
            }
        }

        @Test func `hold, resume and dtmf reach the application`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let registration = try await box.register([.hold, .dtmf])
                let call = try await box.startCall(registration)
                #expect(try await btcall("hold").text == "held: +4930123456\n")
                #expect(try await box.bridge.calls.list().map(\.state) == [.held])
                #expect(try await btcall("resume").text == "resumed: +4930123456\n")
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                #expect(try await btcall("dtmf", "12#").text == "sent 12# to +4930123456\n")
                let asked = box.telephone.requests.filter { $0 != .audio(call) }
                #expect(asked.prefix(2) == [.held(call, true), .held(call, false)])
                let tones = asked.dropFirst(2).map { if case .tones(let tones) = $0 { tones } else { "?" } }
                #expect(tones.joined() == "12#")
            }
        }
    }
}
