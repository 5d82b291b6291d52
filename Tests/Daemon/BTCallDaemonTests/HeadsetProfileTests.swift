import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Headsets that have only the Headset Profile.
    @Suite @ControlPlane struct HeadsetProfileTests {
        private static let old = BluetoothAddress(value: 0x0000_5E00_5308)
        private let choice = Choice("bluetooth:\(Self.old)") ?? .none

        private func run(isOn: Bool = true, _ body: (Box) async throws -> Void) async throws {
            try await Box.run(
                configure: { $0.headsetProfile = isOn },
                prepare: { box in
                    box.bluez.addHeadset(Self.old, name: "old headset", services: [.headset])
                    box.simulation.addHeadset(
                        Self.old, name: "old headset", codecs: [.cvsd], microphone: Tone.samples)
                },
                body: { box in
                    if isOn {
                        try await eventually("the Headset Profile is registered") {
                            box.bluez.profiles.contains { $0.uuid == .headsetAudioGateway }
                        }
                    }
                    try await body(box)
                })
        }

        private func connect(_ box: Box) async throws -> RawHeadset {
            let headset = try RawHeadset(try await box.bluez.connect(Self.old, to: .headsetAudioGateway))
            try await eventually("it is usable") { try await box.device(choice.description)?["available"] == true }
            return headset
        }

        @Test func `HSP is off unless configured, and a headset with HSP alone is not listed`() async throws {
            try await run(isOn: false) { box in
                #expect(box.bluez.profiles.map(\.uuid) == [.handsFreeAudioGateway])
                try await eventually("others are listed") { try await box.device("bluetooth:\(Box.first)") != nil }
                #expect(try await box.device(choice.description) == nil)
                let error = await #expect(throws: BusError.self) {
                    try await box.bluez.connect(Self.old, to: .headsetAudioGateway)
                }
                #expect(error?.hasName("org.bluez.Error.NotAvailable") == true)
            }
        }

        @Test func `A call rings at an HSP headset, its button answers and ends it, and the audio is CVSD`()
            async throws
        {
            try await run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                let listed = try #require(try await box.device(choice.description))
                #expect(listed["codecs"] == .strings(["CVSD"]) && listed["mode"] == "hfp")
                #expect(listed["codecReason"]?.stringValue?.contains("only the Headset Profile") == true)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "+491701", name: "Gate")
                try await headset.hear("RING")
                headset.say("AT+CKPD=200")
                try await headset.hear("OK")
                #expect(box.telephone.requests.contains(.answer(call)))
                try await box.route(choice)
                #expect(try await box.bridge.status().codec == "CVSD")
                try await box.playing("old headset")
                headset.forget()
                headset.say("AT+CKPD=200")
                try await headset.hear("OK")
                #expect(box.telephone.requests.last == .end(call, "localHangUp"))
                try await box.route(.none)
                // Only the three unsolicited codes of HSP arrive, none of HFP.
                #expect(headset.lines.allSatisfy { $0 == "OK" }, "\(headset.lines)")
                headset.say("AT+CIND?")
                try await headset.hear("ERROR")
            }
        }

        @Test func `A headset that opened its link itself still gets RING, because no ring tone is played there`()
            async throws
        {
            try await run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                let registration = try await box.register()
                _ = try await registration.reportIncoming(number: "1")
                try await headset.hear("RING")
                box.simulation.openLink(Self.old)
                try await eventually("the link is open") { box.simulation.opened.contains("old headset") }
                headset.forget()
                try await headset.hear("RING")
            }
        }

        @Test func `Volumes of an HSP headset are synchronised both ways, with the profile's own result code`()
            async throws
        {
            try await run { box in
                let headset = try await connect(box)
                _ = try await box.client.call(
                    "org.btcall", "/org/btcall/headsets/\(Self.old.pathComponent)", "org.freedesktop.DBus.Properties",
                    "Set", [.string("org.btcall.Headset1"), "SpeakerVolume", .variant(.byte(9))])
                try await headset.hear("+VGS=9")
                headset.say("AT+VGS=11")
                try await eventually("the daemon knows") {
                    box.daemon.headsets.description(of: Self.old)?.speakerVolume == 11
                }
            }
        }

        @Test func `The button fetches a call from the board`() async throws {
            try await run { box in
                try await box.prefer(.earpiece)
                let headset = try await connect(box)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                headset.say("AT+CKPD=200")
                try await box.route(choice)
                try await box.playing("old headset")
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
            }
        }

        @Test func `A headset with HFP as well is refused over HSP, with the reason in the log, and served over HFP`()
            async throws
        {
            try await run { box in
                let error = await #expect(throws: BusError.self) {
                    try await box.bluez.connect(Box.first, to: .headsetAudioGateway)
                }
                #expect(error?.hasName("org.bluez.Error.Rejected") == true)
                #expect(!box.log.containing("notice", "\(Box.first)", "refused: it has the Hands-Free Profile").isEmpty)
                #expect(box.daemon.headsets.description(of: Box.first) == nil)
                _ = try await box.connect(Box.first)
            }
        }

        @Test func `A headset whose HFP becomes known later is left to HFP`() async throws {
            try await run { box in
                let headset = try await connect(box)
                box.bluez.set(
                    "UUIDs", .strings([ServiceUUID.headset, .handsFree].map(\.text)),
                    at: "/org/bluez/hci0/dev_\(Self.old.pathComponent)")
                try await eventually("it is disconnected") { headset.isClosed }
                #expect(!box.log.containing("\(Self.old)", "it has the Hands-Free Profile").isEmpty)
            }
        }

        @Test func `HSP can be switched on and off at run time`() async throws {
            try await run(isOn: false) { box in
                try await box.bridge.setSetting("bluetooth.headsetProfile", to: "yes")
                try await eventually("it is registered") {
                    box.bluez.profiles.contains { $0.uuid == .headsetAudioGateway }
                }
                let profile = try #require(box.bluez.profiles.first { $0.uuid == .headsetAudioGateway })
                #expect(profile.options["AutoConnect"] == false && profile.options["Version"] == .uint16(0x0102))
                try await eventually("it is listed") { try await box.device(choice.description) != nil }
                try await box.bridge.setSetting("bluetooth.headsetProfile", to: "no")
                try await eventually("it is withdrawn") { box.bluez.profiles.count == 1 }
                try await eventually("it is no longer listed") { try await box.device(choice.description) == nil }
                try await box.bridge.setSetting("bluetooth.headsetProfile", to: "yes")
                try await eventually("it is registered again") { box.bluez.profiles.count == 2 }
                _ = try await connect(box)
            }
        }

        @Test func `A separate problem names another program that holds HSP`() async throws {
            try await Box.run(
                configure: { $0.headsetProfile = true },
                prepare: { $0.bluez.occupy(.headsetAudioGateway) },
                body: { box in
                    #expect(try await box.problem("headsetProfile").what.contains("Headset Audio Gateway"))
                    _ = try await box.connect(Box.first)
                    box.bluez.vacate(.headsetAudioGateway)
                    try await box.noProblem("headsetProfile")
                })
        }
    }
}
