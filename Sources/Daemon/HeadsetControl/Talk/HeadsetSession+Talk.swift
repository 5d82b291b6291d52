import BluetoothTypes
import ControlLoop
import HandsFree
import HeadsetPolicy
import Talk

// The headset's talk key: on its AT connection, or the voice link that it opens to talk.
extension HeadsetSession {
    /// - Returns: whether the event has no other meaning.
    func talks(by event: AudioGateway.Event) -> Bool {
        onEvent?(.heard(.at(event)))
        guard let signal = talkReader.read(event) else { return false }
        onEvent?(.talkKey(signal))
        // Programs see the vendor's message as before. The call key and that of voice recognition mean nothing else then.
        switch event {
        case .talkKey, .vendor: return false
        default: return true
        }
    }

    /// Reports a link that the headset has opened, before the policy learns of it.
    func talkLinkOpened(_ report: VoiceLink.Report) {
        guard case .openedByHeadset = report else { return }
        onEvent?(.heard(.link(isOpen: true)))
        guard let signal = linkReader?.opened(byHeadset: true) else { return }
        isTalkLinkOpen = true
        onEvent?(.talkKey(signal))
    }

    /// Reports that the headset has closed that link. The policy learns of it when the last word has ended.
    func talkLinkClosed() {
        onEvent?(.heard(.link(isOpen: false)))
        guard let signal = linkReader?.closed() else { return }
        onEvent?(.talkKey(signal))
    }

    /// Lets the headset rest, before the policy learns that its link is closed.
    func talkLinkEnded() {
        guard isTalkLinkOpen else { return }
        isTalkLinkOpen = false
        onEvent?(.changed)
    }
}
