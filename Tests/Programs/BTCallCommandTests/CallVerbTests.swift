import BTCallAPI
import CommandTestSupport
import ControlLoop
import Testing

@testable import BTCallCommand

/// Verbs that send requests to a call's application.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct CallVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    private static let active = CallDescription(
        id: "7ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .active, direction: .outgoing, name: "Alice",
        provider: "phone", index: 2, startedAt: 1_700_000_000_123)
    private static let ringing = CallDescription(
        id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .waiting, direction: .incoming, number: "5550100",
        provider: "phone", index: 1)

    @Test func `dial asks the named application to call a number, and reports failures`() async throws {
        let run = try await CommandRun.btcall("dial", "+49 30 1", bus: bus)
        #expect(run.output == "dialled: +49 30 1\n" && run.status == 0)
        let json = try await CommandRun.btcall("dial", "110", "--provider", "phone", "--json", bus: bus).object
        #expect(json["call"] as? String == daemon.calls[1].id && json["number"] as? String == "110")
        let refused = try await CommandRun.btcall("dial", "1", "--provider", "door", bus: bus)
        #expect(refused.status == 1)
        #expect(
            refused.errors == """
                btcall: no registered provider can dial: start the telephony application; try `btcall test-call --dialled`

                """)
        #expect(daemon.requests == ["Place +49 30 1 by phone", "Place 110 by phone", "Place 1 by door"])
    }

    @Test func `hold acts on the active call, resume on the held one`() async throws {
        #expect(try await CommandRun.btcall("hold", bus: bus).errors == "btcall: no call is active\n")
        daemon.addCall(Self.active)
        daemon.addCall(Self.ringing)
        #expect(try await CommandRun.btcall("resume", bus: bus).errors == "btcall: no call is held\n")
        #expect(try await CommandRun.btcall("hold", bus: bus).output == "held: Alice\n")
        #expect(daemon.calls[0].state == .held)
        let resumed = try await CommandRun.btcall("resume", "--json", bus: bus)
        #expect(resumed.object["call"] as? String == Self.active.id && daemon.calls[0].state == .active)
        let held = try await CommandRun.btcall("hold", "7ba7", "--json", bus: bus)
        #expect(held.object["call"] as? String == Self.active.id)
        #expect(try await CommandRun.btcall("resume", "2", bus: bus).output == "resumed: Alice\n")
    }

    @Test func `dtmf sends tones in the active call`() async throws {
        let none = try await CommandRun.btcall("dtmf", "1", bus: bus)
        #expect(none.errors == "btcall: no call is active\n" && none.status == 1)
        daemon.addCall(Self.active)
        daemon.addCall(Self.ringing)
        #expect(try await CommandRun.btcall("dtmf", "12#A", bus: bus).output == "sent 12#A to Alice\n")
        let json = try await CommandRun.btcall("dtmf", "*", "2", "--json", bus: bus).object
        #expect(json["tones"] as? String == "*" && json["call"] as? String == Self.active.id)
        #expect(daemon.requests == ["SendDTMF 12#A", "SendDTMF *"])
    }
}
