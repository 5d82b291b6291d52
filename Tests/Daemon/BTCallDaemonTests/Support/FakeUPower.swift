import ControlLoop
import DBus

/// UPower with its display device, on a private bus.
@ControlPlane
final class FakeUPower {
    private static let path = "/org/freedesktop/UPower/devices/DisplayDevice"
    private static let interface = "org.freedesktop.UPower.Device"

    private let bus: BusConnection
    private var properties: [String: Value]

    init(_ address: BusAddress, percentage: Double, isPresent: Bool = true) async throws {
        bus = try BusConnection(address)
        properties = ["IsPresent": .bool(isPresent), "Percentage": .double(percentage), "Type": .uint32(2)]
        bus.export(
            [
                ExportedInterface(
                    Self.interface,
                    properties: ["IsPresent": "b", "Percentage": "d", "Type": "u"].map { name, type in
                        .init(name, type, get: { [weak self] in self?.properties[name] ?? "" })
                    })
            ], at: Self.path)
        try await bus.requestName("org.freedesktop.UPower")
    }

    func set(_ name: String, _ value: Value) {
        properties[name] = value
        bus.propertiesChanged(path: Self.path, interface: Self.interface, [name])
    }

    /// Sends properties that the real UPower never sends.
    func lie(_ changed: [String: Value]) {
        bus.emit(
            path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
            [.string(Self.interface), .vardict(changed), .strings([])])
    }

    /// A test that threw may not have closed it.
    isolated deinit { close() }

    func close() { bus.close() }
}
