import BluetoothTypes

/// What comes next, found by doing it: a copy of the policy is taken from deadline to deadline until something happens
/// that can be noticed. So the explanation cannot promise anything else than what the policy does.
extension RoutingPolicy {
    /// Deadlines at which nothing is noticed: one or a few for each headset.
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

    /// What of a step can be noticed; nil when nothing can.
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
