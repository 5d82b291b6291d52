package import BluetoothTypes

/// State of the policy that clients see.
extension RoutingPolicy {
    /// One device as listed for users.
    package struct Listing: Hashable, Sendable {
        package let device: AudioDevice
        package let isAvailable: Bool
        /// Reason in words; nil when it is available.
        package let unavailableBecause: String?
        /// Output and input of a call on the device; nil when it is not available.
        package let output: AudioOutput?
        package let input: AudioInput?
    }

    /// Mode of the current route; nil on local devices and without a path.
    package var mode: LinkMode? { current?.mode }

    package var output: AudioOutput { current.map { endpoints(of: $0).output } ?? .none }

    package var input: AudioInput { current.map { endpoints(of: $0).input } ?? .none }

    /// The explicit choice, in force or dormant, in its original form; `local` after a transfer away from a headset.
    package var override: String? { choice?.text }

    /// Mode in which a headset would be used now; nil when it is unknown or not usable.
    package func usableMode(of address: BluetoothAddress) -> LinkMode? {
        headset(address).flatMap { mode(of: $0) }
    }

    /// Whether the policy knows any call.
    package var hasCalls: Bool { !calls.isEmpty }

    /// Whether it knows any headset, connected or not.
    package var knowsHeadsets: Bool { !headsets.isEmpty }
    /// Whether a headset has no link until somebody talks.
    package var hasRestingHeadset: Bool { headsets.contains(where: \.isResting) }

    /// Present and permitted devices, settled or not, in a fixed order; headsets by address.
    package var availableDevices: [AudioDevice] {
        // Called after every event: loops, not chains of closures.
        var devices: [AudioDevice] = []
        for local in LocalDevice.allCases where obstacle(for: local, foreground: []) == nil {
            devices.append(AudioDevice(local))
        }
        for headset in headsets where mode(of: headset) != nil { devices.append(.headset(headset.address)) }
        return devices
    }

    /// The device that is, or would be, used: the choice unless it is `local`, otherwise the preference as set, otherwise
    /// the result of the levels.
    package func selected(at now: Instant) -> AudioDevice {
        if case .device(let device) = choice?.device { return device }
        if preferred != .none { return preferred }
        let found = started ? findDevice(Situation(foreground: foregroundCalls, now: now)) : findSystemDevice()
        return found?.device ?? .none
    }

    /// All known devices, available or not, in a fixed order.
    ///
    /// - Parameter now: does not affect availability; determines how long a headset is still paused or settling.
    package func devices(at now: Instant) -> [Listing] {
        let locals = LocalDevice.allCases.map { local in
            listing(.local(local), because: obstacle(for: local, foreground: []))
        }
        return locals
            + headsets.map { headset in
                switch usability(of: headset) {
                case .usable(let mode): listing(.headset(headset.address, mode), because: nil)
                case .unusable(let obstacle): listing(.headset(headset.address, .hfp), because: obstacle)
                }
            }
    }

    private func listing(_ route: Route, because obstacle: Obstacle?) -> Listing {
        let endpoints = obstacle == nil ? endpoints(of: route) : nil
        return Listing(
            device: route.device, isAvailable: obstacle == nil, unavailableBecause: obstacle?.text,
            output: endpoints?.output, input: endpoints?.input)
    }

    // MARK: Explanation

    /// Every level's finding, and the level that decides: the same evaluation as the choice.
    package func explain(at now: Instant) -> Explanation {
        let situation = Situation(foreground: foregroundCalls, now: now)
        let levels = RoutingLevel.allCases.map { levelFinding($0, find($0, situation), at: now) }
        return Explanation(
            levels: levels, chosen: levels.first { $0.verdict.kind == .eligible }?.level, suspension: suspension,
            target: decision.target, route: current, pending: pending,
            pendingStanding: pending?.address.flatMap { headset($0) }.flatMap { setUpStanding(of: $0, at: now) },
            gap: bridgeClock.map { Explanation.Gap(value: $0.since.duration(to: now), limit: $0.limit) },
            reason: reason, reasonAge: changedAt?.duration(to: now), reasonLimit: reasonLimit,
            next: nextAction(at: now))
    }

    /// Result of a level, with its request and measured values.
    private func levelFinding(_ level: RoutingLevel, _ finding: Finding, at now: Instant) -> LevelFinding {
        var words = LevelFinding(level: level, verdict: .skipped(.notSet))
        switch finding {
        case .skipped(let reason):
            words.verdict = .skipped(reason)
            return words
        case .blocked(let route, let obstacle):
            words.candidate = route
            words.verdict = .ineligible(obstacle)
        case .eligible(let route):
            words.candidate = route
            words.verdict = .eligible(route.address.flatMap { headset($0) }.map { standing(of: $0, at: now) })
        }
        if case .eligible(let route) = finding, let address = route.address, takesAnyHeadset(level) {
            words.rival = rival(of: address, among: candidates(of: level, giving: address), at: now)
        }
        switch level {
        case .jackAfterChoice, .latchedJack, .jackInCall: words.spec = AudioDevice.wiredHeadset.description
        case .preferred: words.spec = preferred.description
        case .default: words.spec = defaultDevice.description
        case .platformOrder: break
        case .explicitChoice:
            guard let choice else { break }
            words.spec = choice.text
            let age = ExplanationText.seconds(choice.madeAt.duration(to: now))
            words.note = "\(choice.origin.text(choice.device)) \(age) ago"
        }
        return words
    }

    /// Headsets that a level with any headset chose from.
    private func candidates(of level: RoutingLevel, giving address: BluetoothAddress) -> Candidates {
        if level == .explicitChoice { return .chosen }
        return headset(address).map(isUsedAutomatically) == false ? .all : .automatic
    }

    private func takesAnyHeadset(_ level: RoutingLevel) -> Bool {
        switch level {
        case .jackAfterChoice, .latchedJack, .jackInCall: false
        case .explicitChoice: choice?.device == .device(.bluetooth)
        case .preferred: preferred == .bluetooth
        case .default: defaultDevice == .bluetooth
        case .platformOrder: true
        }
    }

    /// Time that had to pass for the last change of route, according to the present configuration; nil when it is not fixed.
    private var reasonLimit: Duration? {
        guard current?.local != nil else { return nil }
        switch reason {
        case .linkSilent: return configuration.silentLimit == .zero ? nil : configuration.silentLimit
        case .bridge: return isBridging ? bridgeLimit : nil
        default: return nil
        }
    }

    /// Measured state of a headset without an obstacle.
    func standing(of headset: Headset, at now: Instant) -> Standing {
        if let open = headset.link.opened {
            if let silentSince = open.silentSince {
                return .silent(silentSince.duration(to: now), closedAfter: configuration.silentClose)
            }
            if let steadySince = open.steadySince, let steadyAt = open.steadyAt {
                return .steady(steadySince.duration(to: now), required: steadySince.duration(to: steadyAt))
            }
        }
        if current?.address == headset.address {
            return .carrying(currentSince.duration(to: now), kept: configuration.minDwell)
        }
        if pending?.address == headset.address, let standing = setUpStanding(of: headset, at: now) { return standing }
        return .stable(
            headset.settlesSince.duration(to: now), required: headset.settlesSince.duration(to: headset.readyAt),
            isRequired: mustSettle(headset, at: now))
    }

    /// Progress of a pending headset's link set-up; nil when the link is open.
    func setUpStanding(of headset: Headset, at now: Instant) -> Standing? {
        let attempt = headset.attempts + 1
        let attempts = configuration.openAttempts
        switch headset.link {
        case .opening(let opening):
            return .opening(
                attempt: attempt, of: attempts, elapsed: opening.since.duration(to: now),
                timeout: opening.since.duration(to: opening.deadline))
        case .open:
            return nil
        case .closed, .closing:
            guard let retryAt = headset.retryAt, retryAt > now else { return .queued(attempt: attempt, of: attempts) }
            let pause = retryPause(after: headset.attempts)
            return .pausing(
                attempt: attempt, of: attempts, elapsed: pause - now.duration(to: retryAt), pause: pause)
        }
    }

    /// Obstacle of a known headset that is not connected, with its required settling time.
    func absence(of headset: Headset, at now: Instant) -> Obstacle {
        guard mustSettle(headset, at: now) else { return .notConnected }
        let losses = headset.losses.count(within: configuration.flapWindow, of: now)
        let required = settlingTime(losses: losses)
        guard losses > 0, let latest = headset.losses.latest else { return .awaited(required: required) }
        return .lost(ago: latest.duration(to: now), required: required)
    }

    /// Reason why no device is to carry audio now; nil while a call requests one.
    package var suspension: Explanation.Suspension? {
        if !started { return .stopped }
        if calls.isEmpty { return .noCall }
        if interruption != .none { return .interrupted }
        if configuration.manualRendering { return .manualRendering }
        if configuration.manualAudio, !isSessionActive { return .sessionInactive }
        switch demand {
        case .path: return nil
        case .ringing: return .ringing
        case .none: return isParked ? .parked : .held
        }
    }
}
