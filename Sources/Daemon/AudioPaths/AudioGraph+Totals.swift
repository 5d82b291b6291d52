package import AudioDSP
import AudioEngine
import BluetoothTypes
import Diagnostics
import Routing

// What all devices have counted, those that are gone, too.
extension AudioGraph {
    /// By the kind of device (`AudioKind`), since the graph began.
    package func totals() -> [String: LinkQuality] {
        var totals = retired
        for terminal in terminals where terminal.phase != .removing {
            guard let counters = engine.counters(ofTerminal: terminal.identifier) else { continue }
            totals[Self.kind(of: terminal), default: LinkQuality()] += counters.quality
        }
        return totals
    }

    /// A terminal is about to go: what it has counted stays. What it still counts is lost.
    package func retire(_ terminal: Terminal) {
        guard terminal.phase != .removing, let counters = engine.counters(ofTerminal: terminal.identifier) else {
            return
        }
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
