import BluetoothTypes

/// Determines the next action by simulation: a copy of the policy runs from deadline to deadline until something noticeable
/// happens. The explanation therefore always agrees with the policy.
extension RoutingPolicy {
    /// Limit for deadlines without a noticeable effect: one or a few for each headset.
    private static let deadlineLimit = 1000

    func nextAction(at now: Instant) -> NextAction? {
        if let pending, let headset = pending.address.flatMap({ headset($0) }),
            case .queued(let attempt, let attempts) = setUpStanding(of: headset, at: now)
        {
            return NextAction(kind: .attempt(attempt, of: attempts), device: pending.device, remaining: nil)
        }
        var future = self
        for _ in 0..<Self.deadlineLimit {
            guard let deadline = future.announcedDeadline else { return nil }
            let past = future
            let time = max(deadline, now)
            let effects = future.handle(.deadlineReached, at: time)
            guard let (kind, device) = future.notice(effects, since: past) else { continue }
            return NextAction(kind: kind, device: device, remaining: now.duration(to: time))
        }
        return nil
    }

    /// Noticeable effect of a step; nil without one.
    private func notice(_ effects: [RoutingEffect], since past: RoutingPolicy) -> (NextAction.Kind, AudioDevice?)? {
        if let current, current != past.current {
            return (isBridging ? .standIn : .takeCall, current.device)
        }
        for effect in effects {
            guard case .closeLink(let address) = effect, let before = past.headset(address) else { continue }
            switch before.link {
            case .open(let open):
                guard let silentSince = open.silentSince, silentSince.advanced(by: configuration.silentClose) <= latest
                else { continue }
                return (.closeSilentLink, .headset(address))
            case .opening(let opening):
                guard opening.deadline <= latest else { continue }
                let attempts = configuration.openAttempts
                return (.timeOut(attempt: before.attempts + 1, of: attempts), .headset(address))
            case .closed, .closing: continue
            }
        }
        if let pending, pending != past.pending { return (.mayTakeCall, pending.device) }
        for effect in effects {
            switch effect {
            case .openLink(let address, _, _, let attempt):
                return (.attempt(attempt, of: configuration.openAttempts), .headset(address))
            case .restoreMedia(let address):
                return (.restoreMedia, .headset(address))
            default: continue
            }
        }
        if let edge = past.jackEdge, jackEdge == nil, edge.state != past.jack { return (.believeJack(edge.state), nil) }
        return nil
    }
}
