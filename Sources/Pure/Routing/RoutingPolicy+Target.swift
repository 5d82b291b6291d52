package import BluetoothTypes

/// The choice: evaluates levels, each of which yields a candidate and its verdict (docs/inside/Routing.md §5).
extension RoutingPolicy {
    /// Purpose of the evaluation.
    struct Situation {
        let foreground: [RoutingCall]
        let now: Instant
        /// Only devices of the board, to stand in.
        var isLocalOnly = false

        var isVideo: Bool { foreground.contains(where: \.video) }
    }

    /// Result of a level, without its explanation.
    enum Finding {
        case skipped(SkipReason)
        case blocked(Route?, Obstacle)
        case eligible(Route)

        var isEligible: Bool {
            switch self {
            case .eligible: true
            case .skipped, .blocked: false
            }
        }

        /// The headset found, eligible or not.
        var address: BluetoothAddress? {
            switch self {
            case .eligible(let route), .blocked(let route?, _): route.address
            case .skipped, .blocked(nil, _): nil
            }
        }
    }

    /// Audio that the calls request.
    enum Demand {
        /// No path: no call, or none that may have audio.
        case none
        /// Only the link of a headset that rings in-band.
        case ringing
        case path
    }

    var foregroundCalls: [RoutingCall] { calls.filter(\.isForeground) }

    package var isAudioPermitted: Bool {
        interruption == .none && !configuration.manualRendering && (!configuration.manualAudio || isSessionActive)
    }

    var demand: Demand {
        guard isAudioPermitted, !calls.isEmpty else { return .none }
        if calls.contains(where: \.isForeground) { return .path }
        if calls.contains(where: { $0.state == .held }) {
            return configuration.releaseOnHold || isParked ? .none : .path
        }
        return .ringing
    }

    /// Whether a call is due audio and some device could carry it: such time without a path counts as silence.
    package func isPathDue(at now: Instant) -> Bool {
        started && isAudioPermitted && calls.contains(where: \.isForeground)
            && (current != nil || findTarget(at: now) != nil)
    }

    /// Determines the target from all facts.
    func findTarget(at now: Instant) -> Route? {
        switch demand {
        case .none: nil
        case .ringing: started ? findRingTarget(at: now) : nil
        case .path: started ? findDevice(Situation(foreground: foregroundCalls, now: now)) : findSystemDevice()
        }
    }

    /// Target while stopped: the system device, otherwise any local device.
    func findSystemDevice() -> Route? {
        let candidates = [configuration.systemDevice.local, .speakerphone, .earpiece, .wiredHeadset]
        for case let local? in candidates where obstacle(for: local, foreground: []) == nil { return .local(local) }
        return nil
    }

    /// Device of the first level with an eligible one.
    func findDevice(_ situation: Situation) -> Route? {
        for level in RoutingLevel.allCases {
            if case .eligible(let route) = find(level, situation) { return route }
        }
        return nil
    }

    /// Best device of the board according to the same levels.
    func findLocalDevice(at now: Instant) -> Route? {
        findDevice(Situation(foreground: foregroundCalls, now: now, isLocalOnly: true))
    }

    func find(_ level: RoutingLevel, _ situation: Situation) -> Finding {
        switch level {
        case .jackAfterChoice: findJackAfterChoice(situation)
        case .explicitChoice: findExplicitChoice(situation)
        case .latchedJack: findLatchedJack(situation)
        case .preferred: preferred == .none ? .skipped(.notSet) : find(preferred, situation)
        case .jackInCall: findJackInCall(situation)
        case .default: defaultDevice == .none ? .skipped(.notSet) : find(defaultDevice, situation)
        case .platformOrder: findPlatformOrder(situation)
        }
    }

    // MARK: Levels

    private func findJackAfterChoice(_ situation: Situation) -> Finding {
        guard let choice else { return .skipped(.noExplicitChoice) }
        guard configuration.jackGesture != .off else { return .skipped(.jackGestureOff) }
        guard let plugGesture else { return .skipped(.noPlugGesture) }
        guard plugGesture > choice.sequence else { return .skipped(.pluggedBeforeChoice) }
        return find(.wiredHeadset, situation)
    }

    private func findExplicitChoice(_ situation: Situation) -> Finding {
        switch choice?.device {
        case .device(let device): find(device, situation, isExplicit: true)
        case .local: findBestLocal(situation)
        case nil: .skipped(.noExplicitChoice)
        }
    }

    /// The default if that is local, otherwise the result of the levels below without headsets.
    private func findBestLocal(_ situation: Situation) -> Finding {
        var local = situation
        local.isLocalOnly = true
        if defaultDevice.local != nil {
            let finding = find(defaultDevice, local)
            if finding.isEligible { return finding }
        }
        let below: [RoutingLevel] = [.latchedJack, .preferred, .jackInCall, .platformOrder]
        for level in below {
            let finding = find(level, local)
            if finding.isEligible { return finding }
        }
        return .blocked(nil, .noDevice)
    }

    private func findLatchedJack(_ situation: Situation) -> Finding {
        guard configuration.jackGesture == .latched else { return .skipped(.jackNotLatched) }
        guard isWiredPresent else { return .skipped(.nothingPlugged) }
        return find(.wiredHeadset, situation)
    }

    private func findJackInCall(_ situation: Situation) -> Finding {
        guard configuration.jackGesture == .midCall else { return .skipped(.jackGestureOff) }
        guard plugGesture != nil else { return .skipped(.noPlugGesture) }
        guard defaultDevice != .none else { return .skipped(.noDefaultToOutrank) }
        return find(.wiredHeadset, situation)
    }

    /// Wired headset and headsets by attachment, then the board's own devices, finally any headset.
    private func findPlatformOrder(_ situation: Situation) -> Finding {
        let automatic = find(.bluetooth, situation)
        let wired = find(.wiredHeadset, situation)
        let isAutomaticNewer =
            if let wiredAttachedAt, let attachedAt = automatic.address.flatMap({ headset($0)?.attachedAt }) {
                attachedAt > wiredAttachedAt
            } else {
                false
            }
        let newer = isAutomaticNewer ? automatic : wired
        if newer.isEligible { return newer }
        let older = isAutomaticNewer ? wired : automatic
        if older.isEligible { return older }
        let first = find(situation.isVideo ? .speakerphone : .earpiece, situation)
        if first.isEligible { return first }
        let second = find(situation.isVideo ? .earpiece : .speakerphone, situation)
        if second.isEligible { return second }
        let last = find(.bluetooth, situation, isExplicit: true)
        return last.isEligible ? last : .blocked(nil, .noDevice)
    }

    // MARK: Devices

    /// - Parameter isExplicit: `bluetooth` then means any headset, if none is used automatically.
    private func find(_ device: AudioDevice, _ situation: Situation, isExplicit: Bool = false) -> Finding {
        switch device {
        case .none:
            return .blocked(nil, .noDevice)
        case .speakerphone: return find(.speakerphone, situation)
        case .wiredHeadset: return find(.wiredHeadset, situation)
        case .earpiece: return find(.earpiece, situation)
        case .bluetooth:
            return findHeadset(situation, isExplicit: isExplicit)
        case .headset(let address):
            guard let index = index(of: address) else { return .blocked(nil, .notConnected) }
            return finding(index, obstacle(for: headsets[index], situation))
        }
    }

    private func find(_ local: LocalDevice, _ situation: Situation) -> Finding {
        if let obstacle = obstacle(for: local, foreground: situation.foreground) {
            return .blocked(.local(local), obstacle)
        }
        return .eligible(.local(local))
    }

    private func finding(_ index: Int, _ obstacle: Obstacle?) -> Finding {
        let route = Route.headset(headsets[index].address, mode(of: headsets[index]) ?? .hfp)
        return obstacle.map { .blocked(route, $0) } ?? .eligible(route)
    }

    /// The best eligible headset, otherwise the best of all with its obstacle; one pass over all headsets.
    private func findHeadset(_ situation: Situation, isExplicit: Bool) -> Finding {
        if situation.isLocalOnly { return .blocked(nil, .notLocal) }
        let carrying = configuration.newHeadset == .stay ? carryingHeadset : nil
        var eligible: Int?
        var blocked: (index: Int, obstacle: Obstacle)?
        for index in headsets.indices where isExplicit || isUsedAutomatically(headsets[index]) {
            if let eligible, !ranks(index, before: eligible, carrying: carrying) { continue }
            guard let obstacle = obstacle(for: headsets[index], situation) else {
                eligible = index
                continue
            }
            if let blocked, !ranks(index, before: blocked.index, carrying: carrying) { continue }
            blocked = (index, obstacle)
        }
        if let eligible { return finding(eligible, nil) }
        if let blocked { return finding(blocked.index, blocked.obstacle) }
        return .blocked(nil, .notConnected)
    }

    /// Whether the headset is used without an explicit choice: not loudspeakers, watches and headsets that decline calls,
    /// unless the configuration ranks them.
    private func isUsedAutomatically(_ headset: Headset) -> Bool {
        headset.category == .headset && !headset.declinesCalls || headset.place != nil
    }

    /// Whether a headset is better than one with a lower address.
    private func ranks(_ index: Int, before other: Int, carrying: BluetoothAddress?) -> Bool {
        compare(index, with: other, carrying: carrying).isBefore
    }

    /// Whether a headset is better than one with a lower address, and the advantage of the better one: first those used
    /// automatically, then by explicit order, the one that carries the call, the most recent.
    private func compare(
        _ index: Int, with other: Int, carrying: BluetoothAddress?
    ) -> (isBefore: Bool, advantage: Rival.Advantage) {
        let isAutomatic = isUsedAutomatically(headsets[index])
        if isAutomatic != isUsedAutomatically(headsets[other]) { return (isAutomatic, .category) }
        let (place, otherPlace) = (headsets[index].place, headsets[other].place)
        if place != otherPlace {
            let isBefore = place ?? .max < otherPlace ?? .max
            let (better, worse) = isBefore ? (place, otherPlace) : (otherPlace, place)
            return (isBefore, .order(better.map { $0 + 1 }, other: worse.map { $0 + 1 }))
        }
        if headsets[index].address == carrying { return (true, .call) }
        if headsets[other].address == carrying { return (false, .call) }
        let (attachedAt, otherAttachedAt) = (headsets[index].attachedAt, headsets[other].attachedAt)
        if attachedAt == otherAttachedAt { return (false, .address) }
        guard let attachedAt else { return (false, .attachment) }
        guard let otherAttachedAt else { return (true, .attachment) }
        return (attachedAt > otherAttachedAt, .attachment)
    }

    /// Best of the other usable headsets when a level with any headset has chosen one; nil without another.
    func rival(of address: BluetoothAddress, at now: Instant) -> Rival? {
        guard let found = index(of: address) else { return nil }
        let carrying = configuration.newHeadset == .stay ? carryingHeadset : nil
        var best: Int?
        for index in headsets.indices where index != found && mode(of: headsets[index]) != nil {
            if let best, !ranks(index, before: best, carrying: carrying) { continue }
            best = index
        }
        guard let best else { return nil }
        var (isBefore, advantage) = compare(max(best, found), with: min(best, found), carrying: carrying)
        if best < found { isBefore.toggle() }
        let other = headsets[best]
        if isBefore, let obstacle = obstacle(for: other, Situation(foreground: foregroundCalls, now: now)) {
            return Rival(address: other.address, reason: .kept(obstacle))
        }
        return Rival(address: other.address, reason: .outranked(by: advantage))
    }

    /// The headset that has the call, is getting it while no other device has it, or keeps its link through a silence and
    /// until it is used again. One whose link is still being opened while a local device has the call carries nothing: a
    /// newer headset may precede it.
    private var carryingHeadset: BluetoothAddress? {
        if let address = current?.address { return address }
        if current == nil, let address = pending?.address { return address }
        return headsets.first { $0.link.opened != nil }?.address
    }
}
