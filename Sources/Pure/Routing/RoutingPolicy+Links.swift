import BluetoothTypes

/// Changes of links, by our actions and by the headset's (docs/inside/Routing.md §7, §8).
extension RoutingPolicy {
    mutating func applyLinkReport(_ event: RoutingEvent, at now: Instant) -> RouteChangeReason? {
        switch event {
        case .linkOpened(let address):
            guard let index = index(of: address), case .opening(let opening) = headsets[index].link else { return nil }
            headsets[index].link = .open(LinkState.Open(mode: opening.mode, since: now))
            headsets[index].retryAt = nil
            return .newDeviceAvailable
        case .linkFailed(let address, let failure):
            guard let index = index(of: address) else { return nil }
            switch headsets[index].link {
            case .opening(let opening):
                headsets[index].link = .closed
                fail(index, failure, during: opening, at: now)
                return .activationFailed
            case .closing:
                headsets[index].link = .closed
                return .switching
            case .closed, .open:
                return nil
            }
        case .linkClosed(let address, let reason):
            return closed(address, reason, at: now)
        case .linkOpenedByHeadset(let address, let mode):
            return openedByHeadset(address, in: mode, at: now)
        case .linkSilent(let address):
            return fellSilent(address, at: now)
        case .linkResumed(let address):
            return resumed(address, at: now)
        default:
            // Another codec on an open link is no change of route.
            return nil
        }
    }

    // MARK: Failure

    /// Counts a failed attempt: back-off, CVSD at once, or the pause after the last one.
    mutating func fail(
        _ index: Int, _ failure: LinkFailure, during opening: LinkState.Opening?, at now: Instant
    ) {
        if failure == .unsupportedCodec, let opening, opening.mode == .hfp, opening.codecHint == nil {
            refusesWideband = true
            headsets[index].retryAt = now
            return
        }
        headsets[index].attempts += 1
        headsets[index].lastFailure = failure
        let attempts = headsets[index].attempts
        guard attempts >= configuration.openAttempts else {
            headsets[index].retryAt = now.advanced(by: retryPause(after: attempts))
            return
        }
        let rounds = headsets[index].penalties
        let pause = doubled(configuration.penaltyBase, times: rounds, limit: configuration.penaltyMax)
        headsets[index].failedAttempts = attempts
        headsets[index].attempts = 0
        headsets[index].retryAt = nil
        headsets[index].penalties = rounds + 1
        headsets[index].penaltyUntil = now.advanced(by: pause)
        let address = headsets[index].address
        if pending?.address == address { pending = nil }
        reopeningSince = nil
        error = .activationFailed
        effects.append(.activationFailed(address))
        forgetChoice(ofFailing: address, at: now)
    }

    /// Pause after this many failed attempts, one or more.
    func retryPause(after attempts: Int) -> Duration {
        doubled(configuration.retryBase, times: attempts - 1, limit: .seconds(3600))
    }

    /// Drops a choice that cannot be honoured, unless it also names a headset that can.
    private mutating func forgetChoice(ofFailing address: BluetoothAddress, at now: Instant) {
        guard case .device(let device) = choice?.device, device.names(address) else { return }
        let hasAnother = headsets.contains { other in
            other.address != address && isChosen(other) && !isUnderPenalty(other, at: now)
                && mode(of: other) != nil
        }
        if !hasAnother { choice = nil }
    }

    func isUnderPenalty(_ headset: Headset, at now: Instant) -> Bool {
        headset.penaltyUntil.map { $0 > now } ?? false
    }

    // MARK: Closing

    private mutating func closed(
        _ address: BluetoothAddress, _ reason: LinkCloseReason, at now: Instant
    ) -> RouteChangeReason? {
        guard let index = index(of: address) else { return nil }
        switch headsets[index].link {
        case .closed:
            return nil
        case .closing:
            headsets[index].link = .closed
            return .switching
        case .opening(let opening):
            headsets[index].link = .closed
            fail(index, .refused, during: opening, at: now)
            return .activationFailed
        case .open(let open):
            headsets[index].noteLinkGone(at: now, livedFor: configuration.transferGuard)
            // For a headset that does not carry the call, only its link is updated.
            guard current?.address == address || open.isHeldBack && decision.target?.address == address else {
                return .headsetTransfer
            }
            return lost(open, index, reason, at: now)
        }
    }

    /// Handles the closing of the link in use.
    private mutating func lost(
        _ open: LinkState.Open, _ index: Int, _ reason: LinkCloseReason, at now: Instant
    ) -> RouteChangeReason? {
        let address = headsets[index].address
        let hasForeground = calls.contains { $0.isForeground }
        if !hasForeground, !calls.contains(where: { $0.state == .held }) {
            declineInbandRing(of: address)
            return reason == .remote ? .headsetTransfer : .linkLoss
        }
        switch reason {
        case .remote where !hasForeground:
            isParked = true
            return .headsetTransfer
        case .remote where open.since.duration(to: now) < configuration.transferGuard:
            // Only a path in use is requested again; `pending` keeps the headset eligible.
            pending = .headset(address, open.mode)
            fail(index, .failed, during: nil, at: now)
            return isUnderPenalty(headsets[index], at: now) ? .activationFailed : .headsetTransfer
        case .remote:
            choose(.local, by: .headsetTransfer, at: now)
            return .headsetTransfer
        case .linkLoss, .requested:
            drop(index, mode: open.mode, at: now)
            return .linkLoss
        }
    }

    /// Disables the headset's in-band ring for this call; a choice that the headset made while it rang is withdrawn as well.
    private mutating func declineInbandRing(of address: BluetoothAddress) {
        for index in calls.indices where calls[index].state == .ringing {
            guard !calls[index].inbandRingDeclinedBy.contains(address) else { continue }
            calls[index].inbandRingDeclinedBy.append(address)
        }
        if choice?.origin == .headsetTransfer, choice?.device == .device(.headset(address)) { choice = nil }
    }

    /// Handles a lost link: reopened at once the first time, a loss of the headset when repeated.
    private mutating func drop(_ index: Int, mode: LinkMode, at now: Instant) {
        let address = headsets[index].address
        let isRepeated = headsets[index].drops.isRecent(within: configuration.flapWindow, of: now)
        headsets[index].drops.append(now)
        if !isRepeated {
            pending = .headset(address, mode)
            if current?.address == address { reopeningSince = now }
            decision.reason = .linkLoss
        } else {
            headsets[index].losses.append(now)
            settle(index, from: now)
            if pending?.address == address { pending = nil }
        }
    }

    // MARK: Links opened by the headset

    private mutating func openedByHeadset(
        _ address: BluetoothAddress, in mode: LinkMode?, at now: Instant
    ) -> RouteChangeReason? {
        guard let index = index(of: address), isAdapterPowered, headsets[index].hfp || headsets[index].a2dp,
            headsets[index].link.opened == nil
        else { return nil }
        let used = self.mode(of: headsets[index])
        let linkMode = mode ?? used ?? (headsets[index].hfp ? .hfp : .a2dp)
        headsets[index].link = .open(LinkState.Open(mode: linkMode, since: now, isByHeadset: true))
        headsets[index].retryAt = nil
        headsets[index].isResting = false
        let isWelcome =
            started && !calls.isEmpty && used != nil && foregroundCalls.allSatisfy { $0.supports(.bluetooth) }
        if isWelcome {
            choose(.device(.headset(address)), by: .headsetTransfer, at: now)
            isParked = false
        }
        return .headsetTransfer
    }

    // MARK: Silence

    private mutating func fellSilent(_ address: BluetoothAddress, at now: Instant) -> RouteChangeReason? {
        guard let index = index(of: address), case .open(var open) = headsets[index].link, open.silentSince == nil
        else { return nil }
        open.silentSince = now
        open.steadyAt = nil
        headsets[index].link = .open(open)
        headsets[index].silences.append(now)
        if decision.target?.address == address { decision.reason = .linkSilent }
        return .linkSilent
    }

    private mutating func resumed(_ address: BluetoothAddress, at now: Instant) -> RouteChangeReason? {
        guard let index = index(of: address), case .open(var open) = headsets[index].link, open.silentSince != nil
        else { return nil }
        open.silentSince = nil
        if current?.address != address {
            let earlier = headsets[index].silences.count(within: configuration.flapWindow, of: now) - 1
            let steady = doubled(configuration.silentResume, times: earlier, limit: configuration.settleMax)
            open.steadySince = now
            open.steadyAt = now.advanced(by: steady)
        }
        headsets[index].link = .open(open)
        return .linkSilent
    }

    /// Closes links that have been silent for too long, and trusts links that have been steady for long enough.
    mutating func expireSilence(at now: Instant) -> RouteChangeReason? {
        var cause: RouteChangeReason?
        for index in headsets.indices {
            guard case .open(var open) = headsets[index].link else { continue }
            if let silentSince = open.silentSince, silentSince.advanced(by: configuration.silentClose) <= now {
                let address = headsets[index].address
                let isUsed = current?.address == address || decision.target?.address == address
                closeLink(index, at: now)
                if isUsed {
                    _ = lost(open, index, .linkLoss, at: now)
                    cause = .linkLoss
                }
            } else if let steadyAt = open.steadyAt, steadyAt <= now {
                open.steadyAt = nil
                headsets[index].link = .open(open)
                cause = cause ?? .linkSilent
            }
        }
        return cause
    }

    /// Closes an open link or cancels a set-up; its end is reported later.
    mutating func closeLink(_ index: Int, at now: Instant) {
        switch headsets[index].link {
        case .closed, .closing: return
        case .opening(let opening):
            headsets[index].link = .closing(opening.mode)
        case .open(let open):
            headsets[index].noteLinkGone(at: now, livedFor: configuration.transferGuard)
            headsets[index].link = .closing(open.mode)
        }
        effects.append(.closeLink(headsets[index].address))
    }
}
