package import AudioPaths
import BluetoothTypes
package import ControlLoop
package import HeadsetControl
import Talk

/// The talk keys of headsets, which report them on the AT connection or by the voice link; keeps `Headset1.Talk`.
@ControlPlane
package final class HeadsetTalkKeys {
    private let headsets: HeadsetDirectory
    private let graph: AudioGraph
    private let keys: TalkKeys
    /// Headsets that have opened their link to talk while calls were routed elsewhere: until they are routed to it, the far
    /// end would hear another microphone.
    private var awaited: Set<BluetoothAddress> = []

    package init(headsets: HeadsetDirectory, graph: AudioGraph, keys: TalkKeys) {
        self.headsets = headsets
        self.graph = graph
        self.keys = keys
        headsets.changes.subscribe(self) { talk, change in
            switch change {
            case .talkKey(let address, let signal): talk.handle(signal, of: address)
            case .vanished(let address):
                talk.awaited.remove(address)
                talk.keys.remove(TalkKeyID(.headset, address))
            default: break
            }
        }
        graph.events.subscribe(self) { talk, event in
            guard case .routed(.headset(let address)?, _) = event, talk.awaited.remove(address) != nil else { return }
            talk.keys.signal(.pressed, from: TalkKeyID(.headset, address))
        }
        keys.changes.subscribe(self) { $0.show($1) }
    }

    private func handle(_ signal: TalkSignal, of address: BluetoothAddress) {
        let key = TalkKeyID(.headset, address)
        keys.add(key)
        if headsets.talksByLink(address) {
            switch signal {
            case .pressed where isRoutedElsewhere(address):
                awaited.insert(address)
                return
            case .pressed, .tapped: break
            case .released: if awaited.remove(address) != nil { return }
            }
        }
        keys.signal(signal, from: key)
    }

    private func isRoutedElsewhere(_ address: BluetoothAddress) -> Bool {
        graph.routedTerminal.map { $0 != graph.identifier(ofLink: address) } ?? false
    }

    private func show(_ key: TalkKeyID) {
        guard key.kind == .headset || key.kind == .button, let address = BluetoothAddress(key.name) else { return }
        headsets.showTalk(keys.isPressed(key), of: address)
    }
}
