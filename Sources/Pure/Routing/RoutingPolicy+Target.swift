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

    /// Headsets that a level with any headset chooses from.
    enum Candidates {
        /// Headsets that take calls, and those of `headsetOrder`.
        case automatic
        /// Also those that the explicit choice names.
        case chosen
        /// All: the last resort.
        case all
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
        case .device(let device): find(device, situation, among: .chosen)
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
        let last = find(.bluetooth, situation, among: .all)
        return last.isEligible ? last : .blocked(nil, .noDevice)
    }

    // MARK: Devices

    /// - Parameter candidates: the meaning of `bluetooth`.
    private func find(
        _ device: AudioDevice, _ situation: Situation, among candidates: Candidates = .automatic
    ) -> Finding {
        switch device {
        case .none:
            return .blocked(nil, .noDevice)
        case .speakerphone: return find(.speakerphone, situation)
        case .wiredHeadset: return find(.wiredHeadset, situation)
        case .earpiece: return find(.earpiece, situation)
        case .bluetooth:
            return findHeadset(situation, among: candidates)
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
    private func findHeadset(_ situation: Situation, among candidates: Candidates) -> Finding {
        if situation.isLocalOnly { return .blocked(nil, .notLocal) }
        let carrying = configuration.newHeadset == .stay ? carryingHeadset : nil
        var eligible: Int?
        var blocked: (index: Int, obstacle: Obstacle)?
        for index in headsets.indices where isOne(headsets[index], of: candidates) {
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
    func isUsedAutomatically(_ headset: Headset) -> Bool {
        headset.category == .headset && !headset.declinesCalls || headset.place != nil
    }

    /// Whether the explicit choice names a headset.
    func isChosen(_ headset: Headset) -> Bool {
        switch choice?.device {
        case .device(.bluetooth): isOne(headset, of: .chosen)
        case .device(let device): device.names(headset.address)
        case .local, nil: false
        }
    }

    private func isOne(_ headset: Headset, of candidates: Candidates) -> Bool {
        switch candidates {
        case .automatic: isUsedAutomatically(headset)
        case .chosen: isUsedAutomatically(headset) || choice?.others.contains(headset.address) == true
        case .all: true
        }
    }

    /// Whether a headset is better than one with a lower address.
    private func ranks(_ index: Int, before other: Int, carrying: BluetoothAddress?) -> Bool {
        compare(index, with: other, carrying: carrying).isBefore
    }

    /// Whether a headset is better than one with a lower address, and the advantage of the better one: by explicit order,
    /// the one that carries the call, the most recent.
    private func compare(
        _ index: Int, with other: Int, carrying: BluetoothAddress?
    ) -> (isBefore: Bool, advantage: Rival.Advantage) {
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
    ///
    /// - Parameter candidates: the headsets that the level chose from; the others rank behind them.
    func rival(of address: BluetoothAddress, among candidates: Candidates, at now: Instant) -> Rival? {
        guard let found = index(of: address) else { return nil }
        let carrying = configuration.newHeadset == .stay ? carryingHeadset : nil
        let first = candidates == .all ? .automatic : candidates
        var best: Int?
        for index in headsets.indices where index != found && mode(of: headsets[index]) != nil {
            if let best {
                let isFirst = isOne(headsets[index], of: first)
                let isBetter =
                    isFirst == isOne(headsets[best], of: first)
                    ? ranks(index, before: best, carrying: carrying) : isFirst
                if !isBetter { continue }
            }
            best = index
        }
        guard let best else { return nil }
        guard isOne(headsets[best], of: candidates) else {
            return Rival(address: headsets[best].address, reason: .outranked(by: .category))
        }
        var (isBefore, advantage) = compare(max(best, found), with: min(best, found), carrying: carrying)
        if best < found { isBefore.toggle() }
        // The last resort comes after every headset that is used automatically.
        if isOne(headsets[best], of: first), !isOne(headsets[found], of: first) { isBefore = true }
        let other = headsets[best]
        if isBefore, let obstacle = obstacle(for: other, Situation(foreground: foregroundCalls, now: now)) {
            return Rival(address: other.address, reason: .kept(obstacle))
        }
        return Rival(address: other.address, reason: .outranked(by: advantage))
    }

    /// The headset that has the call, is getting it while no other device has it, keeps its link through a silence and
    /// until it is used again, or whose lost link is opened again for the first time. Another one whose link is still
    /// being opened while a local device has the call carries nothing: a newer headset may precede it.
    private var carryingHeadset: BluetoothAddress? {
        if let address = current?.address { return address }
        if let address = pending?.address, current == nil || isReopening(address) { return address }
        return headsets.first { $0.link.opened != nil }?.address
    }

    /// Whether the first attempt to open a lost link again has not failed yet.
    private func isReopening(_ address: BluetoothAddress) -> Bool {
        decision.reason == .linkLoss && headset(address)?.attempts == 0
    }
}
