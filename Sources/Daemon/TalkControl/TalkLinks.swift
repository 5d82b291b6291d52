package import AudioPaths
import BTCallAPI
import BluetoothTypes
package import Configuration
package import ControlLoop
package import HeadsetControl
package import Logging
import Routing
import Talk

/// Tells the policy which headsets have no voice link until somebody talks: those whose link the press opens
/// (`[talk] link`, `talkLink`), and those that open it themselves to talk.
@ControlPlane
package final class TalkLinks {
    private let settings: Settings
    private let control: TalkControl
    private let headsets: HeadsetDirectory
    private weak var router: (any RouteDeciding)?
    private let logger: Logger
    /// As told to the policy.
    private var resting: Set<BluetoothAddress> = []
    /// When the press asked for the link of a headset.
    private var awaited: [BluetoothAddress: Instant] = [:]
    /// Time beside the tail until a gate of the microphone is closed: another device's microphone shall not be heard.
    private static let margin = Duration.milliseconds(100)

    package init(
        settings: Settings, control: TalkControl, headsets: HeadsetDirectory, router: any RouteDeciding, logger: Logger
    ) {
        self.settings = settings
        self.control = control
        self.headsets = headsets
        self.router = router
        self.logger = logger
        control.linkNeeds.subscribe(self) { $0.follow() }
        headsets.changes.subscribe(self) { $0.handle($1) }
        settings.changes.subscribe(self) { links, change in
            if change.new.talk != change.old.talk { links.follow() }
        }
        router.notices.subscribe(self) { links, notice in
            if case .routeChanged(_, let new, _) = notice { links.routed(to: new?.address) }
        }
    }

    private func handle(_ change: HeadsetDirectory.Change) {
        switch change {
        case .appeared: follow()
        case .vanished(let address):
            // The policy ends the rest with the connection.
            resting.remove(address)
            awaited[address] = nil
        case .talkKey(let address, _), .changed(let address):
            guard headsets.talksByLink(address) else { return }
            follow(address)
        default: break
        }
    }

    private func follow() {
        for address in headsets.sessions.keys.sorted() { follow(address) }
    }

    private func follow(_ address: BluetoothAddress) {
        guard headsets.description(of: address)?.hasVoice == true else { return }
        // The policy learns of the link that the headset has opened, which ends the rest.
        guard !headsets.isTalkLinkOpen(address) else {
            resting.remove(address)
            return
        }
        let rests = rests(address)
        let tail = settings.configuration.talk.tail + Self.margin
        headsets.setTalkTail(rests && headsets.talksByLink(address) ? tail : nil, of: address)
        guard rests != resting.contains(address) else { return }
        if rests {
            resting.insert(address)
            awaited[address] = nil
        } else {
            resting.remove(address)
            if control.isTalking { awaited[address] = ControlLoop.now }
        }
        router?.handle(.headsetResting(address, isResting: rests))
    }

    private func rests(_ address: BluetoothAddress) -> Bool {
        guard control.isOn else { return false }
        if headsets.talksByLink(address) { return true }
        let configured = settings.configuration.headsets[address]?.talkLink ?? headsets.talkLink(address)
        return (configured ?? settings.configuration.talk.link) == .press && !control.isLinkNeeded
    }

    /// Measures how long the first word waits for the link.
    private func routed(to address: BluetoothAddress?) {
        guard let address, let since = awaited.removeValue(forKey: address) else { return }
        let delay = since.duration(to: ControlLoop.now)
        headsets.noteTalkDelay(delay, of: address)
        logger.info("\(address): the voice link was open \(delay.milliseconds) ms after the press")
    }
}
