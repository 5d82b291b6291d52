import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Diagnostics
import Foundation
import Routing
import TestSupport
import Testing

@testable import BTCallDaemon

extension DaemonTests {
    /// The flight recorder in the daemon: its incidents replay, and past decisions can be explained.
    @Suite @ControlPlane struct RecorderTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        private func scenario(_ text: String) throws -> Scenario {
            try #require(try ScenarioFile(Data(text.utf8)).scenarios.first)
        }

        /// A call that moves from one headset to the other and to the board.
        private func eventfulCall(_ box: Box) async throws {
            try await box.prefer(.bluetooth)
            _ = try await box.connect(Box.first)
            _ = try await box.connect(Box.second)
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(second)
            try await box.bridge.audioDeviceManager.select(first)
            try await box.route(first)
            box.bluez.disconnect(Box.first)
            try await box.route(second)
            try await box.bridge.audioDeviceManager.select(.speakerphone)
            try await box.route(.speakerphone)
            try await registration.update(call, .ended)
            try await box.route(.none)
        }

        @Test func `An incident of a call replays to the same decisions, without real addresses and numbers`()
            async throws
        {
            try await Box.run { box in
                try await eventfulCall(box)
                let text = try await box.bridge.audioDeviceManager.incident()
                let recorded = try scenario(text)
                #expect(recorded.isRecorded)
                var runner = ScenarioRunner(recorded, isTracing: true)
                let result = runner.run()
                #expect(result.hasPassed, "\(result.line)\n\(result.trace.joined(separator: "\n"))")
                let reasons = ["callStarted", "userSelection", "oldDeviceUnavailable", "callEnded"]
                for reason in reasons { #expect(text.contains("\"reason\": \"\(reason)\"")) }
                #expect(!text.contains("00:00:5E") && !text.contains("00_00_5E"))
                #expect(text.contains("bluetooth:02:00:01:") && text.contains("bluetooth:02:00:02:"))
                #expect(!text.contains("4930123456"))
                #expect(text.contains("\"version\": \"\(Daemon.version)\""))
                let age = try #require(recorded.startedAt).timeIntervalSinceNow
                #expect(age < 0 && age > -60)
                // A headset keeps its pseudonym while the daemon runs.
                let again = try await box.bridge.audioDeviceManager.incident()
                let pseudonym = try #require(text.firstRange(of: /02:00:01:..:..:../))
                #expect(again.contains(text[pseudonym]))
            }
        }

        @Test func `S0.2 eight clients at once have the same result as calls in sequence`() async throws {
            try await Box.run { box in
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let address = "\(box.address)"
                let clients = (UInt64(1)...8).map { seed in
                    Task { @ControlPlane in try await Self.randomCalls(60, seed: seed, bus: address) }
                }
                for client in clients { try await client.value }
                let recorded = try scenario(try await box.bridge.audioDeviceManager.incident(includingAddresses: true))
                var runner = ScenarioRunner(recorded, isTracing: true)
                var replayed: RoutingPolicy?
                runner.onHandled = { _, _, policy, _ in replayed = policy }
                let result = runner.run()
                #expect(result.hasPassed, "\(result.line)\n\(result.trace.suffix(20).joined(separator: "\n"))")
                let words = result.trace.joined(separator: "\n")
                for word in ["api.setPreferred", "api.setDefault", "api.select", "api.clearSelection", "api.refresh"] {
                    #expect(words.components(separatedBy: word).count > 20, "\(word) is among the calls")
                }
                let manager = box.bridge.audioDeviceManager
                let last = try #require(replayed)
                #expect(try await manager.preferredAudioDevice().description == last.preferred.description)
                #expect(try await manager.defaultAudioDevice().description == last.defaultDevice.description)
            }
        }

        /// Random calls of a separate client, including some that the daemon refuses.
        private static func randomCalls(_ count: Int, seed: UInt64, bus address: String) async throws {
            let bridge = try await CallBridge(bus: .address(address))
            let manager = bridge.audioDeviceManager
            let devices = try [
                "none", "bluetooth", "bluetooth:\(Box.first)", "earpiece", "speakerphone", "wiredHeadset",
            ]
            .map { try #require(Choice($0)) }
            var random = SeededGenerator(seed: seed)
            for _ in 0..<count {
                let device = devices[Int.random(in: devices.indices, using: &random)]
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try await manager.setAudioDevice(device)
                case 1: try await manager.setDefaultAudio(device)
                case 2: _ = try? await manager.select(device)
                case 3: try await manager.clearSelection()
                default: try await manager.refreshSpeakerphoneSetting()
                }
            }
            await bridge.close()
        }

        @Test func `With the option an incident has the real addresses`() async throws {
            try await Box.run { box in
                try await eventfulCall(box)
                let text = try await box.bridge.audioDeviceManager.incident(includingAddresses: true)
                #expect(text.contains("bluetooth:\(Box.first)") && text.contains("bluetooth:\(Box.second)"))
                var runner = ScenarioRunner(try scenario(text))
                #expect(runner.run().hasPassed)
                let wrong = await box.error(
                    "/org/btcall/router", "org.btcall.Router1", "Incident", [.vardict(["addresses": "yes"])])
                #expect(wrong == "org.btcall.Error.InvalidArgument")
            }
        }

        @Test func `A past decision is explained as it was at its time`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.bluetooth)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                let live = try await manager.explain()
                let time = WallClock.now.milliseconds
                let then = try await manager.explain(at: time)
                #expect(then.chosen == .earpiece)
                // The later explanation differs only in times.
                #expect(then.text.map(withoutNumbers) == live.text.map(withoutNumbers))
                _ = try await box.connect(Box.first)
                try await box.route(first)
                #expect(try await manager.explain().chosen == first)
                #expect(try await manager.explain(at: time).text == then.text)
                #expect(try await manager.explain(at: time).levels == then.levels)
            }
        }

        private func withoutNumbers(_ line: String) -> String { line.filter { !$0.isNumber } }

        @Test func `A time outside the recording is refused with the recorded period`() async throws {
            try await Box.run { box in
                try await eventfulCall(box)
                let manager = box.bridge.audioDeviceManager
                let now = WallClock.now.milliseconds
                for time in [0, now - 3_600_000, now + 60_000, .max, .min] {
                    let refused = await refusal { () throws(BridgeError) in _ = try await manager.explain(at: time) }
                    #expect(refused?.code == .invalidArgument)
                    #expect(refused?.message.contains(": the recording covers 20") == true)
                }
                let wrong = await box.error(
                    "/org/btcall/router", "org.btcall.Router1", "Explain", [.vardict(["time": "noon"])])
                #expect(wrong == "org.btcall.Error.InvalidArgument")
            }
        }

        @Test func `Before the first event there is no incident`() async throws {
            try await Box.run(
                isBlueZRunning: false, configure: { $0.autostart = false },
                body: { box in
                    let manager = box.bridge.audioDeviceManager
                    let incident = await refusal { () throws(BridgeError) in _ = try await manager.incident() }
                    #expect(incident?.code == .wrongState)
                    let past = await refusal { () throws(BridgeError) in _ = try await manager.explain(at: 0) }
                    #expect(past?.message == "nothing has been recorded yet: there was no routing event")
                })
        }

        // MARK: Files

        private static let impatient: @Sendable (inout Configuration) -> Void = {
            $0.routing.openTimeout = .milliseconds(50)
        }

        /// Runs with a state directory and returns the incident files at the end.
        private func files(
            _ configure: (inout Configuration) -> Void = { _ in }, body: (Box, _ folder: URL) async throws -> Void
        ) async throws -> [String] {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try await Box.run(
                configure: { configuration in
                    configuration.stateDirectory = folder.path
                    configuration.timeouts.incident = .milliseconds(20)
                    configure(&configuration)
                }, body: { box in try await body(box, folder) })
            return Self.incidents(in: folder)
        }

        private static func incidents(in folder: URL) -> [String] {
            let incidents = folder.appending(path: "incidents")
            // Without a directory there are no files.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: incidents.path)) ?? []
            return names.sorted().compactMap { name in
                guard name.wholeMatch(of: /incident-\d{8}T\d{6}Z\.json/) != nil else { return nil }
                return try? String(contentsOf: incidents.appending(path: name), encoding: .utf8)
            }
        }

        @Test func `A headset that cannot be reached leaves a file that replays to the failure`() async throws {
            let files = try await files(Self.impatient) { box, folder in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                box.simulation.die(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("the file") { !Self.incidents(in: folder).isEmpty }
            }
            let text = try #require(files.first)
            #expect(files.count == 1)
            #expect(text.contains("\"title\": \"all attempts to open the link of bluetooth:02:00:01:"))
            #expect(!text.contains("00:00:5E"))
            let recorded = try scenario(text)
            var runner = ScenarioRunner(recorded, isTracing: true)
            let result = runner.run()
            #expect(result.hasPassed)
            #expect(result.trace.contains { $0.contains("notify activationFailed 02:00:01:") })
        }

        @Test func `A card that fails during a call leaves a file; another failure soon after does not`() async throws {
            let files = try await files { box, folder in
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                box.simulation.removeCard(.earpiece)
                try await box.route(.speakerphone)
                try await eventually("the file") { !Self.incidents(in: folder).isEmpty }
                box.simulation.addCard(.earpiece, microphone: Tone.samples)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                box.simulation.removeCard(.earpiece)
                try await box.route(.speakerphone)
                #expect(box.daemon.router.incidents?.count == 1)
            }
            #expect(files.count == 1)
            #expect(files.first?.contains("\"title\": \"earpiece failed while it carried the call\"") == true)
        }

        @Test func `With incidents off no file is kept`() async throws {
            let forgetful: (inout Configuration) -> Void = { configuration in
                Self.impatient(&configuration)
                configuration.incidents = false
            }
            let files = try await files(forgetful) { box, _ in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                box.simulation.die(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("all attempts have failed") { box.daemon.router.policy.error == .activationFailed }
            }
            #expect(files.isEmpty)
        }

        @Test func `A call without a path for two seconds leaves a file`() async throws {
            let deaf: (inout Configuration) -> Void = { configuration in
                configuration.localDevices = [:]
                configuration.routing.openTimeout = .seconds(60)
            }
            let files = try await files(deaf) { box, folder in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                box.simulation.die(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("the file") { !Self.incidents(in: folder).isEmpty }
            }
            #expect(files.first?.contains("a call had no path for more than 2 s, though one was due") == true)
        }

        @Test func `The newest eight files are kept`() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            let files = IncidentFiles(stateDirectory: folder.path)
            for second in 0..<11 {
                let path = try files.add("\(second)", at: WallClock(milliseconds: Int64(second) * 1000))
                #expect(
                    path == "\(folder.path)/incidents/incident-19700101T0000\(second < 10 ? "0" : "")\(second)Z.json")
            }
            #expect(Self.incidents(in: folder) == (3..<11).map { "\($0)" })
            // After the clock was set back the newest file stays, whatever its name.
            _ = try files.add("back", at: WallClock(milliseconds: 500))
            #expect(Self.incidents(in: folder) == ["back"] + (4..<11).map { "\($0)" })
            let forbidden = IncidentFiles(stateDirectory: "/proc/btcall")
            do throws(SystemError) {
                _ = try forbidden.add("x", at: .now)
                Issue.record("a file in /proc")
            } catch {
                #expect(error.call == "mkdir")
            }
        }
    }
}
