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
import TestSupport
import Testing

extension DaemonTests {
    /// The effects of quirks on single headsets.
    @Suite @ControlPlane struct QuirksTests {
        private static let text = """
            [database]
            format = 1
            version = test
            [quirk no-codecs]
            address = 00:00:5E:00:53:01
            name = headset ?
            maskFeatures = codec_negotiation
            reference = here
            reason = breaks
            [quirk no-msbc]
            name = headset 2
            brokenCodecs = msbc
            reference = here
            reason = crackles
            [quirk soft]
            modalias = bluetooth:v004C*
            softwareVolume = yes
            reference = here
            reason = deaf to it
            [quirk other]
            address = 00:00:5E
            kernel = 0-1
            setUpSeconds = 30
            reference = here
            reason = slow
            """

        private static func database() throws -> QuirksDatabase {
            try QuirksDatabase(parsing: Array(text.utf8), file: "/test/quirks.conf")
        }

        /// The features announced in +BRSF.
        private func features(_ ears: Ears) throws -> AudioGatewayFeatures {
            let line = try #require(ears.headset.transcript.first { $0.hasPrefix("< +BRSF: ") })
            return AudioGatewayFeatures(rawValue: try #require(UInt32(line.dropFirst("< +BRSF: ".count))))
        }

        @Test func `a masked feature is missing from BRSF for the headset of the row only`() async throws {
            let database = try Self.database()
            try await Box.run(
                configure: { $0.quirks = database },
                body: { box in
                    let first = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                    #expect(!(try features(first)).contains(.codecNegotiation))
                    #expect(first.headset.transcript.contains("> AT+BAC=1,2"))
                    #expect(try await box.device("bluetooth:\(Box.first)")?["codecs"] == .strings(["CVSD"]))
                    let second = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
                    #expect(try features(second).contains(.codecNegotiation))
                    // The broken codec stays excluded for the headset after the codecs were set again.
                    #expect(try await box.device("bluetooth:\(Box.second)")?["codecs"] == .strings(["CVSD"]))
                    try await box.bridge.setSetting("bluetooth.codecs", to: "cvsd")
                    try await box.bridge.resetSetting("bluetooth.codecs")
                    #expect(try await box.device("bluetooth:\(Box.second)")?["codecs"] == .strings(["CVSD"]))
                })
        }

        @Test func `the configuration of one headset overrides the rows`() async throws {
            let database = try Self.database()
            try await Box.run(
                configure: {
                    $0.quirks = database
                    $0.headsetEffects = [Box.second: [.maskFeatures(.enhancedCallControl), .appleName("iPad")]]
                },
                body: { box in
                    let second = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
                    let said = try features(second)
                    #expect(said.contains(.codecNegotiation) && !said.contains(.enhancedCallControl))
                    let explanation = try await box.bridge.explainQuirks(of: "\(Box.second)")
                    #expect(
                        explanation.outcomes.map { "\($0.key) = \($0.value): \($0.sources)" } == [
                            "maskFeatures = enhanced_call_control: [\"configuration\"]",
                            "brokenCodecs = msbc: [\"no-msbc\"]",
                            "appleName = iPad: [\"configuration\"]",
                        ])
                })
        }

        @Test func `features that btcalld announces to no headset are named as such where they are masked`()
            async throws
        {
            try await Box.run(
                configure: { $0.headsetEffects = [Box.first: [.maskFeatures([.voiceTag, .rejectCall])]] },
                body: { box in
                    let explanation = try await box.bridge.explainQuirks(of: "\(Box.first)")
                    let summary = try #require(explanation.outcomes.first).summary
                    #expect(summary.hasSuffix("; not announced anyway: voice_tag"), "\(summary)")
                })
        }

        @Test func `for a headset without volume control btcalld applies the volume and sends none`() async throws {
            let database = try Self.database()
            try await Box.run(
                configure: { $0.quirks = database },
                prepare: { box in
                    box.bluez.remove(Box.first)
                    box.bluez.addHeadset(
                        Box.first, name: "other", properties: ["Modalias": "bluetooth:v004Cp2002d6DF1"])
                },
                body: { box in
                    try await box.prefer(Choice("bluetooth:\(Box.first)") ?? .none)
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(Choice("bluetooth:\(Box.first)") ?? .none)
                    try await box.playing("headset 1")
                    func set(_ volume: UInt8) async throws {
                        _ = try await box.client.call(
                            BTCallName.bus, BTCallPath.headset(Box.first), "org.freedesktop.DBus.Properties", "Set",
                            [.string(BTCallName.Interface.headset), "SpeakerVolume", .variant(.byte(volume))])
                    }
                    try await set(0)
                    try await eventually("it is silent") {
                        let recent = box.simulation.played("headset 1").last?.samples.suffix(1600) ?? []
                        return recent.count == 1600 && recent.allSatisfy { $0 == 0 }
                    }
                    try await set(15)
                    try await box.playing("headset 1")
                    #expect(ears.headset.transcript.allSatisfy { !$0.contains("+VGS") })
                })
        }

        @Test func `a client sees the database, and why a row applies to a headset, connected or not`() async throws {
            let database = try Self.database()
            try await Box.run(
                configure: { $0.quirks = database },
                body: { box in
                    let table = try await box.bridge.quirks()
                    #expect(table.files.map(\.path) == ["/test/quirks.conf"] && table.files.first?.version == "test")
                    #expect(table.rows.map(\.name) == ["no-codecs", "no-msbc", "soft", "other"])
                    #expect(table.rows.first?.conditions == ["address = 00:00:5E:00:53:01", "name = headset ?"])
                    let known = try await box.bridge.explainQuirks(of: "00:00:5e:00:53:01")
                    #expect(
                        known.isKnown && !known.isConnected && known.name == "headset 1" && known.controller == "hci0")
                    #expect(known.applied.map(\.name) == ["no-codecs"])
                    #expect(
                        known.applied.first?.because == [
                            "the address begins with 00:00:5E:00:53:01", "the name is “headset 1” (headset ?)",
                        ])
                    #expect(known.near.map(\.name) == ["other"])
                    #expect(known.near.first?.obstacles.first?.hasPrefix("the kernel is ") == true)
                    let unknown = try await box.bridge.explainQuirks(of: "00:00:5E:11:11:11")
                    #expect(!unknown.isKnown && unknown.name == nil && unknown.applied.isEmpty)
                    _ = try await box.connect(Box.first)
                    #expect(try await box.bridge.explainQuirks(of: "\(Box.first)").isConnected)
                    let refused = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.explainQuirks(of: "00:00:5E")
                    }
                    #expect(refused?.code == .invalidArgument)
                    #expect(refused?.message.contains("six octets like 00:14:09:12:34:56") == true)
                    let program = try Program(box.address)
                    let text = try await program("quirks", "explain", "\(Box.first)")
                    #expect(text.status == 0 && text.text.contains("maskFeatures = codec_negotiation (no-codecs)"))
                    #expect(try await program("quirks", "explain", "nobody").status == 1)
                    #expect(try await program("quirks").text.contains("/test/quirks.conf: version test, 4 rows"))
                })
        }
    }
}
