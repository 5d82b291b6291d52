import BTCall
import BTCallAPI
import BTCallSimulator
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Testing

@testable import BTCallCommand

/// `btcall headset` with bluetoothd and btcalld on one bus.
@Suite(.timeLimit(.minutes(1))) struct HeadsetVerbTests {
    private static let address = BluetoothAddress(value: 0x0000_5E00_5301)

    @ControlPlane private func start(_ bus: PrivateBus) async throws -> (FakeBlueZ, FakeDaemon) {
        let bluez = FakeBlueZ(on: .address(bus.address))
        try await bluez.start()
        bluez.addAdapter(address: BluetoothAddress(value: 0x00_1B_DC_07_00_01))
        bluez.addHeadset(Self.address, name: "Jabra")
        let daemon = try await FakeDaemon(bus.address)
        daemon.router.devices = [
            DeviceDescription(
                device: .headset(Self.address), name: "Jabra", isAvailable: false, unavailableBecause: "not connected")
        ]
        return (bluez, daemon)
    }

    @Test @ControlPlane func `connect asks bluetoothd for the headset that is meant`() async throws {
        let bus = try PrivateBus()
        let (bluez, daemon) = try await start(bus)
        defer {
            bluez.stop()
            daemon.close()
        }
        bluez.onProfileRequest = { _, _ in true }
        let run = try await CommandRun.btcall("headset", "connect", "jab", bus: bus)
        #expect(run.output == "connected: 00:00:5E:00:53:01 (Jabra)\n" && run.status == 0)
        #expect(bluez.connectRequests == [.handsFree])
        let json = try await CommandRun.btcall("headset", "connect", "bluetooth", "--json", bus: bus).object
        #expect(json["address"] as? String == "00:00:5E:00:53:01" && json["connected"] as? Bool == true)
        #expect(try JSONPage().mistakes(in: json, "Connection", at: "headset connect").isEmpty)
    }

    @Test @ControlPlane func `disconnect of one that is not connected is done`() async throws {
        let bus = try PrivateBus()
        let (bluez, daemon) = try await start(bus)
        defer {
            bluez.stop()
            daemon.close()
        }
        let run = try await CommandRun.btcall("headset", "disconnect", "Jabra", bus: bus)
        #expect(run.output == "disconnected: 00:00:5E:00:53:01 (Jabra)\n")
    }

    @Test @ControlPlane func `What bluetoothd refuses is told with what to do`() async throws {
        let bus = try PrivateBus()
        let (bluez, daemon) = try await start(bus)
        defer {
            bluez.stop()
            daemon.close()
        }
        bluez.onProfileRequest = { _, _ throws(BusError) in
            throw BusError(name: "org.bluez.Error.Failed", message: "br-connection-page-timeout")
        }
        let away = try await CommandRun.btcall("headset", "connect", "Jabra", bus: bus)
        #expect(away.status == 1)
        #expect(
            away.errors == "btcall: 00:00:5E:00:53:01: the device does not answer: switch it on or bring it nearer\n")
        let report = try await CommandRun.btcall("headset", "connect", "Jabra", "--json", bus: bus)
        #expect(report.errors.contains("\"name\":\"org.bluez.Error.Failed\""))
        let unknown = try await CommandRun.btcall("headset", "connect", "00:00:5E:00:53:99", bus: bus)
        #expect(
            unknown.errors == "btcall: 00:00:5E:00:53:99: bluetoothd does not know this headset: pair it with "
                + "`btcall headset pair`\n")
    }

    @Test @ControlPlane func `list has the headsets, show what is known of one`() async throws {
        let bus = try PrivateBus()
        let (bluez, daemon) = try await start(bus)
        defer {
            bluez.stop()
            daemon.close()
        }
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
        #expect(unknown.status == 1 && unknown.errors.contains("`btcall headset list` has those"))
        daemon.router.devices = []
        #expect(
            try await CommandRun.btcall("headset", "list", bus: bus).output
                == "no headset is paired: `btcall headset pair` pairs one\n")
    }
}
