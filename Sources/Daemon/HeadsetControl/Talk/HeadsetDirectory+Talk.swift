import BTCallAPI
package import BluetoothTypes
package import Configuration
import ControlLoop
import Talk

// The talk keys of headsets, as `Headset1` shows them.
extension HeadsetDirectory {
    /// - Parameter isPressed: nil: the headset shows no key any more.
    package func showTalk(_ isPressed: Bool?, of address: BluetoothAddress) {
        guard talk.isPressed[address] != isPressed else { return }
        talk.isPressed[address] = isPressed
        changes.send(.changed(address))
    }

    func talkWord(of address: BluetoothAddress) -> String? {
        talk.isPressed[address].map { $0 ? HeadsetDescription.pressed : HeadsetDescription.released }
    }

    func talkDelay(of address: BluetoothAddress) -> Int? {
        talk.delays[address].map { Int(clamping: $0.milliseconds) }
    }

    /// Whether the headset opens its voice link to talk, and closes it to listen.
    package func talksByLink(_ address: BluetoothAddress) -> Bool {
        sessions[address]?.talkRow?.protocol == .link
    }

    /// Sets whether such a headset has its link open only while it talks.
    ///
    /// - Parameter tail: how long the far end hears the rest of its last word; nil: its link is one like any other.
    package func setTalkTail(_ tail: Duration?, of address: BluetoothAddress) { sessions[address]?.talkTail = tail }

    /// Whether such a headset has its link open, or the last word has not ended.
    package func isTalkLinkOpen(_ address: BluetoothAddress) -> Bool { sessions[address]?.isTalkLinkOpen == true }

    /// When the link of the headset is open for push to talk, by its row; nil without one.
    package func talkLink(_ address: BluetoothAddress) -> TalkConfiguration.Link? {
        guard let row = sessions[address]?.talkRow, row.protocol != .link else { return nil }
        return row.keepsLink ? .keep : .press
    }

    package func noteTalkDelay(_ delay: Duration, of address: BluetoothAddress) {
        talk.delays[address] = delay
        changes.send(.changed(address))
    }

    /// Gives the connected headsets their rows, after some were learnt.
    package func followTalkRows() {
        for (address, session) in sessions { session.talkRow = talk.row(of: address) }
    }
}
