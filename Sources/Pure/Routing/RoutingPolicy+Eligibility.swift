import BluetoothTypes

/// Present devices, their use, and their obstacles to taking the call (docs/inside/Routing.md §4, §5).
extension RoutingPolicy {
    /// Maximum number of automatic changes to one headset within the window (docs/inside/Routing.md §12, I10).
    static let switchLimit = 6
    static let switchWindow = Duration.seconds(30)

    // MARK: Local devices

    var isWiredPresent: Bool { (jack != .empty || hasDetachedWired) && !isWiredLost }

    /// Whether the earpiece is present but hidden by a plug.
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

    /// Applies the configuration to one headset.
    func applyConfiguration(to headset: inout Headset) {
        headset.place = configuration.headsetOrder.firstIndex(of: headset.address)
        headset.isExcluded = configuration.exclude.contains { $0.names(headset.address) }
    }

    /// Applies the configuration to every headset: the lists are read once, not per headset.
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

    /// Mode in which the headset is used now; nil when it is not usable.
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

    /// Obstacle that keeps the headset from being the target; nil when it is eligible.
    func obstacle(for headset: Headset, _ situation: Situation) -> Obstacle? {
        if case .unusable(let obstacle) = usability(of: headset) {
            return obstacle == .notConnected ? absence(of: headset, at: situation.now) : obstacle
        }
        if situation.isLocalOnly { return .notLocal }
        if headset.isResting { return .resting }
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

    /// Whether the headset must settle first: not while nothing is open or pending and it has not been lost.
    func mustSettle(_ headset: Headset, at now: Instant) -> Bool {
        current != nil || pending != nil || headset.losses.isRecent(within: configuration.flapWindow, of: now)
    }

    /// Whether the relevant calls send audio: those in the foreground, otherwise all. A call that only receives uses A2DP on
    /// headsets that have it, and HFP on others.
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

    /// Returns the output and input of a route, according to present facts (docs/inside/Routing.md §4).
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
