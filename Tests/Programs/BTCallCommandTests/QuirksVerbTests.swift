import BTCall
import BTCallAPI
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct QuirksVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    @ControlPlane private func prepare(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }

    private static let slow = QuirkDescription(
        name: "slow", origin: .shipped, line: 7, conditions: ["address = 00:14:09", "name = Car*"],
        effects: ["setUpSeconds = 30"], reference: "a #1", reason: "takes long")
    private static let advised = QuirkDescription(
        name: "sniff", origin: .admin, line: 9, state: .expired, expires: "2026-01-01", conditions: ["name = Pods"],
        effects: [], advice: "look", reference: "b", reason: "breaks up")

    @Test func `quirks lists the files and the rows`() async throws {
        await prepare {
            $0.quirks = QuirksDescription(
                files: [
                    .init(path: "/usr/q.conf", origin: .shipped, version: "3", rows: 1),
                    .init(path: "/etc/q.conf", origin: .admin, rows: 2),
                ], rows: [Self.slow, Self.advised], unknown: ["gone"])
        }
        let run = try await CommandRun.btcall("quirks", bus: bus)
        #expect(
            run.output == """
                /usr/q.conf: version 3, 1 rows (shipped)
                /etc/q.conf: 2 rows (admin)
                gone is switched off, but there is no such row

                ROW    STATE    MEANS                            EFFECT
                slow   shipped  address = 00:14:09; name = Car*  setUpSeconds = 30
                sniff  expired  name = Pods                      advice

                """)
        let object = try await CommandRun.btcall("quirks", "--json", bus: bus).object
        #expect(Set(object.keys) == ["files", "rows", "unknown"])
        let rows = try #require(object["rows"] as? [[String: Any]])
        #expect(
            Set(rows[0].keys) == [
                "name", "origin", "line", "state", "expires", "conditions", "effects", "advice", "reference", "reason",
                "because", "obstacles",
            ])
        #expect(rows[0]["advice"] is NSNull && rows[1]["expires"] as? String == "2026-01-01")
    }

    @Test func `without a database quirks says where it is searched`() async throws {
        let run = try await CommandRun.btcall("quirks", "list", bus: bus)
        #expect(run.status == 0 && run.output.hasPrefix("no quirks database: `btcall config quirks.database`"))
    }

    @Test func `quirks explain lists rows that apply, rows that nearly do, and the result`() async throws {
        await prepare {
            var explanation = QuirksExplanationDescription(address: BluetoothAddress(value: 0x0014_0911_2233))
            explanation.name = "Car"
            explanation.isKnown = true
            explanation.controller = "hci0"
            explanation.driver = "btusb"
            explanation.alternateSetting = 1
            var row = Self.slow
            row.because = ["the address begins with 00:14:09"]
            var other = Self.advised
            other.obstacles = ["it has expired on 2026-01-01"]
            explanation.applied = [row]
            explanation.near = [other]
            explanation.outcomes = [.init(key: "setUpSeconds", value: "30", summary: "time", sources: ["slow"])]
            $0.quirksExplanation = explanation
        }
        let run = try await CommandRun.btcall("quirks", "explain", "bluetooth:00:14:09:11:22:33", bus: bus)
        #expect(
            run.output == """
                00:14:09:11:22:33, not connected
                Name        Car
                Id          not known
                Controller  hci0, btusb, mSBC by alternate setting 1

                these rows apply; a later one overrides an earlier one:
                  slow (shipped, line 7): the address begins with 00:14:09
                      setUpSeconds = 30
                      why: takes long; known from a #1

                these match this headset, but do not apply:
                  sniff (admin, line 9): it has expired on 2026-01-01
                      advice: look
                      why: breaks up; known from b

                so:
                  setUpSeconds = 30 (slow)
                      time

                """)
        #expect(await daemon.requests == ["ExplainQuirks 00:14:09:11:22:33"])
        let object = try await CommandRun.btcall("quirks", "explain", "00:14:09:11:22:33", "--json", bus: bus).object
        #expect(object["known"] as? Bool == true && object["modalias"] is NSNull && object["manufacturer"] is NSNull)
        #expect((object["outcomes"] as? [[String: Any]])?.first?["sources"] as? [String] == ["slow"])
    }

    @Test func `an unknown headset has no special treatment`() async throws {
        await prepare { $0.quirksExplanation = QuirksExplanationDescription(address: BluetoothAddress(value: 1)) }
        let run = try await CommandRun.btcall("quirks", "explain", "00:00:00:00:00:01", bus: bus)
        #expect(run.output.contains("not known to bluetoothd: only rows by address or by controller can apply"))
        #expect(run.output.hasSuffix("no row applies\n\nthis headset has no special treatment\n"))
    }

    @Test func `a text that is neither an address nor a name is refused, and a refusal is printed`() async throws {
        let run = try await CommandRun.btcall("quirks", "explain", "sofa", bus: bus)
        #expect(run.status == 1 && run.errors == "btcall: there is no headset sofa: no headset is known\n")
        let refused = try await CommandRun.btcall("quirks", "explain", "00:00:00:00:00:01", bus: bus)
        #expect(refused.status == 1 && refused.errors == "btcall: \"00:00:00:00:00:01\" is no Bluetooth address\n")
    }
}
