import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import ControlLoop
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The library's example, run as a program.
    @Suite(.serialized) @ControlPlane struct IntercomTests {
        @Test func `The intercom rings, the headset's button answers, hears the chime and ends the call`() async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                try await withRecording { recording in
                    let intercom = try Program(box.address, ["IntercomExample"]).start("ring", recording.path())
                    try await ears.hear(.ring)
                    ears.headset.press(.answer)
                    try await eventually("the headset hears both notes of the chime") {
                        [659.0, 523.0].allSatisfy { note in
                            box.simulation.played("headset 1").contains { Self.holds($0, note) }
                        }
                    }
                    try await eventually("the headset's audio is recorded") { try Tone.isHeard(in: heard(recording)) }
                    ears.headset.say("AT+CKPD=200")
                    try await eventually("the button is seen") {
                        intercom.lines.contains("button callKey of \(Box.first)")
                    }
                    ears.headset.press(.hangUp)
                    #expect(try await intercom.status() == 0)
                    #expect(intercom.errors == "")
                    for line in [
                        "answered", "the call is active", "hung up: localHangUp", "the call has ended: localHangUp",
                    ] { #expect(intercom.lines.contains(line), "\(intercom.output)") }
                    // The board may stand in until the headset's link is up.
                    let route = " -> bluetooth:\(Box.first) (callStarted)"
                    #expect(intercom.lines.contains { $0.hasSuffix(route) }, "\(intercom.output)")
                }
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `The intercom calls, plays on the board, follows the route, and ends the call on request`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let intercom = try Program(box.address, ["IntercomExample"]).start("call", "+4930123456")
                try await box.route(.earpiece)
                try await eventually("the earpiece plays the chime") {
                    box.simulation.played("earpiece").contains { Self.holds($0, 659) }
                }
                #expect(try await box.bridge.calls.list().map(\.number) == ["+4930123456"])
                let ears = try await box.connect(Box.first)
                let change = "route: earpiece -> bluetooth:\(Box.first) (newDeviceAvailable)"
                try await eventually("the intercom sees the new route") { intercom.lines.contains(change) }
                intercom.terminate()
                #expect(try await intercom.status() == 0)
                #expect(intercom.lines.last == "the call has ended: remoteHangUp", "\(intercom.output)")
                #expect(intercom.errors == "")
                _ = ears
            }
        }

        @Test func `The intercom reports each mistake with its remedy`() async throws {
            try await Box.run { box in
                let program = try Program(box.address, ["IntercomExample"])
                let (usage, wrong) = try await program("answer")
                #expect(wrong == 64)
                #expect(usage.contains("usage: IntercomExample ring [RECORDING]"))
                let (refusal, refused) = try await program("ring", "/nowhere/recording")
                #expect(refused == 1)
                #expect(refusal == "IntercomExample: /nowhere/recording cannot be written: No such file or directory\n")
                try await box.bridge.calls.setDoNotDisturb(true)
                let (filtered, status) = try await program("ring")
                #expect(status == 1)
                #expect(filtered == "IntercomExample: do not disturb is on: the call is refused\n")
            }
        }

        @Test func `The intercom without a daemon says how to start one, and its call ends with the daemon`()
            async throws
        {
            let bus = try FakeBlueZBus()
            defer { bus.stop() }
            let (text, status) = try await Program(bus.address, ["IntercomExample"])("ring")
            #expect(status == 3)
            #expect(text.hasPrefix("IntercomExample: btcalld is not running on the bus at "))
            #expect(text.hasSuffix("start it with `btcalld --bus \(bus.address)`\n"))
            try await Box.run { box in
                let intercom = try Program(box.address, ["IntercomExample"]).start("call", "5550100")
                try await eventually("the call is up") { intercom.lines.contains("the call is active") }
                try await box.restartDaemon()
                #expect(try await intercom.status() == 0)
                #expect(intercom.lines.last?.hasPrefix("the call has ended: ") ?? false, "\(intercom.output)")
            }
        }

        private func withRecording(_ body: (URL) async throws -> Void) async throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "intercom-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
            try await body(file)
        }

        private func heard(_ recording: URL) throws -> [Int16] {
            try Data(contentsOf: recording).withUnsafeBytes { bytes in
                (0..<bytes.count / 2).map { bytes.loadUnaligned(fromByteOffset: 2 * $0, as: Int16.self) }
            }
        }

        /// Whether a loud tone of this frequency dominates some tenth of a second.
        private static func holds(_ timeline: AudioTimeline, _ hertz: Double) -> Bool {
            let length = timeline.rate / 10
            return stride(from: 0, to: timeline.samples.count - length, by: length).contains { start in
                var real = 0.0
                var imaginary = 0.0
                var power = 0.0
                for (index, sample) in timeline.samples[start..<start + length].enumerated() {
                    let angle = 2 * Double.pi * hertz * Double(index) / Double(timeline.rate)
                    real += Double(sample) * cos(angle)
                    imaginary += Double(sample) * sin(angle)
                    power += Double(sample) * Double(sample)
                }
                let share = (real * real + imaginary * imaginary) / (power * Double(length) / 2 + 1)
                return share > 0.8 && power / Double(length) > 1000 * 1000
            }
        }
    }
}
