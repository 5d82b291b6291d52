import BluetoothTypes

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
        guard case .device(.headset(let address)) = choice?.device, let headset = headset(address),
            let mode = mode(of: headset), let open = headset.link.opened, open.isByHeadset, open.mode == mode
        else { return nil }
        return .headset(address, mode)
    }

    /// The headset that rings in-band: the only usable hands-free one, and the one that would get the call if it were
    /// answered now.
    private func findInbandHeadset(at now: Instant) -> Route? {
        guard started, isAudioPermitted, configuration.inbandRing, let call = ringingCall, !call.isInbandRingDeclined
        else { return nil }
        let usable = headsets.filter { $0.hfp && mode(of: $0) != nil }
        guard usable.count == 1, let headset = usable.first, headset.supportsInbandRing, mode(of: headset) == .hfp
        else { return nil }
        let answered = findDevice(Situation(foreground: [call], now: now))
        return answered == .headset(headset.address, .hfp) ? answered : nil
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
