import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import CallControl
import Configuration
import ControlLoop
import DBus
import TalkWords
import TestSupport
import Testing

extension DaemonTests {
    /// Push to talk with an application that decides who talks: the capability `talk`.
    @Suite @ControlPlane struct TalkProviderTests {
        private func run(
            _ body: (Box, ProviderRegistration, Call.ID) async throws -> Void
        ) async throws {
            try await Box.run(
                configure: { $0.talk.mode = .push },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register([.talk])
                    let call = try await box.startCall(registration)
                    try await box.earpiecePlays(true)
                    try await body(box, registration, call)
                })
        }

        private func state(
            _ box: Box, _ state: BTCall.TalkState, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("the call is \(state)", sourceLocation: sourceLocation) {
                try await box.bridge.calls.list().first?.talkState == state
            }
        }

        /// The requests to talk or listen, in order.
        private func asked(_ box: Box) -> [Bool] {
            box.telephone.requests.compactMap { if case .talk(_, let isPressed) = $0 { isPressed } else { nil } }
        }

        @Test func `the application is asked before the microphone opens, and told when nobody talks any more`()
            async throws
        {
            try await run { box, _, _ in
                try await box.bridge.calls.setTalk(true)
                #expect(asked(box) == [true])
                try await state(box, .talking)
                try await box.farEndHears(true)
                try await box.bridge.calls.setTalk(false)
                try await eventually("it is told") { asked(box) == [true, false] }
                try await box.farEndHears(false)
            }
        }

        @Test func `an application that refuses keeps the microphone closed, and the person hears a tone`() async throws
        {
            try await run { box, _, _ in
                box.telephone.manner = .refusing("the channel is busy")
                let before = box.simulation.played("earpiece").last?.samples.count ?? 0
                let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.setTalk(true) }
                #expect(error?.code == .providerFailed)
                #expect(error?.message.contains("the channel is busy") == true)
                try await eventually("the tone is heard") {
                    let heard = Array((box.simulation.played("earpiece").last?.samples ?? []).dropFirst(before))
                    // It is short: it may have ended before a busy machine looks.
                    return stride(from: 4800, through: heard.count, by: 1200).contains { end in
                        share(heard[end - 4800..<end], 310) > 0.2
                    }
                }
                // Who is refused does not hold the key down.
                try await state(box, .listening)
                try await box.farEndHears(false)
                box.telephone.manner = .willing
                try await box.bridge.calls.setTalk(true)
                try await box.farEndHears(true)
            }
        }

        @Test func `without tones the person hears none`() async throws {
            try await run { box, _, _ in
                try await box.bridge.setSetting("talk.tones", to: "no")
                box.telephone.manner = .refusing("the channel is busy")
                let before = box.simulation.played("earpiece").last?.samples.count ?? 0
                let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.setTalk(true) }
                #expect(error?.code == .providerFailed)
                var heard: [Int16] = []
                try await eventually("half a second is over") {
                    heard = Array((box.simulation.played("earpiece").last?.samples ?? []).dropFirst(before))
                    return heard.count > 24_000
                }
                #expect(share(heard.suffix(19_200), 310) < 0.05)
            }
        }

        @Test func `an application that does not answer within half a second refuses`() async throws {
            try await run { box, _, _ in
                box.telephone.manner = .silent
                let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.setTalk(true) }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("did not answer PerformTalk") == true)
                try await eventually("it is told that nobody talks") { asked(box).last == false }
                try await box.farEndHears(false)
            }
        }

        @Test func `an application takes the floor back`() async throws {
            try await run { box, registration, call in
                try await box.bridge.calls.setTalk(true)
                try await box.farEndHears(true)
                try await registration.revokeTalk(of: call)
                try await state(box, .refused)
                try await box.farEndHears(false)
                // It knows already that nobody talks.
                #expect(asked(box) == [true])
                try await box.bridge.calls.setTalk(false)
                try await state(box, .listening)
                let idle = await refusal { () throws(BridgeError) in try await registration.revokeTalk(of: call) }
                #expect(idle?.code == .wrongState && idle?.message.hasPrefix("nobody talks on this call") == true)
                let path = try #require(box.daemon.calls.calls.first?.path)
                let others = await box.error(path, BTCallName.Interface.call, BTCallName.Call.revokeTalk)
                #expect(others == "org.btcall.Error.NotProvider")
            }
        }

        @Test func `a call without the capability is not asked, though its application has it`() async throws {
            try await run { box, registration, call in
                try await registration.update(call, capabilities: [])
                try await box.bridge.calls.setTalk(true)
                try await box.farEndHears(true)
                #expect(asked(box).isEmpty)
                let refused = await refusal { () throws(BridgeError) in try await registration.revokeTalk(of: call) }
                #expect(refused?.code == .wrongState && refused?.message.contains("the capability talk") == true)
                try await box.farEndHears(true)
            }
        }

        @Test func `a call that ends while somebody talks leaves nothing behind`() async throws {
            try await run { box, registration, call in
                try await box.bridge.calls.setTalk(true)
                try await box.farEndHears(true)
                try await registration.update(call, .ended)
                try await eventually("it has ended") { try await box.bridge.calls.list().isEmpty }
                try await box.bridge.calls.setTalk(false)
                _ = try await box.startCall(registration)
                try await state(box, .listening)
                try await box.farEndHears(false)
            }
        }
    }
}
