import BluetoothTypes

/// Which devices are there, how they are used, and what keeps them from taking the call (routing policy §4, §5).
extension RoutingPolicy {
    /// The most automatic changes to one headset within the window (routing policy §12, I10).
    static let switchLimit = 6
    static let switchWindow = Duration.seconds(30)

    // MARK: Local devices

    var isWiredPresent: Bool { (jack != .empty || hasDetachedWired) && !isWiredLost }

    /// Whether the earpiece is there but hidden by a plug.
    var isEarpieceMasked: Bool {
        configuration.jackMasksEarpiece && (jack != .empty || hasDetachedWired)
    }

    func obstacle(for local: LocalDevice, foreground: [RoutingCall]) -> Obstacle? {
        let isPresent = local == .wiredHeadset ? isWiredPresent : locals.contains(local)
        guard isPresent else { return .notPresent }
        guard !configuration.exclude.contains(AudioDevice(local)) else { return .excluded }
        if local == .earpiece, isEarpieceMasked { return .masked }
        guard foreground.allSatisfy({ $0.supports(local.kind) }) else { return .unsupportedByCall }
        return nil
    }

    // MARK: Headsets

    /// What the configuration says of one headset.
    func applyConfiguration(to headset: inout Headset) {
        headset.place = configuration.headsetOrder.firstIndex(of: headset.address)
        headset.isExcluded = configuration.exclude.contains { $0.names(headset.address) }
    }

    /// What the configuration says of every headset: the lists are read once, not for each headset.
    mutating func applyConfigurationToHeadsets() {
        var places: [BluetoothAddress: Int] = [:]
        for (place, address) in configuration.headsetOrder.enumerated() where places[address] == nil {
            places[address] = place
        }
        let excluded = Set(configuration.exclude)
        let isBluetoothExcluded = excluded.contains(.bluetooth)
        for index in headsets.indices {
            let address = headsets[index].address
            headsets[index].place = places[address]
            headsets[index].isExcluded = isBluetoothExcluded || excluded.contains(.headset(address))
        }
    }

    /// How the headset is used now; nil when it is not usable.
    func mode(of headset: Headset) -> LinkMode? {
        switch usability(of: headset) {
        case .usable(let mode): mode
        case .unusable: nil
        }
    }

    enum Usability {
        case usable(LinkMode)
        case unusable(Obstacle)
    }

    func usability(of headset: Headset) -> Usability {
        guard isAdapterPowered else { return .unusable(.adapterOff) }
        guard headset.hfp || headset.a2dp else { return .unusable(.notConnected) }
        guard !headset.isExcluded else { return .unusable(.excluded) }
        let allowsA2DP = configuration.allowBluetoothA2DP || !isMicrophoneRequested
        switch (configuration.microphoneEnabled, allowsA2DP) {
        case (false, _): return headset.a2dp ? .usable(.a2dp) : .unusable(.handsFreeOnly)
        case (true, false): return headset.hfp ? .usable(.hfp) : .unusable(.mediaOnly)
        case (true, true): return headset.a2dp ? .usable(.a2dp) : .usable(.hfp)
        }
    }

    /// What keeps the headset from being the target; nil when it is eligible.
    func obstacle(for headset: Headset, _ situation: Situation) -> Obstacle? {
        if case .unusable(let obstacle) = usability(of: headset) {
            return obstacle == .notConnected ? absence(of: headset, at: situation.now) : obstacle
        }
        if situation.isLocalOnly { return .notLocal }
        guard situation.foreground.allSatisfy({ $0.supports(.bluetooth) }) else { return .unsupportedByCall }
        let now = situation.now
        if let until = headset.penaltyUntil, until > now {
            return .penalty(
                remaining: now.duration(to: until), attempts: headset.failedAttempts, last: headset.lastFailure)
        }
        if current?.address == headset.address { return nil }
        if !headset.limitWaived {
            let switchIns = headset.switchIns.count(within: Self.switchWindow, of: now)
            if switchIns >= Self.switchLimit {
                return .switchLimit(count: switchIns, limit: Self.switchLimit, window: Self.switchWindow)
            }
        }
        if pending?.address == headset.address || headset.link.opened?.isHeldBack == true { return nil }
        guard mustSettle(headset, at: now) else { return nil }
        if now < headset.readyAt {
            return .settling(
                stable: headset.settlesSince.duration(to: now),
                required: headset.settlesSince.duration(to: headset.readyAt))
        }
        if let carrier = current?.address, !headset.dwellWaived {
            let carried = currentSince.duration(to: now)
            if carried < configuration.minDwell {
                return .dwell(carrier: carrier, carried: carried, required: configuration.minDwell)
            }
        }
        return nil
    }

    /// Whether the headset has to be stable first: not while nothing is open or pending and it has not been lost.
    func mustSettle(_ headset: Headset, at now: Instant) -> Bool {
        current != nil || pending != nil || headset.losses.isRecent(within: configuration.flapWindow, of: now)
    }

    /// Whether the calls that matter send audio: those in the foreground, else all. One that only receives leaves A2DP to
    /// headsets that have it; without A2DP they are used all the same.
    var isMicrophoneRequested: Bool {
        var isAnyInForeground = false
        var isAskedByAny = calls.isEmpty
        for call in calls {
            if call.isForeground, call.wantsMicrophone { return true }
            isAnyInForeground = isAnyInForeground || call.isForeground
            isAskedByAny = isAskedByAny || call.wantsMicrophone
        }
        return !isAnyInForeground && isAskedByAny
    }

    // MARK: Paths

    struct Endpoints: Hashable, Sendable {
        let output: AudioOutput
        let input: AudioInput
    }

    /// Where sound goes and comes from on a route, by the facts of now (routing policy §4).
    func endpoints(of route: Route) -> Endpoints {
        let hasInput = configuration.microphoneEnabled && isMicrophoneRequested
        let builtin = hasInput ? AudioInput.builtinMic : .none
        switch route {
        case .local(.speakerphone): return Endpoints(output: .speaker, input: builtin)
        case .local(.earpiece): return Endpoints(output: .earpiece, input: builtin)
        case .local(.wiredHeadset):
            let hasMicrophone = jack == .headset || jack == .empty && hasDetachedWired
            let wired = hasInput && hasMicrophone
            return Endpoints(output: .jack, input: wired ? .jackMic : builtin)
        case .headset(let address, .hfp):
            return Endpoints(output: .sco(address), input: hasInput ? .sco(address) : .none)
        case .headset(let address, .a2dp):
            return Endpoints(output: .a2dp(address), input: builtin)
        }
    }
}
