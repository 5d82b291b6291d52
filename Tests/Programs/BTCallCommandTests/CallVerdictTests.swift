import ArgumentParser
import BTCallAPI
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import JSONText
import Testing

@testable import BTCall
@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CallVerdictTests {
    private static let address = "bluetooth:00:00:5E:00:53:01"

    /// Measurements of a faultless call on a device.
    private func well(_ device: String = address, codec: String? = "mSBC") throws -> CallMeasurement {
        var call = CallMeasurement()
        call.wanted = try #require(DeviceChoice(device))
        call.expected = call.wanted
        call.link = CallLink(
            CallLinkDescription(
                device: try #require(DeviceWord(device)), handle: nil, codec: codec, packetBytes: 60))
        call.hasCarried = true
        call.packets = codec == nil ? 0 : 870
        (call.blocksReceived, call.blocksSent) = (650, 649)
        call.microphone = .init([Int16](repeating: 3277, count: 100))
        call.chirps = 5
        call.delays = [140, 143.5, 150]
        return call
    }

    private func findings(_ call: CallMeasurement) -> [String] {
        CallVerdict(.measured(call)).findings.map { "\($0.severity) \($0.check)" }
    }

    @Test func `A faultless call has no finding, and its numbers are printed`() throws {
        let verdict = CallVerdict(.measured(try well()))
        #expect(verdict.findings == [] && verdict.exitCode == 0)
        #expect(
            verdict.lines(in: .plain) == [
                "Device      \(Self.address), mSBC",
                "Received    870 packets, 0 lost (0.0 %); 650 blocks of 10 ms", "Sent        649 blocks of 10 ms",
                "Microphone  -20.0 dBFS, peaks at -20.0 dBFS",
                "Chirps      3 of 5 heard, after 143.5 ms there and back",
                "", "sound goes both ways: the chirps came back after 143.5 ms",
            ])
        // A sound card has no packets.
        #expect(findings(try well("earpiece", codec: nil)) == [])
    }

    @Test func `Each fault is one finding`() throws {
        func with(_ change: (inout CallMeasurement) -> Void) throws -> [String] {
            var call = try well()
            change(&call)
            return findings(call)
        }
        #expect(try with { $0.delays = [] } == ["note call-chirp"])
        #expect(try with { $0.lost = 8 } == [])
        #expect(try with { $0.lost = 9 } == ["warning call-losses"])
        #expect(try with { $0.packets = 0 } == ["fault call-received"])
        #expect(try with { $0.blocksReceived = 0 } == ["fault call-received"])
        #expect(try with { $0.blocksSent = 0 } == ["fault call-received"])
        #expect(
            try with {
                $0.microphone = .init([0, 1, -2])
                $0.delays = []
            } == ["fault call-microphone"])
        #expect(
            try with {
                $0.isMuted = true
                $0.microphone = .init([])
            } == ["fault call-microphone"])
    }

    @Test func `A device that did not carry the call is a fault if it was named, otherwise a warning`() throws {
        var call = try well("earpiece", codec: nil)
        call.expected = try #require(DeviceChoice(Self.address))
        call.wanted = call.expected
        call.hasCarried = false
        call.why = "preferred: resting"
        #expect(findings(call) == ["fault call-device"])
        call.wasTried = true
        let verdict = CallVerdict(.measured(call))
        #expect(verdict.findings.map(\.check) == ["call-link"] && verdict.exitCode == 1)
        #expect(verdict.findings.first?.seen == "earpiece carried the call; preferred: resting")
        #expect(verdict.summary == "sound does not go both ways")
        call.wanted = .none
        #expect(findings(call) == ["warning call-link"])
        call.hasCarried = true
        #expect(findings(call) == ["warning call-device"])
        call.link = nil
        #expect(findings(call) == ["fault call-device"])
        #expect(CallVerdict(.measured(call)).lines(in: .plain).contains("Device  none"))
        // Any headset matches `bluetooth`.
        var any = try well()
        any.expected = .bluetooth
        #expect(any.isCarried)
    }

    @Test func `Without a call the reason is the finding, and the exit code is 1`() {
        for (outcome, check) in [
            (CallOutcome.noDaemon("gone"), "call-daemon"),
            (.busy(["active: 42, by phone", "held: 43, by phone"]), "call-busy"),
            (.unavailable(.bluetooth, "not there"), "call-device"), (.refused("no"), "call-refused"),
        ] {
            let verdict = CallVerdict(outcome)
            #expect(verdict.findings.map(\.check) == [check] && verdict.exitCode == 1)
            #expect(verdict.summary == "no call was made")
        }
    }

    @Test func `Findings about the machine are merged with the others, worst first`() throws {
        var call = try well()
        call.delays = []
        let other = DoctorFinding(
            check: "realtime-limit", severity: .warning, what: "slow", seen: "limits", remedy: "raise", command: nil)
        let verdict = CallVerdict(.measured(call), others: [other])
        #expect(verdict.findings.map(\.check) == ["realtime-limit", "call-chirp"] && verdict.isSound)
        let text = verdict.json.text()
        let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let mistakes = try JSONPage().mistakes(in: json, "CallVerdict", at: "doctor --call")
        #expect(mistakes.isEmpty, "\(mistakes)")
        #expect(text.contains("\"soundBothWays\":true") || text.contains("\"soundBothWays\": true"))
    }

    @Test func `The level is that of a sine, and two steps are silence`() throws {
        let samples = (0..<1600).map { Int16($0 % 2 == 0 ? 16384 : -16384) }
        let level = CallMeasurement.Microphone(samples)
        #expect(try #require(level.level).tenths == "-6.0" && #require(level.peak).tenths == "-6.0")
        #expect(CallMeasurement.Microphone([2, -2]).level == nil && CallMeasurement.Microphone([3]).level != nil)
        #expect(CallMeasurement.Microphone([Int16.min]).peak == 0)
    }

    @Test func `Noise in place of packets that came late is no sound of the microphone`() {
        var samples = [Int16](repeating: 0, count: 16_000)
        for index in 3_200..<4_800 { samples[index] = index % 2 == 0 ? 40 : -40 }
        #expect(CallMeasurement.Microphone(samples, concealedMs: 80).level == nil)
        // Less was made up than is heard, or something is louder than that noise.
        #expect(CallMeasurement.Microphone(samples, concealedMs: 30).level != nil)
        #expect(CallMeasurement.Microphone(samples).level != nil)
        samples[9_000] = 104
        #expect(CallMeasurement.Microphone(samples, concealedMs: 80).level != nil)
    }

    @Test @ControlPlane func `Without btcalld no call is made, and the output says what to do`() async throws {
        let bus = try PrivateBus()
        let capture = Capture()
        let command = try DoctorCommand.parse(["--call", "speakerphone", "--bus", bus.address])
        #expect(command.call?.fixed == .speakerphone)
        let code = await command.makeCall(on: DeviceArgument("speakerphone"), .address(bus.address), capture.sink)
        #expect(code == 1)
        #expect(
            capture.output.hasPrefix(
                "fault: btcalld does not run [call-daemon]\n  seen: btcalld is not"))
        #expect(capture.output.hasSuffix("\nno call was made\n"))
    }

    @Test func `The device is an argument of its own, and checks and reports exclude calls`() throws {
        #expect(try DoctorCommand.parse([]).call == nil)
        #expect(try DoctorCommand.parse(["--call"]).call?.fixed == DeviceChoice.none)
        #expect(try DoctorCommand.parse(["--call", "--json"]).call?.fixed == DeviceChoice.none)
        #expect(try DoctorCommand.parse(["--call", Self.address]).call?.fixed?.description == Self.address)
        for words in [["--call", "--report"], ["--call", "--all"], ["adapter-off", "--call"]] {
            #expect(throws: (any Error).self) { try DoctorCommand.parse(words) }
        }
    }
}
