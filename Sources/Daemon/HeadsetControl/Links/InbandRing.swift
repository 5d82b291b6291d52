import AudioPaths
import BluetoothTypes
import ControlLoop
import HandsFree
import Routing

/// Announces to each headset whether it gets the ring tone in its link (+BSIR, HFP 1.9 §4.13.4), as the policy plans it.
@ControlPlane
final class InbandRing {
    private let router: any RouteDeciding
    private let headsets: HeadsetDirectory

    init(router: any RouteDeciding, headsets: HeadsetDirectory) {
        self.router = router
        self.headsets = headsets
        router.notices.subscribe(self) { ring, notice in
            if case .stateChanged = notice { ring.follow() }
        }
    }

    private func follow() {
        for (address, session) in headsets.sessions.sorted(by: { $0.key < $1.key }) {
            guard let isOn = router.policy.ringsInband(address, at: ControlLoop.now) else { continue }
            session.setInbandRing(isOn)
        }
    }
}

extension HeadsetSession {
    /// Whether the headset may get the ring tone in its link: not by the Headset Profile, with a quirk that masks the feature,
    /// or against the headset's own policy.
    var canRingInband: Bool {
        profile == .handsFree && gateway.features.contains(.inbandRing) && audioPolicy?.inbandRing != .notAllowed
    }

    func setInbandRing(_ isOn: Bool) {
        guard profile == .handsFree, isEstablished else { return }
        run(gateway.setInbandRing(isOn))
    }
}
