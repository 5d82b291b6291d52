import BTCallSimulator
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import TestSupport
import Testing

@Suite @ControlPlane struct BoardBatteryTests {
    @Test func `Without UPower the charge is unknown, and nothing is logged or signalled`() async throws {
        let bus = try FakeBlueZBus()
        let connection = try BusConnection(bus.address)
        let log = LogLines()
        let battery = BoardBattery(bus: connection, source: .upower, logger: log.logger)
        var changes = 0
        battery.changes.subscribe { changes += 1 }
        _ = try await connection.owner(of: "org.freedesktop.DBus")
        battery.source = .none
        battery.source = .upower
        // The bus answers in order: earlier calls are answered by now.
        _ = try await connection.owner(of: "org.freedesktop.DBus")
        #expect(battery.percent == nil && changes == 0 && log.all.isEmpty)
        battery.stop()
        connection.close()
        bus.stop()
    }
}
