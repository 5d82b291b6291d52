package import BluetoothTypes

/// What a device is to the calls at the moment, in one word.
package enum DeviceState: String, Hashable, Sendable, CaseIterable {
    /// It is the route.
    case active
    /// Its link is being set up, also during a back-off and while another link closes first.
    case pending
    /// Its link is open and nothing comes in, or has come again for too short a time.
    case silent
    /// It may carry the call.
    case available
    /// It came too recently to take a running call, or was lost in one.
    case settling
    /// It may not take the running call yet: another headset has just taken it, or this one has taken it too often.
    case waiting
    /// All attempts to open its link failed; it rests.
    case penalty
    /// It is there, and the present call does not support its kind.
    case unsupported
    case unavailable
}

extension RoutingPolicy {
    /// The state of a local device or of one headset; `unavailable` for what is not known.
    package func state(of device: AudioDevice, at now: Instant) -> DeviceState {
        let foreground = foregroundCalls
        if let local = device.local {
            if current?.local == local { return .active }
            guard obstacle(for: local, foreground: []) == nil else { return .unavailable }
            return obstacle(for: local, foreground: foreground) == nil ? .available : .unsupported
        }
        guard case .headset(let address) = device, let headset = headset(address), mode(of: headset) != nil else {
            return .unavailable
        }
        if current?.address == address { return .active }
        if headset.link.opened?.isHeldBack == true { return .silent }
        if pending?.address == address { return .pending }
        switch obstacle(for: headset, Situation(foreground: foreground, now: now)) {
        case nil: return .available
        case .unsupportedByCall: return .unsupported
        case .penalty: return .penalty
        case .settling: return .settling
        case .dwell, .switchLimit: return .waiting
        case .noDevice, .notPresent, .notConnected, .awaited, .lost, .adapterOff, .excluded, .masked, .mediaOnly,
            .handsFreeOnly, .notLocal:
            return .unavailable
        }
    }

    /// The next time at which the state of some headset may change although nothing happens; nil while none is known.
    package func nextStateChange(after now: Instant) -> Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant?) {
            guard let instant, instant > now, instant < earliest ?? .init(nanoseconds: .max) else { return }
            earliest = instant
        }
        for headset in headsets where mode(of: headset) != nil {
            consider(headset.penaltyUntil)
            guard current != nil || pending != nil || headset.losses.latest != nil else { continue }
            consider(headset.readyAt)
            consider(headset.losses.latest?.advanced(by: configuration.flapWindow))
            consider(headset.switchIns.latest(Self.switchLimit)?.advanced(by: Self.switchWindow))
            if current?.address != nil { consider(currentSince.advanced(by: configuration.minDwell)) }
        }
        return earliest
    }

    /// Whether a headset says that it can play our ring tone.
    package func supportsInbandRing(_ address: BluetoothAddress) -> Bool {
        headset(address)?.supportsInbandRing ?? false
    }

    /// The number of the explicit choice in force or dormant; no two choices have the same. Nil without one.
    package var choiceSequence: Int? { choice?.sequence }
}
