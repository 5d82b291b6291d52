import BluetoothTypes

/// What becomes of links, by our doing and by the headset's (routing policy §7, §8).
extension RoutingPolicy {
    mutating func applyLinkReport(_ event: RoutingEvent, at now: Instant) -> RouteChangeReason? {
        switch event {
        case .linkOpened(let address):
            guard case .opening(let opening) = headset(address)?.link else { return nil }
            update(address) { headset in
                headset.link = .open(LinkState.Open(mode: opening.mode, since: now))
                headset.retryAt = nil
            }
            return .newDeviceAvailable
        case .linkFailed(let address, let failure):
            switch headset(address)?.link {
            case .opening(let opening):
                update(address) { $0.link = .closed }
                fail(address, failure, during: opening, at: now)
                return .activationFailed
            case .closing:
                update(address) { $0.link = .closed }
                return .switching
            case .closed, .open, nil:
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
        _ address: BluetoothAddress, _ failure: LinkFailure, during opening: LinkState.Opening?, at now: Instant
    ) {
        if failure == .unsupportedCodec, let opening, opening.mode == .hfp, opening.codecHint == nil {
            refusesWideband = true
            update(address) { $0.retryAt = now }
            return
        }
        let configuration = configuration
        var isLastAttempt = false
        update(address) { headset in
            headset.attempts += 1
            headset.lastFailure = failure
            isLastAttempt = headset.attempts >= configuration.openAttempts
        }
        guard let headset = headset(address) else { return }
        guard isLastAttempt else {
            let pause = retryPause(after: headset.attempts)
            update(address) { $0.retryAt = now.advanced(by: pause) }
            return
        }
        let pause = doubled(configuration.penaltyBase, times: headset.penalties, limit: configuration.penaltyMax)
        update(address) { headset in
            headset.failedAttempts = headset.attempts
            headset.attempts = 0
            headset.retryAt = nil
            headset.penalties += 1
            headset.penaltyUntil = now.advanced(by: pause)
        }
        if pending?.address == address { pending = nil }
        reopeningSince = nil
        error = .activationFailed
        effects.append(.activationFailed(address))
        forgetChoice(ofFailing: address, at: now)
    }

    /// The pause after so many failed attempts, one or more.
    func retryPause(after attempts: Int) -> Duration {
        doubled(configuration.retryBase, times: attempts - 1, limit: .seconds(3600))
    }

    /// A choice that cannot be honoured is dropped, unless it also names a headset that can.
    private mutating func forgetChoice(ofFailing address: BluetoothAddress, at now: Instant) {
        guard case .device(let device) = choice?.device, device.names(address) else { return }
        let hasAnother = headsets.contains { other in
            other.address != address && device.names(other.address) && !isUnderPenalty(other, at: now)
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
        switch headset(address)?.link {
        case .closed, nil:
            return nil
        case .closing:
            update(address) { $0.link = .closed }
            return .switching
        case .opening(let opening):
            update(address) { $0.link = .closed }
            fail(address, .refused, during: opening, at: now)
            return .activationFailed
        case .open(let open):
            update(address) { $0.link = .closed }
            noteLife(of: open, address, at: now)
            // A headset that does not carry the call updates its link and nothing else.
            guard current?.address == address || open.isHeldBack && decision.target?.address == address else {
                return .headsetTransfer
            }
            return lost(open, address, reason, at: now)
        }
    }

    /// The link in use has closed.
    private mutating func lost(
        _ open: LinkState.Open, _ address: BluetoothAddress, _ reason: LinkCloseReason, at now: Instant
    ) -> RouteChangeReason? {
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
            // Only a path that was in use is asked for again; `pending` keeps the headset eligible.
            pending = .headset(address, open.mode)
            fail(address, .failed, during: nil, at: now)
            let hasGivenUp = headset(address).map { isUnderPenalty($0, at: now) } ?? false
            return hasGivenUp ? .activationFailed : .headsetTransfer
        case .remote:
            choose(.local, by: .headsetTransfer, at: now)
            return .headsetTransfer
        case .linkLoss, .requested:
            drop(address, mode: open.mode, at: now)
            return .linkLoss
        }
    }

    /// No in-band ring for this call again; a choice that the headset made while it rang is taken back with it.
    private mutating func declineInbandRing(of address: BluetoothAddress) {
        for index in calls.indices where calls[index].state == .ringing {
            calls[index].isInbandRingDeclined = true
        }
        if choice?.origin == .headsetTransfer, choice?.device == .device(.headset(address)) { choice = nil }
    }

    /// A lost link: opened again at once the first time, a loss of the headset when it happens again.
    mutating func drop(_ address: BluetoothAddress, mode: LinkMode, at now: Instant) {
        guard let index = headsets.firstIndex(where: { $0.address == address }) else { return }
        let earlier = recent(headsets[index].drops, at: now)
        headsets[index].drops = earlier + [now]
        if earlier.isEmpty {
            pending = .headset(address, mode)
            if current?.address == address { reopeningSince = now }
            decision.reason = .linkLoss
        } else {
            headsets[index].losses.append(now)
            settle(index, from: now)
            if pending?.address == address { pending = nil }
        }
    }

    /// A link that has lived forgives the attempts before it.
    func noteLife(of open: LinkState.Open, in headset: inout Headset, at now: Instant) {
        if open.since.duration(to: now) >= configuration.transferGuard {
            headset.forgetFailures()
        }
    }

    private mutating func noteLife(of open: LinkState.Open, _ address: BluetoothAddress, at now: Instant) {
        guard let index = headsets.firstIndex(where: { $0.address == address }) else { return }
        var headset = headsets[index]
        noteLife(of: open, in: &headset, at: now)
        headsets[index] = headset
    }

    // MARK: The headset's own doing

    private mutating func openedByHeadset(
        _ address: BluetoothAddress, in mode: LinkMode?, at now: Instant
    ) -> RouteChangeReason? {
        guard let headset = headset(address), isAdapterPowered, headset.hfp || headset.a2dp else { return nil }
        if headset.link.opened != nil { return nil }
        let used = self.mode(of: headset)
        let linkMode = mode ?? used ?? (headset.hfp ? .hfp : .a2dp)
        update(address) { headset in
            headset.link = .open(LinkState.Open(mode: linkMode, since: now))
            headset.retryAt = nil
        }
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
        guard let index = headsets.firstIndex(where: { $0.address == address }),
            case .open(var open) = headsets[index].link, open.silentSince == nil
        else { return nil }
        open.silentSince = now
        open.steadyAt = nil
        headsets[index].link = .open(open)
        headsets[index].silences = recent(headsets[index].silences, at: now) + [now]
        if decision.target?.address == address { decision.reason = .linkSilent }
        return .linkSilent
    }

    private mutating func resumed(_ address: BluetoothAddress, at now: Instant) -> RouteChangeReason? {
        guard let index = headsets.firstIndex(where: { $0.address == address }),
            case .open(var open) = headsets[index].link, open.silentSince != nil
        else { return nil }
        open.silentSince = nil
        if current?.address != address {
            let earlier = recent(headsets[index].silences, at: now).count - 1
            let steady = doubled(configuration.silentResume, times: earlier, limit: configuration.settleMax)
            open.steadySince = now
            open.steadyAt = now.advanced(by: steady)
        }
        headsets[index].link = .open(open)
        return .linkSilent
    }

    /// Closes links that were silent for too long, and trusts those that have been steady for long enough.
    mutating func expireSilence(at now: Instant) -> RouteChangeReason? {
        var cause: RouteChangeReason?
        for index in headsets.indices {
            guard case .open(var open) = headsets[index].link else { continue }
            if let silentSince = open.silentSince, silentSince.advanced(by: configuration.silentClose) <= now {
                let address = headsets[index].address
                let isUsed = current?.address == address || decision.target?.address == address
                closeLink(address, at: now)
                if isUsed {
                    _ = lost(open, address, .linkLoss, at: now)
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
    mutating func closeLink(_ address: BluetoothAddress, at now: Instant) {
        guard let index = headsets.firstIndex(where: { $0.address == address }) else { return }
        switch headsets[index].link {
        case .closed, .closing: return
        case .opening(let opening):
            headsets[index].link = .closing(opening.mode)
        case .open(let open):
            noteLife(of: open, address, at: now)
            headsets[index].link = .closing(open.mode)
        }
        effects.append(.closeLink(address))
    }
}
