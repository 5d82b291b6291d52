import BluetoothTypes

/// Time in the policy: facts that expire, and the one next instant at which something may change.
extension RoutingPolicy {
    /// Updates the facts whose time has expired.
    ///
    /// - Returns: the reason for a change that this causes; nil without one.
    mutating func expireFacts(at now: Instant) -> RouteChangeReason? {
        let jackCause = expireJackEdge(at: now)
        let openCause = expireOpenings(at: now)
        let silenceCause = expireSilence(at: now)
        if let restore = mediaRestore, restore.deadline <= now {
            mediaRestore = nil
            for address in restore.addresses where isAdapterPowered && headset(address)?.a2dp == true {
                effects.append(.restoreMedia(address))
            }
        }
        return openCause ?? silenceCause ?? jackCause
    }

    private mutating func expireOpenings(at now: Instant) -> RouteChangeReason? {
        for index in headsets.indices {
            guard case .opening(let opening) = headsets[index].link, opening.deadline <= now else { continue }
            closeLink(index, at: now)
            fail(index, .timedOut, during: opening, at: now)
            return .activationFailed
        }
        return nil
    }

    /// The earliest instant after `now` at which facts or eligibility change without an event; nil without one.
    func nextDeadline(after now: Instant) -> Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant?) {
            guard let instant, instant > now, instant < earliest ?? .init(nanoseconds: .max) else { return }
            earliest = instant
        }
        consider(jackEdge?.deadline)
        consider(mediaRestore?.deadline)
        consider(bridgeDeadline)
        let isCurrentHeadset = current?.address != nil
        for headset in headsets {
            switch headset.link {
            case .opening(let opening): consider(opening.deadline)
            case .open(let open):
                consider(open.silentSince?.advanced(by: configuration.silentClose))
                consider(open.steadyAt)
            case .closed, .closing: break
            }
            guard !calls.isEmpty, headset.attachedAt != nil else { continue }
            consider(headset.readyAt)
            consider(headset.penaltyUntil)
            consider(headset.retryAt)
            if isCurrentHeadset, headset.address != current?.address {
                consider(currentSince.advanced(by: configuration.minDwell))
            }
            if current == nil {
                consider(headset.losses.latest?.advanced(by: configuration.flapWindow))
            }
            consider(headset.switchIns.latest(Self.switchLimit)?.advanced(by: Self.switchWindow))
        }
        return earliest
    }

    // MARK: The clock of the bridge

    /// When a local device stands in for the awaited headset; nil while none is awaited.
    var bridgeDeadline: Instant? {
        bridgeClock.map { $0.since.advanced(by: $0.limit) }
    }

    /// Start of the wait, and its limit.
    var bridgeClock: (since: Instant, limit: Duration)? {
        guard current == nil, pending != nil, let pathlessSince, calls.contains(where: \.isForeground) else {
            return nil
        }
        return (reopeningSince ?? pathlessSince, bridgeLimit)
    }

    var bridgeLimit: Duration { reopeningSince == nil ? configuration.startGrace : configuration.reopenBridge }

    /// Updates the clock, which runs only while a path is due and permitted, and starts at zero when that begins.
    mutating func updatePathlessClock(at now: Instant) {
        guard started, isAudioPermitted, calls.contains(where: \.isForeground) else {
            pathlessSince = nil
            pathlessBefore = nil
            return
        }
        if current == nil, pathlessSince == nil { pathlessSince = now }
    }
}
