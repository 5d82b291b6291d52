import AudioPaths
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
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Virtual calls on headsets for audio that belongs to no call.
    @Suite @ControlPlane struct VirtualCallTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func announcer(_ box: Box) async throws -> ProviderRegistration {
            try await box.bridge.register(box.telephone, as: .init(name: "announcer", hasCallState: false))
        }

        private func calls(_ ears: Ears) -> [VirtualHeadset.Event] {
            ears.events.filter { event in
                if case .indicator(let name, _) = event { name.hasPrefix("call") } else { event == .ring }
            }
        }

        @Test func `An application without call state appears as one call, and nothing else`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                ears.forget()
                let registration = try await announcer(box)
                let call = try await registration.reportOutgoing(number: "")
                try await ears.hear(.indicator("call", 1))
                try await registration.update(call, .active)
                try await box.route(first)
                try await box.playing("headset 1")
                try await registration.update(call, .ended)
                try await ears.hear(.indicator("call", 0))
                try await box.route(.none)
                #expect(calls(ears) == [.indicator("call", 1), .indicator("call", 0)])
            }
        }

        @Test func `The headset's button ends audio that the headset does not see as a call`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await announcer(box)
                let call = try await box.startCall(registration)
                try await box.playing("headset 1")
                ears.headset.press(.hangUp)
                try await eventually("the application is asked") {
                    box.telephone.requests.last == .end(call, "localHangUp")
                }
                try await ears.hear(.indicator("call", 0))
                try await eventually("it has ended") { try await box.bridge.calls.list().isEmpty }
                #expect(!ears.events.contains(.refused("AT+CHUP")))
            }
        }

        @Test func `A headset that connects meanwhile sees the virtual call as well`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let registration = try await announcer(box)
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                let ears = try await box.connect(Box.first)
                #expect(ears.headset.indicators["call"] == 1)
                try await box.route(first)
            }
        }

        @Test func `A real call rings through the virtual one, replaces it, and ends it if it cannot be held`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let announcer = try await announcer(box)
                let announcement = try await box.startCall(announcer)
                try await ears.hear(.indicator("call", 1))
                ears.forget()
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1")
                try await ears.hear(.ring)
                #expect(calls(ears).prefix(2) == [.indicator("call", 0), .indicator("callsetup", 1)])
                #expect(try await box.bridge.calls.list().first { $0.id == call }?.state == .ringing)
                ears.headset.press(.answer)
                try await ears.hear(.indicator("call", 1))
                #expect(box.telephone.requests.contains(.answer(call)))
                #expect(box.telephone.requests.contains(.end(announcement, "localHangUp")))
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
            }
        }

        @Test func `With never the headset has the audio and sees no call`() async throws {
            try await Box.run(
                configure: { $0.virtualCall = .never },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let ears = try await box.connect(Box.first)
                    ears.forget()
                    let registration = try await announcer(box)
                    let call = try await box.startCall(registration)
                    try await box.playing("headset 1")
                    try await registration.update(call, .ended)
                    try await box.route(.none)
                    #expect(calls(ears).isEmpty)
                })
        }

        @Test(arguments: [VirtualCall.onRequest, .withAudio])
        func `A real call appears unchanged and leaves nothing behind`(_ policy: VirtualCall) async throws {
            try await Box.run(
                configure: { $0.virtualCall = policy },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let ears = try await box.connect(Box.first)
                    ears.forget()
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    try await box.playing("headset 1")
                    try await registration.update(call, .ended)
                    try await box.route(.none)
                    try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.first) }
                    #expect(
                        calls(ears) == [
                            .indicator("callsetup", 2), .indicator("call", 1), .indicator("callsetup", 0),
                            .indicator("call", 0),
                        ])
                })
        }

        @Test func `With always a headset that opens its audio without a call sees one`() async throws {
            try await Box.run(
                configure: { $0.virtualCall = .withAudio },
                body: { box in
                    let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                    ears.forget()
                    ears.headset.press(.transfer)
                    try await ears.hear(.indicator("call", 1))
                    box.simulation.closeLink(Box.first)
                    try await ears.hear(.indicator("call", 0))
                })
        }

        @Test func `An application without call state cannot ring, and is told what to do instead`() async throws {
            try await Box.run { box in
                let registration = try await announcer(box)
                let error = await refusal { () throws(BridgeError) in
                    _ = try await registration.reportIncoming(number: "1")
                }
                #expect(error?.code == .notSupported)
                #expect(error?.message.contains("report an outgoing call") == true)
            }
        }
    }
}
