import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Logging
import TestSupport
import Testing

/// A bus of the test's own with a fake BlueZ, and our connection to it.
@ControlPlane
final class BlueZFixture {
    static let first = BluetoothAddress(value: 0x001B_DC08_0011)
    static let second = BluetoothAddress(value: 0x001B_DC08_0012)
    static let adapter = BluetoothAddress(value: 0x001B_DC07_0001)

    let privateBus: FakeBlueZBus
    let fake: FakeBlueZ
    let bus: BusConnection
    let log = LogLines(from: .debug)

    /// - Parameter running: starts with bluetoothd on the bus, one adapter and two headsets; otherwise with nothing.
    init(running: Bool = true) async throws {
        privateBus = try FakeBlueZBus()
        fake = FakeBlueZ(on: privateBus.address)
        bus = try BusConnection(privateBus.address)
        guard running else { return }
        fake.addAdapter(address: Self.adapter)
        fake.addHeadset(Self.second, name: "Second")
        fake.addHeadset(Self.first, name: "First")
        try await fake.start()
    }

    /// Ends everything; a test's last call.
    func stop() {
        fake.stop()
        bus.close()
        privateBus.stop()
    }
}
