package import BluetoothTypes

/// Announcement of incoming calls, and the link for an in-band ring (docs/inside/Routing.md §9).
extension RoutingPolicy {
    /// The first call that rings while nothing else is up.
    private var ringingCall: RoutingCall? {
        guard calls.allSatisfy({ $0.state == .ringing }) else { return nil }
        return calls.first
    }

    /// Link to keep while a call rings: for the in-band ring, or because the headset opened it.
    func findRingTarget(at now: Instant) -> Route? {
        if let inband = findInbandHeadset(at: now) { return inband }
        // A choice made meanwhile applies on the answer.
        let kept = headsets.filter { headset in
            guard let open = headset.link.opened, open.isByHeadset else { return false }
            return open.mode == mode(of: headset)
        }
        let chosen = kept.first { choice?.device == .device(.headset($0.address)) }
        guard let headset = chosen ?? kept.first, let mode = mode(of: headset) else { return nil }
        return .headset(headset.address, mode)
    }

    private func findInbandHeadset(at now: Instant) -> Route? {
        ringingCall.flatMap { findInbandHeadset(for: $0, at: now) }
    }

    /// The headset that rings in-band for a call: the only usable one with HFP, in whatever mode it is used, and the one
    /// that would get the call if it were answered now.
    private func findInbandHeadset(for call: RoutingCall, at now: Instant) -> Route? {
        guard started, isAudioPermitted, configuration.inbandRing else { return nil }
        let usable = headsets.filter { $0.hfp && mode(of: $0) != nil }
        guard usable.count == 1, let headset = usable.first, headset.supportsInbandRing,
            !call.inbandRingDeclinedBy.contains(headset.address)
        else { return nil }
        let answered = findDevice(Situation(foreground: [call], now: now))
        return answered?.address == headset.address ? answered : nil
    }

    /// Whether a headset gets the ring tone of the next call, or of the one that rings, in its link: what +BSIR announces
    /// (HFP 1.9 §4.13.4).
    ///
    /// - Returns: nil while the announcement of before stays: another call is up, or the headset's HFP is not reported yet.
    package func ringsInband(_ address: BluetoothAddress, at now: Instant) -> Bool? {
        let next = RoutingCall(identifier: "", state: .ringing, video: false, routes: nil)
        guard headset(address)?.hfp == true, let call = calls.isEmpty ? next : ringingCall else { return nil }
        return findInbandHeadset(for: call, at: now)?.address == address
    }

    private func findRinging(at now: Instant) -> Ringing {
        guard started, ringingCall != nil else { return .none }
        let isHeard = headsets.contains { $0.hfp && mode(of: $0) != nil }
        let headset: Ringing.HeadsetRing =
            findInbandHeadset(at: now) != nil ? .inband : isHeard ? .indication : .none
        return Ringing(local: configuration.ringLocal, headset: headset)
    }

    mutating func announceRinging(at now: Instant) {
        let new = findRinging(at: now)
        guard new != ringing else { return }
        ringing = new
        effects.append(new == .none ? .stopRinging : .startRinging(new))
    }
}
