import BluetoothTypes
import JSONText
import Routing

/// One event while a scenario runs.
public struct ScenarioTraceLine: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Hashable, Sendable {
        /// An input of the policy.
        case event
        /// A newly chosen device, with the reason.
        case decision
        /// An output of the policy.
        case effect
        /// The effect that reports an opened or closed path, with the reason.
        case route
    }

    /// Time on the scenario's clock.
    public let milliseconds: Int64
    public let kind: Kind
    public let text: String

    /// For example `1500 route earpiece: bridge`.
    public var description: String { "\(milliseconds) \(kind.rawValue) \(text)" }

    /// One JSON object, with the scenario's identifier.
    public func json(id: String) -> String {
        let line: JSON = [
            "id": .string(id), "kind": .string(kind.rawValue), "t": JSON(milliseconds), "text": .string(text),
        ]
        return line.text()
    }
}

extension EventRecord {
    /// For example `bt.connected addr=H1 profiles=hfp,a2dp`.
    var text: String {
        var text = word
        for argument in arguments {
            switch argument.value {
            case .text(let value): text += " \(argument.name)=\(value)"
            case .flag(let value): text += " \(argument.name)=\(value)"
            case .list(let value): text += " \(argument.name)=\(value.joined(separator: ","))"
            }
        }
        return text
    }
}

extension RoutingEffect {
    /// The effect in the words of docs/inside/Routing.md §3.
    var text: String {
        switch self {
        case .openPath(let route): "path.open \(route)"
        case .closePath(let route): "path.close \(route)"
        case .refreshPath(let route): "path.refresh \(route)"
        case .openLink(let address, let mode, let codecHint, let attempt):
            "link.open \(address) \(mode.rawValue) attempt=\(attempt)"
                + (codecHint.map { " codec=\($0)" } ?? "")
        case .closeLink(let address): "link.close \(address)"
        case .startRinging(let ringing): "ring.start local=\(ringing.local) headset=\(ringing.headset.rawValue)"
        case .stopRinging: "ring.stop"
        case .restoreMedia(let address): "media.restore \(address)"
        case .setDeadline(let instant): "timer \(instant.map { "\($0.nanoseconds / 1_000_000)" } ?? "none")"
        case .routeChanged(let old, let new, let reason):
            "notify routeChanged \(old?.description ?? "none") -> \(new?.description ?? "none") \(reason.rawValue)"
        case .devicesChanged: "notify devicesChanged"
        case .activationFailed(let address): "notify activationFailed \(address)"
        case .selectionRefused(let device, let error): "refuse \(device) \(error.rawValue)"
        }
    }
}
