import BTCall
import BTCallAPI
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Testing

@testable import BTCallCommand

/// `btcall headset` with a btcalld that knows one headset.
@Suite(.timeLimit(.minutes(1))) struct HeadsetVerbTests {
    private static let address = BluetoothAddress(value: 0x0000_5E00_5301)

    @ControlPlane private func start(_ bus: PrivateBus) async throws -> FakeDaemon {
        let daemon = try await FakeDaemon(bus.address)
        daemon.router.devices = [
            DeviceDescription(
                device: .headset(Self.address), name: "Jabra", isAvailable: false, unavailableBecause: "not connected")
        ]
        return daemon
    }

    @Test @ControlPlane func `connect and disconnect ask btcalld for the named headset`() async throws {
        let bus = try PrivateBus()
        let daemon = try await start(bus)
        defer { daemon.close() }
        daemon.addHeadset(Self.address)
        let run = try await CommandRun.btcall("headset", "connect", "jab", bus: bus)
        #expect(run.output == "connected: 00:00:5E:00:53:01 (Jabra)\n" && run.status == 0)
        #expect(daemon.requests == ["Connect"])
        let json = try await CommandRun.btcall("headset", "connect", "bluetooth", "--json", bus: bus).object
        #expect(json["address"] as? String == "00:00:5E:00:53:01" && json["connected"] as? Bool == true)
        #expect(try JSONPage().mistakes(in: json, "Connection", at: "headset connect").isEmpty)
        let away = try await CommandRun.btcall("headset", "disconnect", "Jabra", bus: bus)
        #expect(away.output == "disconnected: 00:00:5E:00:53:01 (Jabra)\n")
        #expect(daemon.requests.last == "Disconnect")
    }

    @Test @ControlPlane func `A refusal is printed with what to do`() async throws {
        let bus = try PrivateBus()
        let daemon = try await start(bus)
        defer { daemon.close() }
        let text = "00:00:5E:00:53:01 is not connected: the device does not answer: switch it on or bring it nearer"
        daemon.addHeadset(Self.address, refusing: APIError(.unavailable, text))
        let away = try await CommandRun.btcall("headset", "connect", "Jabra", bus: bus)
        #expect(away.status == 1 && away.errors == "btcall: \(text)\n")
        let report = try await CommandRun.btcall("headset", "connect", "Jabra", "--json", bus: bus)
        #expect(report.errors.contains("\"name\":\"org.btcall.Error.Unavailable\""))
        let unknown = try await CommandRun.btcall("headset", "connect", "00:00:5E:00:53:99", bus: bus)
        #expect(
            unknown.errors == "btcall: 00:00:5E:00:53:99 is not paired: `btcall headset pair` pairs it\n")
    }

    @Test @ControlPlane func `list prints the headsets, show the details of one`() async throws {
        let bus = try PrivateBus()
        let daemon = try await start(bus)
        defer { daemon.close() }
        #expect(
            try await CommandRun.btcall("headset", bus: bus).output == """
                HEADSET            NAME   USABLE             BATTERY  CODECS
                00:00:5E:00:53:01  Jabra  no: not connected  -        -

                """)
        #expect(
            try await CommandRun.btcall("headset", "show", "JABRA", bus: bus).output == """
                Headset  00:00:5E:00:53:01
                Name     Jabra
                Usable   no: not connected

                """)
        let unknown = try await CommandRun.btcall("headset", "show", "00:00:5E:00:53:99", bus: bus)
        #expect(unknown.status == 1 && unknown.errors.contains("is not known to btcalld: see `btcall headset list`"))
        daemon.router.devices = []
        #expect(
            try await CommandRun.btcall("headset", "list", bus: bus).output
                == "no headset is paired: `btcall headset pair` pairs one\n")
    }
}
