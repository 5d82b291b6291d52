import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CallLogVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    @Test func `dnd switches do not disturb, and prints its state`() async throws {
        #expect(try await CommandRun.btcall("dnd", bus: bus).output == "incoming calls ring\n")
        #expect(try await CommandRun.btcall("dnd", "on", bus: bus).output == "incoming calls are refused\n")
        #expect(await daemon.isDoNotDisturb)
        #expect(try await CommandRun.btcall("dnd", "--json", bus: bus).object["doNotDisturb"] as? Bool == true)
        #expect(try await CommandRun.btcall("dnd", "off", "--json", bus: bus).object["doNotDisturb"] as? Bool == false)
        #expect(await !daemon.isDoNotDisturb)
    }

    @ControlPlane private func fill(_ calls: [CallLogDescription]) { daemon.log = calls }

    private static let answered = CallLogDescription(
        id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", direction: .outgoing, number: "5550100", name: "Alice",
        provider: "phone", began: 1_700_000_000_000, answered: 1_700_000_004_000, ended: 1_700_000_071_000,
        reason: "remoteHangUp", device: "bluetooth:AA:BB:CC:DD:EE:FF")
    private static let filtered = CallLogDescription(
        id: nil, direction: .incoming, number: nil, name: nil, provider: "phone", began: 1_700_000_100_000,
        answered: nil, ended: 1_700_000_100_000, reason: "filtered", device: nil)

    @Test func `log lists ended calls, latest first`() async throws {
        #expect(try await CommandRun.btcall("log", bus: bus).output == "no calls\n")
        await fill([Self.filtered, Self.answered])
        let lines = try await CommandRun.btcall("log", bus: bus).output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines[1].split(separator: " ").dropFirst() == [
                "missed", "unknown", "number", "-", "filtered", "-", "phone",
            ])
        #expect(lines[2].hasPrefix("2023-11-14T22:13:20.000Z"))
        #expect(lines[2].contains("Alice (5550100)") && lines[2].contains("1:07"))
        #expect(try await CommandRun.btcall("log", "--max", "1", bus: bus).output.split(separator: "\n").count == 2)
        let missed = try await CommandRun.btcall("log", "--missed", "--max", "5", bus: bus).output
        #expect(missed.contains("filtered") && !missed.contains("Alice"))
        #expect(throws: (any Error).self) { try CommandRun.parse(["log", "--max", "0"]) }
    }

    @Test func `log --json has every key of a call, null for unknown values`() async throws {
        await fill([Self.filtered, Self.answered])
        let calls = try await CommandRun.btcall("log", "--json", bus: bus).array
        #expect(calls.count == 2)
        let keys: Set = [
            "call", "direction", "number", "name", "provider", "beganAt", "startedAt", "endedAt",
            "durationMilliseconds",
            "reason", "missed", "device",
        ]
        for call in calls { #expect(Set(call.keys) == keys) }
        #expect(calls.first?["missed"] as? Bool == true && calls.first?["number"] is NSNull)
        #expect(calls.last?["durationMilliseconds"] as? Int == 67000)
        #expect(calls.last?["startedAt"] as? String == "2023-11-14T22:13:24.000Z")
    }
}
