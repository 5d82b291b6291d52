import BTCall
import BTCallDaemon
import Configuration
import ControlLoop
import DBus
import Routing
import Testing

/// The mode of a headset, with a microphone and without.
extension DaemonTests.FeatureTests {
    @Test func `S3.2 without microphone no route has an input, and switching it moves no call`() async throws {
        try await Box.run { box in
            let log = try await SignalLog(box.address)
            defer { log.close() }
            try await box.prefer(.none)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(.earpiece)
            try await box.bridge.setSetting("routing.microphoneEnabled", to: "false")
            for word in ["earpiece", "speakerphone"] {
                let device = try #require(try await box.device(word))
                #expect(device["input"] == nil && device["duplex"] == false && device["available"] == true)
                #expect(device["output"] != "")
            }
            try await box.bridge.setSetting("routing.microphoneEnabled", to: "true")
            #expect(try await box.device("earpiece")?["input"] == "builtinMic")
            #expect(log.changes.map(\.new) == ["earpiece"])
        }
    }

    /// The table of the routing rules for the mode of a headset.
    private func modes(
        _ configure: @escaping (inout RoutingConfiguration) -> Void,
        _ rows: [(hfp: Bool, a2dp: Bool, mode: String, because: String)]
    ) async throws {
        try await Box.run(
            configure: { configure(&$0.routing) },
            body: { box in
                _ = try await box.connect(Box.first)
                // An empty text means absent.
                func text(_ text: String) -> Value? { text.isEmpty ? nil : .string(text) }
                for row in rows {
                    // A2DP links are not simulated yet: the policy gets their events directly.
                    box.daemon.router.handle(.headsetProfile(Box.first, .hfp, isUp: row.hfp))
                    box.daemon.router.handle(.headsetProfile(Box.first, .a2dp, isUp: row.a2dp))
                    let device = try #require(try await box.device(first.description))
                    #expect(device["mode"] == text(row.mode), "\(row)")
                    #expect(device["available"] == .bool(!row.mode.isEmpty), "\(row)")
                    #expect(device["unavailableBecause"] == text(row.because), "\(row)")
                    let output = row.mode == "hfp" ? "sco" : "a2dp"
                    #expect(device["output"] == text(row.mode.isEmpty ? "" : "\(output):\(Box.first)"), "\(row)")
                    #expect(device["duplex"] == .bool(row.mode == "hfp"), "\(row)")
                    let microphone = box.daemon.settings.configuration.routing.microphoneEnabled
                    let input = row.mode == "hfp" ? "sco:\(Box.first)" : microphone ? "builtinMic" : ""
                    #expect(device["input"] == text(row.mode.isEmpty ? "" : input), "\(row)")
                }
            })
    }

    @Test func `S3.8 without microphone a headset is used over A2DP only`() async throws {
        try await modes(
            { $0.microphoneEnabled = false },
            [
                (true, true, "a2dp", ""), (false, true, "a2dp", ""),
                (true, false, "", "HFP only and microphoneEnabled is off"), (false, false, "", "not connected"),
            ])
        try await modes(
            {
                $0.microphoneEnabled = false
                $0.allowBluetoothA2DP = true
            }, [(true, true, "a2dp", ""), (true, false, "", "HFP only and microphoneEnabled is off")])
    }

    @Test func `S3.9 with microphone a headset is used over HFP`() async throws {
        try await modes(
            { _ in },
            [
                (true, true, "hfp", ""), (true, false, "hfp", ""),
                (false, true, "", "A2DP only and allowBluetoothA2DP is off"), (false, false, "", "not connected"),
            ])
    }

    @Test func `S3.10 with A2DP allowed it is used where connected, with the board's microphone`() async throws {
        try await modes(
            { $0.allowBluetoothA2DP = true },
            [
                (true, true, "a2dp", ""), (false, true, "a2dp", ""), (true, false, "hfp", ""),
                (false, false, "", "not connected"),
            ])
    }
}
