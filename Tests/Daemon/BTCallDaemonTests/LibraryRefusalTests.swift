import BTCall
import BTCallDaemon
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// The library's refusals: the mistake, and what is accepted.
    @Suite @ControlPlane struct LibraryRefusalTests {
        private func refusal(
            to address: String, _ box: Box, provider: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
        ) async -> DialFailure? {
            do throws(DialFailure) {
                _ = try await box.bridge.calls.placeCall(to: address, provider: provider)
                Issue.record("\(address) was dialled", sourceLocation: sourceLocation)
                return nil
            } catch {
                return error
            }
        }

        @Test func `S4.21 library: an address that no provider accepts is refused with the registered applications`()
            async throws
        {
            try await Box.run { box in
                let nobody = await refusal(to: "skype:bob", box)
                #expect(nobody?.cause == .noProvider)
                #expect(nobody?.description == "no registered provider takes skype: addresses; registered: nobody")
                var phone = CallProviderDescription(name: "phone", capabilities: [.dial])
                phone.schemes = ["sip", "tel"]
                let registrations = [
                    try await box.bridge.register(box.telephone, as: phone),
                    try await box.bridge.register(Telephone(), as: .init(name: "gate")),
                ]
                let refused = await refusal(to: "skype:bob", box)
                #expect(refused?.cause == .noProvider && refused?.underlying.code == .noSuchProvider)
                #expect(refused?.description.contains("registered: phone (sip, tel), gate (does not dial)") == true)
                let other = await refusal(to: "4711", box, provider: "gate")
                #expect(
                    other?.description
                        == "the provider gate cannot dial: start the telephony application; "
                        + "registered: phone (sip, tel), gate (does not dial)")
                #expect(box.telephone.requests.isEmpty)
                for (address, dialled) in [("sip:bob@example.org", "sip:bob@example.org"), ("tel:4711", "4711")] {
                    let call = try await box.bridge.calls.placeCall(to: address)
                    #expect(box.telephone.requests.last == .start(dialled))
                    try await call.hangup()
                }
                for registration in registrations { try await registration.unregister() }
            }
        }

        @Test func `S2.15 library: a call beside one that cannot be held fails with an error of its own`() async throws
        {
            try await Box.run { box in
                let registration = try await box.register([.dial])
                let call = try await box.startCall(registration)
                let failure = await refusal(to: "4711", box)
                #expect(failure?.cause == .noRoom)
                #expect(
                    failure?.description == "the active call cannot be held while another one is begun: end it first")
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
                try await registration.update(call, .ended)
                #expect(try await box.bridge.calls.placeCall(to: "4711").current().state == .dialing)
            }
        }

        /// Makes an impossible request, and checks that the error says what was wrong and what is accepted.
        private func expect(
            _ code: BridgeError.Code, _ wrong: String, _ right: String,
            sourceLocation: SourceLocation = #_sourceLocation,
            _ body: @ControlPlane () async throws(BridgeError) -> Void
        ) async {
            let error = await BTCallDaemonTests.refusal(body)
            #expect(error?.code == code, sourceLocation: sourceLocation)
            let message = error?.message ?? ""
            #expect(message.contains(wrong) && message.contains(right), "\(message)", sourceLocation: sourceLocation)
        }

        @Test func `S2.29 library: an error says what was wrong and what is accepted`() async throws {
            try await Box.run { box in
                let calls = box.bridge.calls
                await expect(.noSuchProvider, "no registered provider can dial", "start the telephony application") {
                    () throws(BridgeError) in _ = try await calls.place("1")
                }
                await expect(.wrongState, "no call to mute", "mute it during a call") { () throws(BridgeError) in
                    try await calls.setMuted(true)
                }
                await expect(.wrongState, "no active call", "with a held one beside it") { () throws(BridgeError) in
                    try await calls.swap()
                }
                await expect(.invalidArgument, "maximum is -1", "0 or more") { () throws(BridgeError) in
                    _ = try await calls.log(maximum: -1)
                }
                let registration = try await box.register([.hold])
                await expect(.invalidArgument, "\"held\"", "accepted: dialing, alerting, active") {
                    () throws(BridgeError) in
                    _ = try await registration.reportOutgoing(number: "1", state: .held)
                }
                let id = try await registration.reportIncoming(number: "1")
                let call = calls[id]
                await expect(.wrongState, "is ringing", "only an active call can be held") { () throws(BridgeError) in
                    try await calls.setHeld(id, true)
                }
                await expect(.wrongState, "is ringing", "only a held call can be taken up") { () throws(BridgeError) in
                    try await calls.setHeld(id, false)
                }
                await expect(.wrongState, "is not answered", "to Answer") { () throws(BridgeError) in
                    try await call.setMedia(audio: .off)
                }
                await expect(.wrongState, "no video", "SetMedia adds it") { () throws(BridgeError) in
                    try await call.enableLocalVideo(false)
                }
                await expect(.wrongState, "nobody asks", "MediaChangeRequested says when") { () throws(BridgeError) in
                    try await call.answerMediaChange(true)
                }
                await expect(.invalidArgument, "\"ringing\"", "accepted: alerting, active, held, ended") {
                    () throws(BridgeError) in try await registration.update(id, .ringing)
                }
                try await call.answer()
                await expect(.wrongState, "is active", "only one that rings or waits") { () throws(BridgeError) in
                    try await call.answer()
                }
                await expect(.wrongState, "active cannot become alerting", "accepted: active, held, ended") {
                    () throws(BridgeError) in try await registration.update(id, .alerting)
                }
                await expect(.invalidArgument, "\"x\" is not made of DTMF tones", "0-9") { () throws(BridgeError) in
                    try await call.sendDTMF(tones: "x")
                }
                await expect(.notSupported, "this capability for it: dtmf", "it has hold") { () throws(BridgeError) in
                    try await call.sendDTMF(tones: "5")
                }
                let second = try await registration.reportOutgoing(number: "2")
                #expect(await call.hold() == .done)
                try await registration.update(second, .active)
                await expect(.notSupported, "this capability", "conference, for both calls") {
                    () throws(BridgeError) in try await calls.conference()
                }
                let third = try await registration.reportIncoming(number: "3", capabilities: [])
                try await registration.update(second, .ended)
                try await registration.update(third, .active)
                let fourth = try await registration.reportIncoming(number: "4")
                await expect(.notSupported, "cannot be held", "end it first") { () throws(BridgeError) in
                    try await calls.answer(fourth)
                }
                try await call.hangup()
                await expect(.noSuchCall, "no such call", "ask for the calls there are") { () throws(BridgeError) in
                    try await call.answer()
                }
            }
        }
    }
}
