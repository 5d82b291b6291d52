import BluetoothTypes
import DBus

/// The part of BlueZ's object tree that we use: known properties, each of the type that BlueZ documents.
///
/// A value: signals go in, and unusable parts come out as lines for the log.
struct ObjectMirror {
    /// One change of the tree, as a signal reports it.
    enum Change {
        case added(path: String, interfaces: Value)
        case removed(path: String, interfaces: [String])
        case changed(path: String, interface: String, properties: Value, invalidated: [String])
        case disconnected(path: String, reason: DisconnectionReason)
    }

    /// Signatures of the properties that are read from each interface; no others are kept.
    typealias Kinds = [String: [String: String]]

    /// Adapters and devices.
    static let devices: Kinds = [
        BlueZNames.adapter: [
            "Address": "s", "Name": "s", "Alias": "s", "Class": "u", "Powered": "b", "Discoverable": "b",
            "Pairable": "b", "Discovering": "b", "UUIDs": "as", "Modalias": "s",
        ],
        BlueZNames.device: [
            "Address": "s", "Adapter": "o", "Name": "s", "Alias": "s", "Class": "u", "Icon": "s", "Paired": "b",
            "Trusted": "b", "Blocked": "b", "Connected": "b", "ServicesResolved": "b", "UUIDs": "as", "Modalias": "s",
            "RSSI": "n",
        ],
        BlueZNames.battery: ["Percentage": "y"],
    ]

    /// Adapters that offer A2DP registration, endpoints of headsets, and their streams.
    static let media: Kinds = [
        BlueZNames.adapter: [:],
        BlueZNames.media: [:],
        BlueZNames.mediaEndpoint: ["UUID": "s", "Codec": "y", "Capabilities": "ay", "Device": "o"],
        BlueZNames.mediaTransport: [
            "Device": "o", "UUID": "s", "Codec": "y", "Configuration": "ay", "State": "s", "Delay": "q", "Volume": "q",
        ],
    ]

    /// Services of Bluetooth Low Energy devices, and their characteristics.
    static let attributes: Kinds = [
        BlueZNames.gattService: ["UUID": "s"],
        BlueZNames.gattCharacteristic: ["UUID": "s", "Service": "o", "Flags": "as"],
    ]

    private let known: Kinds

    init(_ kinds: Kinds = devices) {
        known = kinds
    }

    /// Object path, then interface, then property.
    private(set) var objects: [String: [String: [String: Value]]] = [:]

    /// Replaces everything with the answer of `GetManagedObjects`.
    ///
    /// - Returns: a line for each part that was ignored, sorted.
    mutating func replace(with managed: Value) -> [String] {
        objects = [:]
        guard let entries = managed.entries else {
            return ["GetManagedObjects: no dictionary but \(managed.typeSignature)"]
        }
        var problems: [String] = []
        for entry in entries {
            guard let path = entry.key.stringValue else { continue }
            problems += add(path, entry.value)
        }
        return problems.sorted()
    }

    /// Applies one change.
    ///
    /// - Returns: whether anything that we keep has changed, and a line for each part that was ignored, sorted.
    mutating func apply(_ change: Change) -> (isDifferent: Bool, problems: [String]) {
        switch change {
        case .added(let path, let interfaces):
            let before = objects[path]
            let problems = add(path, interfaces)
            return (objects[path] != before, problems.sorted())
        case .removed(let path, let interfaces):
            let before = objects[path]
            for interface in interfaces { objects[path]?[interface] = nil }
            if objects[path]?.isEmpty == true { objects[path] = nil }
            return (objects[path] != before, [])
        case .changed(let path, let interface, let properties, let invalidated):
            guard known[interface] != nil, let before = objects[path]?[interface] else { return (false, []) }
            var after = before
            let problems = merge(properties, into: &after, path, interface)
            for name in invalidated { after[name] = nil }
            objects[path]?[interface] = after
            return (after != before, problems.sorted())
        case .disconnected:
            return (false, [])
        }
    }

    private mutating func add(_ path: String, _ interfaces: Value) -> [String] {
        guard let entries = interfaces.entries else {
            return ["\(path): no interfaces but \(interfaces.typeSignature)"]
        }
        var problems: [String] = []
        for entry in entries {
            guard let interface = entry.key.stringValue, known[interface] != nil else { continue }
            // The interface is new: values of an earlier object at this path do not count.
            var properties: [String: Value] = [:]
            problems += merge(entry.value, into: &properties, path, interface)
            objects[path, default: [:]][interface] = properties
        }
        return problems
    }

    /// A property of the wrong type is ignored; its earlier value stays.
    private func merge(
        _ changed: Value, into properties: inout [String: Value], _ path: String, _ interface: String
    ) -> [String] {
        guard let entries = changed.entries, let signatures = known[interface] else {
            return ["\(interface) of \(path): no properties but \(changed.typeSignature)"]
        }
        var problems: [String] = []
        for entry in entries {
            guard let name = entry.key.stringValue, let expected = signatures[name] else { continue }
            let value = entry.value.unwrapped
            if value.typeSignature == expected {
                properties[name] = value
            } else {
                problems.append("\(interface).\(name) of \(path): type \(value.typeSignature), expected \(expected)")
            }
        }
        return problems
    }
}
