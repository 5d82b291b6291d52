import BluetoothTypes
import DBus

extension ObjectMirror {
    /// A signal about the tree with other arguments than BlueZ documents.
    struct MalformedSignal: Error, CustomStringConvertible {
        let signal: BusSignal

        var description: String {
            "\(signal.interface).\(signal.member) of \(signal.path): \(signal.arguments.map(\.typeSignature))"
        }
    }

    /// Translates a signal of bluetoothd into a change of the tree; nil for other signals.
    static func change(of signal: BusSignal) throws(MalformedSignal) -> Change? {
        let arguments = signal.arguments
        switch (signal.interface, signal.member, arguments.count) {
        case (BlueZNames.objectManager, "InterfacesAdded", 2...):
            if let path = arguments[0].objectPathValue { return .added(path: path, interfaces: arguments[1]) }
        case (BlueZNames.objectManager, "InterfacesRemoved", 2...):
            if let path = arguments[0].objectPathValue, let interfaces = arguments[1].stringsValue {
                return .removed(path: path, interfaces: interfaces)
            }
        case (BlueZNames.properties, "PropertiesChanged", 3...):
            if let interface = arguments[0].stringValue, let invalidated = arguments[2].stringsValue {
                return .changed(
                    path: signal.path, interface: interface, properties: arguments[1], invalidated: invalidated)
            }
        case (BlueZNames.device, "Disconnected", 1...), (BlueZNames.bearer, "Disconnected", 1...):
            if let name = arguments[0].stringValue {
                return .disconnected(path: signal.path, reason: DisconnectionReason(busName: name))
            }
        default: return nil
        }
        throw MalformedSignal(signal: signal)
    }
}
