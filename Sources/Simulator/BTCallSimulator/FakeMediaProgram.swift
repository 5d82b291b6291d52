package import ControlLoop
package import DBus

/// Another program that streams music to headsets, like BlueALSA: has its own endpoint at the fake bluetoothd.
@ControlPlane
package final class FakeMediaProgram {
    package let bus: BusConnection
    private let path = "/foreign/sbc"
    /// Object paths of the streams set up with it.
    package private(set) var transports: [String] = []

    /// - Parameter name: its well-known bus name; nil for none.
    package init(on address: BusAddress, name: String? = "org.bluealsa") async throws(BusError) {
        bus = try BusConnection(address)
        if let name { try await bus.requestName(name) }
        bus.export([endpoint()], at: path)
    }

    package func register(adapter: String = "/org/bluez/hci0") async throws(BusError) {
        _ = try await bus.call(
            FakeBlueZNames.service, adapter, FakeBlueZNames.media, "RegisterEndpoint",
            [
                .objectPath(path),
                .vardict([
                    "UUID": "0000110A-0000-1000-8000-00805F9B34FB", "Codec": .byte(0),
                    "Capabilities": .bytes([0xFF, 0xFF, 2, 53]),
                ]),
            ])
    }

    /// Starts streaming.
    package func acquire(_ transport: String) async throws(BusError) {
        _ = try await bus.call(FakeBlueZNames.service, transport, FakeBlueZNames.mediaTransport, "Acquire")
    }

    /// Stops streaming.
    package func release(_ transport: String) async throws(BusError) {
        _ = try await bus.call(FakeBlueZNames.service, transport, FakeBlueZNames.mediaTransport, "Release")
    }

    /// Leaves the bus, which removes its registrations.
    package func leave() { bus.close() }

    private func endpoint() -> ExportedInterface {
        ExportedInterface(
            FakeBlueZNames.mediaEndpoint,
            methods: [
                .init("SelectConfiguration", in: [("capabilities", "ay")], out: [("configuration", "ay")]) {
                    _ throws(BusError) in
                    // 48 kHz, joint stereo, 16 blocks, 8 subbands, loudness.
                    [.bytes([0x11, 0x15, 2, 53])]
                },
                .init("SetConfiguration", in: [("transport", "o"), ("properties", "a{sv}")]) {
                    [weak self] call throws(BusError) in
                    if let path = call.arguments.first?.objectPathValue { self?.transports.append(path) }
                    return []
                },
                .init("ClearConfiguration", in: [("transport", "o")]) { [weak self] call throws(BusError) in
                    self?.transports.removeAll { $0 == call.arguments.first?.objectPathValue }
                    return []
                },
                .init("Release") { _ throws(BusError) in [] },
            ])
    }
}
