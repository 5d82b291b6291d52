import BTCallAPI
package import BluetoothTypes
import ControlLoop
import HandsFree
import Routing

// What headsets are shown beside calls, and their requests.
extension HeadsetDirectory {
    /// Starts or ends the virtual call: an application without call state plays speech to the headsets (`virtualCall`).
    package func setVirtualCall(_ isOn: Bool) {
        guard isVirtualCallAsked != isOn else { return }
        isVirtualCallAsked = isOn
        for address in sessions.keys.sorted() { sessions[address]?.setVirtualCall(isOn) }
    }

    /// Whether the headset has only the Headset Profile. Its button may mean speech that it is not shown as a call: the
    /// wearer has no other way to stop it.
    package func isHeadsetProfile(_ address: BluetoothAddress) -> Bool { sessions[address]?.profile == .headset }

    package func applyAudioPolicy(of session: HeadsetSession) {
        guard session.isEstablished, session.audioPolicy != nil else { return }
        let address = session.address
        routing.send(.headsetPreference(address, takesCalls: session.audioPolicy?.calls != .notAllowed))
        describeRinging(of: session)
        changes.send(.changed(address))
    }

    /// Tells the policy whether the headset can ring in-band.
    package func describeRinging(of session: HeadsetSession) {
        let category = category(of: session.address) ?? .headset
        routing.send(.headsetDescribed(session.address, category: category, inbandRing: session.canRingInband))
    }

    package func audioPolicy(of session: HeadsetSession) -> [String: String] {
        guard let policy = session.audioPolicy else { return [:] }
        return [
            HeadsetDescription.callsPolicy: "\(policy.calls)",
            HeadsetDescription.activationPolicy: "\(policy.activation)",
            HeadsetDescription.inbandRingPolicy: "\(policy.inbandRing)",
        ]
    }
}
