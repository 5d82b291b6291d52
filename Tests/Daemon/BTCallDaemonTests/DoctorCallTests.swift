import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import Testing

extension DaemonTests {
    /// `btcall doctor --call`: its test call and its verdict.
    @Suite(.serialized) @ControlPlane struct DoctorCallTests {
        private let headset = "bluetooth:\(Box.first)"

        /// The output of a run.
        private struct Verdict: Sendable {
            let status: Int32
            let isSound: Bool
            /// The measurements; empty when no call was made.
            let texts: [String: String]
            let numbers: [String: Double]
            /// `severity id: seen`
            let findings: [String]

            /// Without the losses of a busy machine, whose packets come late.
            var withoutLosses: [String] { findings.filter { !$0.hasPrefix("warning call-losses: ") } }

            func found(_ id: String) -> String? { findings.first { $0.contains(" \(id): ") } }
        }

        private func run(_ box: Box, _ arguments: String...) async throws -> Verdict {
            let (text, status) = try await Program(box.address)(["doctor", "--json", "--call"] + arguments)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
            let findings = try #require(object["findings"] as? [[String: Any]])
            // This process has the limits of the user who runs the tests.
            let words = findings.filter { $0["check"] as? String != "realtime-limit" }.map {
                "\($0["severity"] ?? "") \($0["check"] ?? ""): \($0["seen"] ?? "")"
            }
            let call = object["measurement"] as? [String: Any] ?? [:]
            return Verdict(
                status: status, isSound: object["soundBothWays"] as? Bool == true,
                texts: call.compactMapValues { $0 as? String }, numbers: call.compactMapValues { $0 as? Double },
                findings: words)
        }

        private func explicitChoice(_ box: Box) async throws -> String? {
            let levels = try await box.bridge.audioDeviceManager.explain().levels
            return try #require(levels.first { $0.name == "explicit choice" }).spec
        }

        @Test func `A headset lying on its loudspeaker returns the chirps, and the selection is restored`() async throws
        {
            try await Box.run { box in
                box.simulation.loops[Box.first] = 120
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                try await box.bridge.audioDeviceManager.select(.earpiece)
                let verdict = try await run(box, headset)
                withExtendedLifetime(ears) {}
                #expect(verdict.status == 0 && verdict.isSound)
                #expect(verdict.withoutLosses == [])
                #expect(verdict.texts["device"] == headset)
                #expect(verdict.texts["codec"] == "mSBC")
                #expect(try #require(verdict.numbers["packetsReceived"]) > 400)
                #expect(try #require(verdict.numbers["chirpsHeard"]) >= 3)
                let delay = try #require(verdict.numbers["roundTripMilliseconds"])
                #expect((120.0...500).contains(delay))
                #expect(try await box.bridge.calls.list().isEmpty)
                #expect(try await explicitChoice(box) == "earpiece")
            }
        }

        @Test func `The microphone of a worn headset picks up no chirps, as reported; lost packets are counted`()
            async throws
        {
            try await Box.run { box in
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                async let running = run(box, headset)
                try await box.route(#require(DeviceChoice(headset)))
                box.simulation.loseEach(20, of: Box.first)
                let verdict = try await running
                withExtendedLifetime(ears) {}
                #expect(verdict.status == 0 && verdict.isSound)
                #expect(verdict.findings.count == 2)
                #expect(verdict.found("call-losses")?.hasPrefix("warning ") == true)
                #expect((3.0...6).contains(try #require(verdict.numbers["lossPercent"])))
                #expect(verdict.found("call-chirp")?.hasPrefix("note ") == true)
                #expect(try #require(verdict.numbers["packetsReceived"]) > 400)
                #expect(verdict.numbers["chirpsHeard"] == 0)
                // A sine at an eighth of full scale.
                #expect((-24.0 ... -19).contains(try #require(verdict.numbers["microphoneDBFS"])))
            }
        }

        @Test func `A microphone that is digitally silent is a fault`() async throws {
            try await Box.run(
                // What a busy machine makes btcalld conceal is known at once.
                configure: { $0.timeouts.quality = .milliseconds(50) },
                body: { box in
                    box.simulation.addHeadset(Box.first, name: "headset 1", codecs: [.mSBC, .cvsd]) { _ in [] }
                    _ = try await box.connect(Box.first)
                    let verdict = try await run(box, "bluetooth")
                    #expect(verdict.status == 1 && !verdict.isSound)
                    #expect(verdict.found("call-microphone")?.hasPrefix("fault ") == true)
                    #expect(verdict.withoutLosses.count == 1, "\(verdict.findings)")
                    #expect(verdict.texts["device"] == headset)
                })
        }

        @Test func `A headset that refuses its link is a fault that names the device that carried the call`()
            async throws
        {
            try await Box.run { box in
                box.simulation.addHeadset(Box.first, name: "headset 1", codecs: [], microphone: Tone.samples)
                _ = try await box.connect(Box.first)
                let verdict = try await run(box, headset)
                #expect(verdict.status == 1 && !verdict.isSound)
                let seen = try #require(verdict.found("call-link"))
                #expect(seen.hasPrefix("fault ") && seen.contains("earpiece carried the call; "))
                #expect(seen.contains("\(headset) is "))
                #expect(verdict.texts["device"] == "earpiece")
            }
        }

        @Test func `Without a name the call follows the route, and an absent device is refused`() async throws {
            try await Box.run { box in
                let absent = try await run(box, headset)
                #expect(absent.status == 1 && absent.texts.isEmpty)
                #expect(absent.found("call-device")?.contains("is not available now") == true)
                let btcall = try Program(box.address)
                let (text, status) = try await btcall("doctor", "--call")
                #expect(status == 0, "\(text)")
                #expect(text.contains("note: nobody heard the chirps: normal for a headset that is worn [call-chirp]"))
                #expect(text.contains("Device      earpiece"))
                #expect(text.hasSuffix("\nsound goes both ways, as far as this machine can hear\n"))
                #expect(try await explicitChoice(box) == nil)
            }
        }

        @Test func `No test call is made while a call is up`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let verdict = try await run(box, "earpiece")
                #expect(verdict.status == 1 && verdict.texts.isEmpty)
                #expect(verdict.findings == ["fault call-busy: active: +4930123456, by test"])
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
            }
        }
    }
}
