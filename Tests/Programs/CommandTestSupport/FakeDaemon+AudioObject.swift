package import BTCallAPI
package import BluetoothTypes
import ControlLoop
import DBus

extension FakeDaemon {
    /// `Audio1` with ``audioProperties``, all of which a client may set.
    func audioInterface() -> ExportedInterface {
        let names = audioProperties.keys.sorted()
        return ExportedInterface(
            BTCallName.Interface.audio,
            properties: names.map { name in
                property(
                    name, Self.signature(of: audioProperties[name]), get: { $0.audioProperties[name] ?? "" },
                    set: { daemon, value in daemon.audioProperties[name] = value })
            })
    }

    /// `Pairing1` that finds nothing.
    func pairingInterface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.pairing,
            methods: [
                method("Scan", in: [("seconds", "u")]) { _, _ in },
                method("Trust", in: [("address", "s"), ("trusted", "b")]) { _, _ in },
                method("Forget", in: [("address", "s")]) { _, _ in },
            ], properties: [.init("State", "s", get: { "idle" })])
    }

    /// Adds a paired headset, which cannot be connected if there is a refusal.
    package func addHeadset(_ address: BluetoothAddress, refusing refusal: APIError? = nil) {
        let interface = ExportedInterface(
            BTCallName.Interface.headset,
            methods: [
                method(BTCallName.Headset.connect) { _, _ throws(BusError) in
                    if let refusal { throw refusal.busError }
                },
                method(BTCallName.Headset.disconnect) { _, _ in },
            ])
        bus.export([interface], at: BTCallPath.headset(address))
    }

    private static func signature(of value: Value?) -> String {
        switch value {
        case .bool?: "b"
        case .double?: "d"
        default: "s"
        }
    }
}
