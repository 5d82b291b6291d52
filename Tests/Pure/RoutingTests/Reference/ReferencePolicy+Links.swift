import BluetoothTypes
import Routing

/// Reports of links, failed attempts, losses, and what is due after a time (docs/inside/Routing.md, sections 7 and 8).
extension ReferencePolicy {
    /// So many automatic changes to one headset are allowed in `changeWindow` (I10).
    static let changeLimit = 6
    static let changeWindow = Duration.seconds(30)

    mutating func takeLink(_ event: RoutingEvent) {
        switch event {
        case .linkOpened(let address):
            guard link(address).state == .opening else { return }
            headsets[address]?.link.state = .open
            headsets[address]?.link.since = now
        case .linkFailed(let address, _):
            let old = link(address).state
            noteClosed(address)
            if old == .opening { fail(address) }
        case .linkClosed(let address, let reason): takeClosed(address, reason)
        case .linkOpenedByHeadset(let address, let mode): takeOpenedByHeadset(address, mode)
        case .linkSilent(let address): takeSilence(address)
        case .linkResumed(let address):
            guard let silence = link(address).silence, silence.resumed == nil else { return }
            headsets[address]?.link.silence?.resumed = now
            // Nothing else carries the call: it never left the headset.
            if current?.address == address { headsets[address]?.link.silence = nil }
        default: break
        }
    }

    // MARK: Opened and closed by the headset

    private mutating func takeOpenedByHeadset(_ address: BluetoothAddress, _ mode: LinkMode?) {
        guard headsets[address] != nil else { return }
        let used = mode ?? self.mode(of: address) ?? .hfp
        headsets[address]?.link = Link(state: .open, mode: used, since: now, isOpenedByHeadset: true)
        guard isStarted, !calls.isEmpty, self.mode(of: address) != nil, isSupported(.bluetooth, by: foreground) else {
            return requestClose(address)
        }
        if foreground.isEmpty, !isOnlyRinging, configuration.releaseOnHold {
            leaveOpen("a headset opens its link while the path is released")
        }
        for other in addresses where other != address && link(other).state == .open { requestClose(other) }
        isParked = false
        choose(.device(.headset(address)))
    }

    private mutating func takeClosed(_ address: BluetoothAddress, _ reason: LinkCloseReason) {
        let old = link(address)
        noteClosed(address)
        // A set-up that the other side ends is refused.
        if old.state == .opening, reason != .requested { fail(address) }
        guard old.state == .open, reason != .requested else { return }
        if old.silence != nil, current?.address != address {
            leaveOpen("a silent link is closed by the other side")
        }
        guard let route = current, route.address == address else { return }
        if isOnlyRinging {
            for index in calls.indices { calls[index].declined.insert(address) }
            if choice?.device == .device(.headset(address)) {
                leaveOpen("a chosen headset closes its link while a call rings")
            }
        } else if reason == .linkLoss {
            drop(route, address)
        } else if old.since.advanced(by: configuration.transferGuard) > now {
            if foreground.isEmpty { leaveOpen("closed right after opening while every call is held") }
            pending = route
            fail(address)
            setRoute(nil, cause)
        } else if foreground.isEmpty {
            if mistake != .parkedIsIgnored { isParked = true }
        } else if mistake != .transferIsIgnored {
            choose(.local)
        }
    }

    /// A link that has lived forgives earlier attempts and penalties.
    private mutating func forgiveAttempts(_ address: BluetoothAddress) {
        let link = link(address)
        guard link.state == .open, link.since.advanced(by: configuration.transferGuard) <= now else { return }
        headsets[address]?.attempts = 0
        headsets[address]?.penalties = 0
    }

    mutating func noteClosed(_ address: BluetoothAddress) {
        forgiveAttempts(address)
        headsets[address]?.link = Link()
    }

    // MARK: Failures

    private mutating func fail(_ address: BluetoothAddress) {
        guard var headset = headsets[address] else { return }
        headset.attempts += 1
        if headset.attempts < configuration.openAttempts {
            let pause = doubled(configuration.retryBase, times: headset.attempts - 1, limit: .seconds(1_000_000))
            headset.retryAt = now.advanced(by: pause)
            headsets[address] = headset
            return
        }
        let times = mistake == .penaltyIsNotDoubled ? 0 : headset.penalties
        let pause = doubled(configuration.penaltyBase, times: times, limit: configuration.penaltyMax)
        headset.attempts = 0
        headset.retryAt = nil
        headset.penalties += 1
        headset.penaltyUntil = now.advanced(by: pause)
        headsets[address] = headset
        error = .activationFailed
        cause = .activationFailed
        dropChoice(of: address)
    }

    /// A choice of any headset stays while it stands for another one that is usable and not under penalty.
    private mutating func dropChoice(of address: BluetoothAddress) {
        guard let choice, case .device(let device) = choice.device, device.names(address) else { return }
        if device == .bluetooth {
            let others = usableHeadsets.filter { other in
                other != address && (isOrdinary(other) || choice.others.contains(other)) && !isUnderPenalty(other)
            }
            if !others.isEmpty { return }
        }
        self.choice = nil
    }

    func isUnderPenalty(_ address: BluetoothAddress) -> Bool {
        headsets[address]?.penaltyUntil.map { $0 > now } ?? false
    }

    // MARK: Losses

    /// The link of the headset that carries the calls is lost: opened again at once the first time, a loss after that.
    private mutating func drop(_ route: Route, _ address: BluetoothAddress) {
        guard var headset = headsets[address] else { return }
        let isFirst = count(headset.drops, within: configuration.flapWindow) == 0
        headset.drops.append(now)
        if !isFirst {
            headset.losses.append(now)
            headset.readyAt = now.advanced(by: settlingTime(headset))
        }
        headsets[address] = headset
        if current?.address == address { setRoute(nil, cause) }
        pending = nil
        if isFirst {
            pending = route
            wantedReason = cause
            dropSince = now
        }
    }

    private mutating func takeSilence(_ address: BluetoothAddress) {
        guard var headset = headsets[address], headset.link.state == .open else { return }
        if let silence = headset.link.silence, silence.resumed == nil { return }
        guard current?.address == address || headset.link.silence != nil else { return }
        if isOnlyRinging { leaveOpen("the link is silent while a call rings") }
        let earlier = count(headset.silences, within: configuration.flapWindow)
        let steady = doubled(configuration.silentResume, times: earlier, limit: .seconds(1_000_000))
        headset.silences.append(now)
        headset.link.silence = Silence(since: now, resumed: nil, steadyTime: steady)
        headsets[address] = headset
        wantedReason = .linkSilent
        if mistake == .silentLinkIsNotKept { giveUpSilent(address) }
    }

    private mutating func giveUpSilent(_ address: BluetoothAddress) {
        let mode = link(address).mode
        requestClose(address)
        cause = .linkLoss
        drop(.headset(address, mode), address)
    }

    // MARK: Times

    /// Everything that is due by now.
    mutating func runTimers() {
        if let jackDue, jackDue <= now { settleJack() }
        for address in addresses {
            let link = link(address)
            if link.state == .opening, link.timeout <= now {
                requestClose(address)
                fail(address)
            }
            forgiveAttempts(address)
            guard let silence = link.silence, link.state == .open else { continue }
            if let resumed = silence.resumed {
                if resumed.advanced(by: silence.steadyTime) <= now { headsets[address]?.link.silence = nil }
            } else if silence.since.advanced(by: configuration.silentClose) <= now {
                giveUpSilent(address)
            }
        }
        if let due = restoreDue, due <= now {
            for address in restoring
            where isAdapterPowered && headsets[address]?.profiles.contains(.a2dp) == true {
                requests.append(.restore(address))
            }
            restoring = []
            restoreDue = nil
        }
    }

    /// The next instant at which something may be due; nothing happens at most of them.
    var nextTimer: Instant? {
        if isTickDue { return now }
        var times: [Instant?] = [
            jackDue, restoreDue, currentSince.advanced(by: configuration.minDwell),
            gapSince.advanced(by: configuration.startGrace), dropSince?.advanced(by: configuration.reopenBridge),
        ]
        for headset in headsets.values {
            times += [headset.readyAt, headset.retryAt, headset.penaltyUntil]
            times += headset.losses.map { $0.advanced(by: configuration.flapWindow) }
            times += headset.automaticChanges.map { $0.advanced(by: Self.changeWindow) }
            switch headset.link.state {
            case .opening: times.append(headset.link.timeout)
            case .open: times.append(headset.link.since.advanced(by: configuration.transferGuard))
            case .closed, .closing: break
            }
            if let silence = headset.link.silence {
                times.append(silence.resumed?.advanced(by: silence.steadyTime))
                times.append(silence.since.advanced(by: configuration.silentClose))
            }
        }
        return times.compactMap(\.self).filter { $0 > now }.min()
    }
}
