import BluetoothTypes

/// Takes one step towards the target: make before break where possible (docs/inside/Routing.md §6).
extension RoutingPolicy {
    /// Leaves a path that no longer exists, before the target is determined: its device is no longer current.
    mutating func leaveDeadPath(because cause: RouteChangeReason, at now: Instant) {
        guard let current, !canCarry(current) else { return }
        let wasBridging = isBridging
        leavePath(because: cause, at: now)
        // A device that stood in for a headset has already waited.
        if wasBridging, let local = findLocalDevice(at: now) {
            switchPath(to: local, because: cause, at: now)
            isBridging = true
        }
    }

    /// Whether the device of an open path can still carry it. A masked earpiece can: it is left by switching over.
    private func canCarry(_ route: Route) -> Bool {
        switch route {
        case .local(let local):
            switch obstacle(for: local, foreground: []) {
            case nil, .masked: true
            default: false
            }
        case .headset(let address, let mode):
            headset(address)?.link.opened?.mode == mode
        }
    }

    mutating func actuate(because cause: RouteChangeReason, at now: Instant) {
        switch decision.target {
        case nil:
            leavePath(because: decision.reason, at: now)
            pending = nil
            closeLinks(except: nil, at: now)
        case .local:
            if let target = decision.target { switchPath(to: target, because: decision.reason, at: now) }
            pending = nil
            closeLinks(except: nil, at: now)
        case .headset(let address, let mode):
            // While a call only rings, the only path is its headset's.
            if demand == .ringing, current?.local != nil { leavePath(because: cause, at: now) }
            approach(address, mode, because: cause, at: now)
        }
        if pending == nil || pending?.address != decision.target?.address { reopeningSince = nil }
    }

    /// Moves towards a headset: switches over if its link is open, otherwise opens it without a second link at the same
    /// time.
    private mutating func approach(
        _ address: BluetoothAddress, _ mode: LinkMode, because cause: RouteChangeReason, at now: Instant
    ) {
        let target = Route.headset(address, mode)
        if let current, current.address != nil, current != target {
            leavePath(because: .switching, at: now)
        }
        closeLinks(except: address, at: now)
        guard let index = index(of: address) else { return }
        switch headsets[index].link {
        case .open(let open) where open.mode == mode:
            pending = nil
            settlePath(on: target, through: open, because: cause, at: now)
            return
        case .open:
            closeLink(index, at: now)
        case .opening(let opening):
            if opening.mode != mode { closeLink(index, at: now) }
        case .closed:
            openLinkIfPossible(index, mode, at: now)
        case .closing:
            break
        }
        pending = target
        replaceUnusableLocal(because: cause, at: now)
        bridgeIfDue(at: now)
    }

    /// Uses the open link, unless it is silent and a device of the board can be heard instead.
    private mutating func settlePath(
        on target: Route, through open: LinkState.Open, because cause: RouteChangeReason, at now: Instant
    ) {
        let standIn = open.isHeldBack && demand == .path ? findLocalDevice(at: now) : nil
        guard let standIn else { return switchPath(to: target, because: decision.reason, at: now) }
        if current?.local == nil {
            switchPath(to: standIn, because: .linkSilent, at: now)
        } else {
            replaceUnusableLocal(because: cause, at: now)
        }
    }

    /// Replaces a local device in use that a plug hides, or that a further call does not support, while a headset is
    /// awaited: audio must not stop for that.
    private mutating func replaceUnusableLocal(because cause: RouteChangeReason, at now: Instant) {
        guard let local = current?.local, obstacle(for: local, foreground: foregroundCalls) != nil else { return }
        if let other = findLocalDevice(at: now) {
            switchPath(to: other, because: cause, at: now)
        } else {
            leavePath(because: cause, at: now)
        }
    }

    private mutating func bridgeIfDue(at now: Instant) {
        guard let bridgeDeadline, bridgeDeadline <= now, let local = findLocalDevice(at: now) else { return }
        switchPath(to: local, because: .bridge, at: now)
        isBridging = true
    }

    /// Opens one link at a time, and none while any other link is not closed.
    private mutating func openLinkIfPossible(_ index: Int, _ mode: LinkMode, at now: Instant) {
        guard headsets.allSatisfy(\.link.isClosed) else { return }
        if let retryAt = headsets[index].retryAt, retryAt > now { return }
        let attempt = headsets[index].attempts + 1
        let isCautious = attempt >= 3 || attempt > 1 && attempt >= configuration.openAttempts
        let hint: VoiceCodec? = mode == .hfp && (isCautious || refusesWideband) ? .cvsd : nil
        let deadline = now.advanced(by: configuration.openTimeout)
        headsets[index].retryAt = nil
        headsets[index].link = .opening(LinkState.Opening(mode: mode, codecHint: hint, since: now, deadline: deadline))
        effects.append(.openLink(headsets[index].address, mode, codecHint: hint, attempt: attempt))
    }

    private mutating func closeLinks(except kept: BluetoothAddress?, at now: Instant) {
        for index in headsets.indices where headsets[index].address != kept {
            closeLink(index, at: now)
        }
    }

    // MARK: Path

    /// Opens a path and then closes the previous one; no effect if it is already open.
    private mutating func switchPath(to route: Route, because cause: RouteChangeReason, at now: Instant) {
        isBridging = false
        guard current != route else { return }
        effects.append(.openPath(route))
        if let current {
            effects.append(.closePath(current))
        } else {
            pathSince = now
            pathlessBefore = pathlessSince
            pathlessSince = nil
        }
        current = route
        currentSince = now
        reason = cause
        changedAt = now
        guard let index = route.address.flatMap({ index(of: $0) }) else { return }
        headsets[index].dwellWaived = false
        if cause.isAutomatic { headsets[index].switchIns.append(now) }
    }

    /// Closes the path without a successor. A path that was too short does not restart the clock of the bridge.
    private mutating func leavePath(because cause: RouteChangeReason, at now: Instant) {
        guard let current else { return }
        isBridging = false
        effects.append(.closePath(current))
        let isShort = pathSince.duration(to: now) < configuration.gapReset
        pathlessSince = isShort ? pathlessBefore ?? now : now
        self.current = nil
        reason = cause
        changedAt = now
    }
}
