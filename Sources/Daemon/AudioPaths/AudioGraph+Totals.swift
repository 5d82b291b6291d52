package import AudioDSP
import AudioEngine
import BluetoothTypes
import Diagnostics
import Routing

// Totals of all devices' counters, including devices that are gone.
extension AudioGraph {
    /// Totals since the graph's start, by kind of device (`AudioKind`).
    package func totals() -> [String: LinkQuality] {
        var totals = retired
        for terminal in terminals where terminal.phase != .removing && !terminal.isStandby {
            guard let counters = engine.counters(ofTerminal: terminal.identifier) else { continue }
            totals[Self.kind(of: terminal), default: LinkQuality()] += counters.quality
        }
        return totals
    }

    /// Adds a terminal's counters to the totals before it is removed. Anything counted later is lost.
    package func retire(_ terminal: Terminal) {
        guard terminal.phase != .removing, !terminal.isStandby,
            let counters = engine.counters(ofTerminal: terminal.identifier)
        else { return }
        retired[Self.kind(of: terminal), default: LinkQuality()] += counters.quality
    }

    private static func kind(of terminal: Terminal) -> String {
        switch terminal.endpoint {
        case .local(let kind): kind.rawValue
        case .headset: terminal.stream == nil ? AudioKind.headset : AudioKind.a2dp
        case .output: AudioKind.other
        }
    }
}
