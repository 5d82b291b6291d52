import BluetoothTypes
import Routing

/// The target, and the way there (docs/inside/Routing.md, sections 5, 6 and 9).
extension ReferencePolicy {
    // MARK: Target

    /// Notes a change of the target; its reason stays with it until its path is open.
    mutating func noteTarget() {
        let new = target
        if new != wanted {
            noteChangeInGap(new)
            wantedReason = cause
            if new?.address != wanted?.address { dropSince = nil }
            wanted = new
        }
        if carrier != wanted?.address { carrier = nil }
        noteDoubts()
    }

    private mutating func noteChangeInGap(_ new: Route?) {
        guard current == nil, let old = wanted?.address, let address = new?.address, address != old else { return }
        if dropSince != nil { leaveOpen("another headset is the target while a lost link is opened again") }
        let isNamed = choice?.device == .device(.headset(address)) || choice == nil && preferred == .headset(address)
        if carrier != old, pending?.address == old, !isNamed {
            leaveOpen("another headset outranks one that is set up")
        }
    }

    private mutating func noteDoubts() {
        for headset in headsets.values
        where count(headset.automaticChanges, within: Self.changeWindow) >= Self.changeLimit {
            leaveOpen("a headset took the call as often as I10 allows")
        }
        if choice?.device == .local, wanted?.address != nil {
            leaveOpen("local is chosen and no local device is there")
        }
        if let address = pending?.address, carrier == address, current?.local != nil, usableHeadsets.count > 1 {
            leaveOpen("another headset is there while a lost link is opened again beside a local path")
        }
        if !isStarted, !calls.isEmpty, configuration.systemDevice.local.map({ isAvailable($0) }) != true {
            leaveOpen("a call while stopped without the system device")
        }
    }

    private var target: Route? {
        guard isPermitted else { return nil }
        let isHeldPathKept = !configuration.releaseOnHold && !isParked
        let needsPath = !foreground.isEmpty || isHeldPathKept && calls.contains { $0.state == .held }
        guard isStarted else { return needsPath ? systemRoute : nil }
        if needsPath { return ReferenceWalk(policy: self, foreground: foreground).route }
        return isOnlyRinging ? ringRoute : nil
    }

    private var systemRoute: Route? {
        if let local = configuration.systemDevice.local, isAvailable(local) { return .local(local) }
        let others: [LocalDevice] = [.wiredHeadset, .earpiece, .speakerphone]
        return others.first { isAvailable($0) }.map { .local($0) }
    }

    /// The best local device by the same levels.
    private var bestLocal: Route? {
        if !isStarted { return systemRoute }
        return ReferenceWalk(policy: self, foreground: foreground, isLocalOnly: true).route
    }

    // MARK: Ringing

    /// The link that is used while a call only rings.
    private var ringRoute: Route? {
        for address in addresses where link(address).isOpenedByHeadset && link(address).state == .open {
            if let mode = mode(of: address), mode == link(address).mode { return .headset(address, mode) }
        }
        return inbandRoute
    }

    private var inbandRoute: Route? {
        guard let call = calls.first(where: { $0.state == .ringing }), isOnlyRinging, isStarted, isPermitted,
            configuration.inbandRing
        else { return nil }
        guard let route = ReferenceWalk(policy: self, foreground: [call]).route, let address = route.address else {
            return nil
        }
        if mistake == .everyRingIsInBand { return route }
        let ringable = usableHeadsets.filter { headsets[$0]?.profiles.contains(.hfp) == true }
        guard ringable == [address], headsets[address]?.hasInbandRing == true, !call.declined.contains(address) else {
            return nil
        }
        return route
    }

    var ringing: Ringing {
        guard isStarted, isOnlyRinging else { return .none }
        let hasHFP = usableHeadsets.contains { headsets[$0]?.profiles.contains(.hfp) == true }
        return Ringing(
            local: configuration.ringLocal,
            headset: inbandRoute != nil ? .inband : hasHFP ? .indication : .none)
    }

    // MARK: The clock of the bridge

    /// The clock starts at zero when a path begins to be due.
    mutating func noteDue() {
        let isDue = isStarted && isPermitted && !foreground.isEmpty
        if isDue, !isPathDue {
            gapSince = now
            hasPathFromBefore = current != nil
        }
        isPathDue = isDue
    }

    private var isBridgeDue: Bool {
        guard isPathDue else { return false }
        if let dropSince { return dropSince.advanced(by: configuration.reopenBridge) <= now }
        return gapSince.advanced(by: configuration.startGrace) <= now
    }

    // MARK: Paths

    mutating func setRoute(_ new: Route?, _ why: RouteChangeReason) {
        guard new != current else { return }
        if current == nil { openSince = now }
        if new == nil {
            if hasPathFromBefore || openSince.advanced(by: configuration.gapReset) <= now { gapSince = now }
            hasPathFromBefore = false
        }
        current = new
        currentSince = now
        reason = why
        guard let address = new?.address else { return }
        carrier = address
        dropSince = nil
        headsets[address]?.isAskedFor = false
        if why.isAutomatic { headsets[address]?.automaticChanges.append(now) }
    }

    mutating func requestClose(_ address: BluetoothAddress) {
        headsets[address]?.link.state = .closing
        headsets[address]?.link.silence = nil
        requests.append(.close(address))
    }

    private mutating func requestOpen(_ address: BluetoothAddress, _ mode: LinkMode) {
        let timeout = now.advanced(by: configuration.openTimeout)
        headsets[address]?.link = Link(state: .opening, mode: mode, since: now, timeout: timeout)
        requests.append(.open(address, mode))
    }

    private mutating func closeLinks(except kept: BluetoothAddress?) {
        for address in addresses where address != kept {
            switch link(address).state {
            case .opening, .open: requestClose(address)
            case .closed, .closing: break
            }
        }
    }

    /// One step towards the target.
    mutating func actuate() {
        switch wanted {
        case nil:
            pending = nil
            setRoute(nil, wantedReason)
            closeLinks(except: nil)
        case .local(let local):
            pending = nil
            setRoute(.local(local), wantedReason)
            closeLinks(except: nil)
        case .headset(let address, let mode): approach(address, mode)
        }
    }

    private mutating func approach(_ address: BluetoothAddress, _ mode: LinkMode) {
        let route = Route.headset(address, mode)
        let link = link(address)
        closeLinks(except: address)
        if link.state == .open, link.mode == mode {
            pending = nil
            if link.silence == nil || bestLocal == nil {
                setRoute(route, wantedReason)
            } else if current == route || current == nil {
                setRoute(bestLocal, .linkSilent)
            } else {
                keepLocal()
            }
            return
        }
        pending = route
        switch link.state {
        case .opening: if link.mode != mode { requestClose(address) }
        case .open: requestClose(address)
        case .closing: break
        case .closed:
            let isFree = addresses.allSatisfy { self.link($0).state == .closed }
            let isRetryDue = headsets[address]?.retryAt.map { $0 <= now } ?? true
            if isFree, isRetryDue { requestOpen(address, mode) }
        }
        if current?.address != nil { setRoute(nil, .switching) }
        keepLocal()
    }

    /// What carries the calls while a headset is awaited: the local device as long as it can be used, then another one
    /// at once; from a gap only when the bridge is due.
    private mutating func keepLocal() {
        if isOnlyRinging { return setRoute(nil, cause) }
        if let local = current?.local {
            guard !isAvailable(local) || !isSupported(local.kind, by: foreground) else { return }
            setRoute(bestLocal, cause)
        } else if isBridgeDue, let bestLocal {
            setRoute(bestLocal, .bridge)
        }
    }
}
