package import BluetoothTypes

/// The choice: a walk over levels, each of which yields a candidate and why it can or cannot be used
/// (routing policy §5).
extension RoutingPolicy {
    /// What the walk is done for.
    struct Situation {
        let foreground: [RoutingCall]
        let now: Instant
        /// Only devices of the board, for standing in.
        var isLocalOnly = false

        var isVideo: Bool { foreground.contains(where: \.video) }
    }

    /// What the calls ask for.
    enum Demand {
        /// No path: no call, or none that may have audio.
        case none
        /// The link of a headset that rings in-band, and nothing else.
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

    /// Whether a call is due audio and some device could carry it: the time that counts as silence without a path.
    package func isPathDue(at now: Instant) -> Bool {
        started && isAudioPermitted && calls.contains(where: \.isForeground)
            && (current != nil || findTarget(at: now) != nil)
    }

    /// What the route should be, found anew from all facts.
    func findTarget(at now: Instant) -> Route? {
        switch demand {
        case .none: nil
        case .ringing: started ? findRingTarget(at: now) : nil
        case .path: started ? findDevice(Situation(foreground: foregroundCalls, now: now)) : findSystemDevice()
        }
    }

    /// While stopped: the system device, else any local device.
    func findSystemDevice() -> Route? {
        let candidates = [configuration.systemDevice.local, .speakerphone, .earpiece, .wiredHeadset]
        for case let local? in candidates where obstacle(for: local, foreground: []) == nil { return .local(local) }
        return nil
    }

    /// The device that the first level with an eligible one gives.
    func findDevice(_ situation: Situation) -> Route? {
        for level in RoutingLevel.allCases {
            let finding = find(level, situation)
            if finding.verdict.kind == .eligible { return finding.candidate }
        }
        return nil
    }

    /// The best device of the board by the same levels.
    func findLocalDevice(at now: Instant) -> Route? {
        findDevice(Situation(foreground: foregroundCalls, now: now, isLocalOnly: true))
    }

    func find(_ level: RoutingLevel, _ situation: Situation) -> LevelFinding {
        switch level {
        case .jackAfterChoice: findJackAfterChoice(situation)
        case .explicitChoice: findExplicitChoice(situation)
        case .latchedJack: findLatchedJack(situation)
        case .preferred: findPreferred(situation)
        case .jackInCall: findJackInCall(situation)
        case .default: findDefault(situation)
        case .platformOrder: findPlatformOrder(situation)
        }
    }

    // MARK: Levels

    private func findJackAfterChoice(_ situation: Situation) -> LevelFinding {
        let level = RoutingLevel.jackAfterChoice
        guard let choice else { return .skipped(level, .noExplicitChoice) }
        guard configuration.jackGesture != .off else { return .skipped(level, .jackGestureOff) }
        guard let plugGesture else { return .skipped(level, .noPlugGesture) }
        guard plugGesture > choice.sequence else { return .skipped(level, .pluggedBeforeChoice) }
        return find(level, .wiredHeadset, situation)
    }

    private func findExplicitChoice(_ situation: Situation) -> LevelFinding {
        let level = RoutingLevel.explicitChoice
        guard let choice else { return .skipped(level, .noExplicitChoice) }
        var finding =
            switch choice.device {
            case .device(let device): find(level, device, situation, isExplicit: true)
            case .local: findBestLocal(situation)
            }
        finding.spec = choice.text
        let age = choice.madeAt.duration(to: situation.now)
        finding.note = "\(choice.origin.text(choice.device)) \(ExplanationText.seconds(age)) ago"
        return finding
    }

    /// The default if that is local, else what the levels below give when headsets are left out.
    private func findBestLocal(_ situation: Situation) -> LevelFinding {
        let level = RoutingLevel.explicitChoice
        var local = situation
        local.isLocalOnly = true
        if defaultDevice.local != nil {
            let finding = find(level, defaultDevice, local)
            if finding.verdict.kind == .eligible { return finding }
        }
        let below: [RoutingLevel] = [.latchedJack, .preferred, .jackInCall, .platformOrder]
        for other in below {
            let finding = find(other, local)
            guard finding.verdict.kind == .eligible else { continue }
            return LevelFinding(level: level, candidate: finding.candidate, verdict: finding.verdict)
        }
        return LevelFinding(level: level, candidate: nil, verdict: .ineligible(.noDevice))
    }

    private func findLatchedJack(_ situation: Situation) -> LevelFinding {
        let level = RoutingLevel.latchedJack
        guard configuration.jackGesture == .latched else { return .skipped(level, .jackNotLatched) }
        guard isWiredPresent else { return .skipped(level, .nothingPlugged) }
        return find(level, .wiredHeadset, situation)
    }

    private func findPreferred(_ situation: Situation) -> LevelFinding {
        guard preferred != .none else { return .skipped(.preferred, .notSet) }
        return find(.preferred, preferred, situation)
    }

    private func findJackInCall(_ situation: Situation) -> LevelFinding {
        let level = RoutingLevel.jackInCall
        guard configuration.jackGesture == .midCall else { return .skipped(level, .jackGestureOff) }
        guard plugGesture != nil else { return .skipped(level, .noPlugGesture) }
        guard defaultDevice != .none else { return .skipped(level, .noDefaultToOutrank) }
        return find(level, .wiredHeadset, situation)
    }

    private func findDefault(_ situation: Situation) -> LevelFinding {
        guard defaultDevice != .none else { return .skipped(.default, .notSet) }
        return find(.default, defaultDevice, situation)
    }

    /// Wired and headsets by attachment, then the board's own devices, last any headset at all.
    private func findPlatformOrder(_ situation: Situation) -> LevelFinding {
        var candidates: [LevelFinding] = []
        let automatic = find(.platformOrder, .bluetooth, situation)
        let wired = find(.platformOrder, .wiredHeadset, situation)
        let automaticSince = automatic.candidate?.address.flatMap { headset($0)?.attachedAt }
        if let wiredAttachedAt, let automaticSince, automaticSince > wiredAttachedAt {
            candidates = [automatic, wired]
        } else {
            candidates = [wired, automatic]
        }
        let locals: [AudioDevice] = situation.isVideo ? [.speakerphone, .earpiece] : [.earpiece, .speakerphone]
        candidates += locals.map { find(.platformOrder, $0, situation) }
        candidates.append(find(.platformOrder, .bluetooth, situation, isExplicit: true))
        var finding =
            candidates.first { $0.verdict.kind == .eligible }
            ?? LevelFinding(level: .platformOrder, candidate: nil, verdict: .ineligible(.noDevice))
        finding.spec = nil
        return finding
    }

    // MARK: Devices

    /// - Parameter isExplicit: `bluetooth` then means any headset, if there is none that is used automatically.
    private func find(
        _ level: RoutingLevel, _ device: AudioDevice, _ situation: Situation, isExplicit: Bool = false
    ) -> LevelFinding {
        let spec = device.description
        if let local = device.local {
            let verdict = obstacle(for: local, foreground: situation.foreground).map { Verdict.ineligible($0) }
            return LevelFinding(level: level, spec: spec, candidate: .local(local), verdict: verdict ?? .eligible(nil))
        }
        var named = headsets.filter { device.names($0.address) }
        if device == .bluetooth {
            let automatic = ranked(named.filter(isUsedAutomatically))
            named = isExplicit ? automatic + ranked(named.filter { !isUsedAutomatically($0) }) : automatic
        }
        var first: LevelFinding?
        for headset in named {
            let candidate = Route.headset(headset.address, mode(of: headset) ?? .hfp)
            guard let obstacle = obstacle(for: headset, situation) else {
                let standing = standing(of: headset, at: situation.now)
                return LevelFinding(level: level, spec: spec, candidate: candidate, verdict: .eligible(standing))
            }
            if first == nil {
                first = LevelFinding(level: level, spec: spec, candidate: candidate, verdict: .ineligible(obstacle))
            }
        }
        return first
            ?? LevelFinding(level: level, spec: spec, candidate: nil, verdict: .ineligible(.notConnected))
    }

    /// Loudspeakers and watches are left out unless the configuration ranks them.
    private func isUsedAutomatically(_ headset: Headset) -> Bool {
        headset.category == .headset || configuration.headsetOrder.contains(headset.address)
    }

    /// Best first: explicit order, the one that carries the call, the most recent, the lowest address.
    private func ranked(_ headsets: [Headset]) -> [Headset] {
        guard headsets.count > 1 else { return headsets }
        let order = configuration.headsetOrder
        let carrying = configuration.newHeadset == .stay ? carryingHeadset : nil
        func place(_ headset: Headset) -> Int { order.firstIndex(of: headset.address) ?? order.endIndex }
        return headsets.sorted { left, right in
            let (leftPlace, rightPlace) = (place(left), place(right))
            if leftPlace != rightPlace { return leftPlace < rightPlace }
            if (left.address == carrying) != (right.address == carrying) { return left.address == carrying }
            if left.attachedAt != right.attachedAt {
                guard let leftTime = left.attachedAt else { return false }
                guard let rightTime = right.attachedAt else { return true }
                return leftTime > rightTime
            }
            return left.address < right.address
        }
    }

    /// The headset that has the call, is getting it while no other device has, or keeps its link through a silence. One
    /// whose link is opened while a local device has the call carries nothing: a newer headset may come first.
    private var carryingHeadset: BluetoothAddress? {
        current?.address ?? (current == nil ? pending?.address : nil)
            ?? headsets.first { $0.link.opened?.isHeldBack == true }?.address
    }
}
