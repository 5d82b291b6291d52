import BluetoothTypes
package import ControlLoop
package import HeadsetControl
import Talk

/// The talk keys of headsets that tell them on their AT connection or by their voice link, and what `Headset1.Talk` shows.
@ControlPlane
package final class HeadsetTalkKeys {
    private let headsets: HeadsetDirectory
    private let keys: TalkKeys

    package init(headsets: HeadsetDirectory, keys: TalkKeys) {
        self.headsets = headsets
        self.keys = keys
        headsets.changes.subscribe(self) { talk, change in
            switch change {
            case .talkKey(let address, let signal):
                let key = TalkKeyID(.headset, address)
                talk.keys.add(key)
                talk.keys.signal(signal, from: key)
            case .vanished(let address): talk.keys.remove(TalkKeyID(.headset, address))
            default: break
            }
        }
        keys.changes.subscribe(self) { $0.show($1) }
    }

    private func show(_ key: TalkKeyID) {
        guard key.kind == .headset || key.kind == .button, let address = BluetoothAddress(key.name) else { return }
        headsets.showTalk(keys.isPressed(key), of: address)
    }
}
