import BTCallAPI
package import BluetoothTypes
import ControlLoop
import HandsFree
import Routing

// What headsets are shown beside calls, and what they wish.
extension HeadsetDirectory {
    /// An application without call state speaks to the headsets, or has ended (`virtualCall`).
    package func setVirtualCall(_ isOn: Bool) {
        guard isVirtualCallAsked != isOn else { return }
        isVirtualCallAsked = isOn
        for address in sessions.keys.sorted() { sessions[address]?.setVirtualCall(isOn) }
    }

    /// Whether the button means a call that the headset is not shown: a headset with only the Headset Profile has no other
    /// way to say that the person wants to hear no more.
    package func isHeadsetProfile(_ address: BluetoothAddress) -> Bool { sessions[address]?.profile == .headset }

    package func takeWishes(of session: HeadsetSession) {
        guard session.isEstablished, session.audioPolicy != nil else { return }
        let address = session.address
        routing.send(.headsetWish(address, takesCalls: session.audioPolicy?.calls != .notAllowed))
        changes.send(.changed(address))
    }

    package func audioPolicy(of session: HeadsetSession) -> [String: String] {
        guard let policy = session.audioPolicy else { return [:] }
        return [
            HeadsetDescription.callsWish: "\(policy.calls)", HeadsetDescription.activationWish: "\(policy.activation)",
            HeadsetDescription.inbandRingWish: "\(policy.inbandRing)",
        ]
    }
}
