import BTCall
import BlueZ
import CommandKit
import ControlLoop
import DBus

/// Has bluetoothd connect a headset and disconnect it, as `bluetoothctl` does: btcalld follows what it sees.
enum HeadsetLink {
    private static let service = "org.bluez"
    private static let device = "org.bluez.Device1"

    /// - Parameter address: `AA:BB:CC:DD:EE:FF`.
    /// - Throws: ``CommandFailure`` with what bluetoothd says, unless the headset is as it should be already.
    @ControlPlane
    static func set(_ address: String, connected: Bool, on bus: BridgeBus) async throws {
        let text = bus.description
        do throws(BusError) {
            let connection = try BusConnection(BusAddress(text) ?? .address(text))
            defer { connection.close() }
            guard let path = try await path(of: address, on: connection) else {
                throw BusError(name: "org.bluez.Error.DoesNotExist", message: "")
            }
            // bluetoothd gives up after 5 s of paging, and a profile after 20 s.
            _ = try await connection.call(
                service, path, device, connected ? "Connect" : "Disconnect", timeout: .seconds(40))
        } catch {
            let problem = DeviceCallError(error)
            if problem == .alreadyDone { return }
            let isUnknown = problem == .unknownDevice
            let remedy = "bluetoothd does not know this headset: pair it with `btcall headset pair`"
            throw CommandFailure(.failed, name: error.name, "\(address): \(isUnknown ? remedy : "\(problem)")")
        }
    }

    /// Where bluetoothd has the device: of several adapters the one that it is paired with.
    @ControlPlane
    private static func path(of address: String, on connection: BusConnection) async throws(BusError) -> String? {
        let answer = try await connection.call(
            service, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", timeout: .seconds(10))
        let found = (answer.first?.entries ?? []).filter { $0.value[device]?["Address"]?.stringValue == address }
        let best = found.first { $0.value[device]?["Paired"]?.boolValue == true } ?? found.first
        return best?.key.stringValue
    }
}
