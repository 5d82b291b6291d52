package import BluetoothTypes

/// Present state of a device towards the calls, in one word.
package enum DeviceState: String, Hashable, Sendable, CaseIterable {
    /// It is the route.
    case active
    /// Its link is being set up, including back-off and waiting for another link to close.
    case pending
    /// Its link is open, but no packets arrive, or only for too short a time again.
    case silent
    /// It may carry the call.
    case available
    /// It connected too recently to take a running call, or was lost during one.
    case settling
    /// It may not take the running call yet: another headset has just taken it, or this one has taken it too often.
    case waiting
    /// All attempts to open its link failed; it is paused.
    case penalty
    /// It is present, but the present call does not support its kind.
    case unsupported
    case unavailable
}

extension RoutingPolicy {
    /// Returns the state of a local device or of one headset; `unavailable` for unknown ones.
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
        case .dwell, .switchLimit, .resting: return .waiting
        case .noDevice, .notPresent, .notConnected, .awaited, .lost, .adapterOff, .excluded, .masked, .mediaOnly,
            .handsFreeOnly, .notLocal:
            return .unavailable
        }
    }

    /// Next time at which some headset's state may change without an event; nil without one.
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

    /// Whether a headset reports that it can play our ring tone.
    package func supportsInbandRing(_ address: BluetoothAddress) -> Bool {
        headset(address)?.supportsInbandRing ?? false
    }

    /// Unique number of the explicit choice, in force or dormant. Nil without one.
    package var choiceSequence: Int? { choice?.sequence }
}
