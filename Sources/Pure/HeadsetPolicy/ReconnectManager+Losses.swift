package import BluetoothTypes

// Headsets that come and go, and the reasons.
extension ReconnectManager {
    /// Handles a headset whose adapter or bluetoothd has gone, or that is no longer served or trusted: neither intended nor
    /// a loss.
    package mutating func vanish(_ address: BluetoothAddress, _ now: Instant) -> [Action] {
        guard var record = records[address], record.isKnown else { return [] }
        var actions: [Action] = []
        if record.memory.left != nil, let leftAt = record.leftAt, leftAt.advanced(by: Self.adapterTimeout) >= now {
            record.memory.left = nil
            actions.append(.keep)
        }
        record.isKnown = false
        record.presence = .away
        record.hasBeenUp = false
        record.hadVoice = false
        record.lostAt = nil
        record.leftAt = nil
        record.staysAt = nil
        record.losses = []
        records[address] = record
        return actions
    }

    package mutating func update(_ fact: Fact, _ now: Instant) -> [Action] {
        let address = fact.address
        var record = records[address] ?? Record()
        var actions: [Action] = []
        if !record.isKnown {
            // The adapter is back, or the board has started: headsets that had disconnected themselves are paged as well. A
            // daemon that was only restarted still remembers them.
            if record.wasKnown, record.memory.left == .byHeadset {
                record.memory.left = nil
                actions.append(.keep)
            }
            if !record.wasKnown, let quarantine = record.memory.quarantine {
                // From before a restart of the daemon.
                actions.append(.quarantine(address, losses: 0, until: quarantine))
            }
            record.isKnown = true
            record.wasKnown = true
            record.failures = 0
            record.notBefore = now.advanced(by: settings.first)
        }
        let before = record.presence
        record.presence = fact.presence
        records[address] = record
        guard fact.presence != before else {
            if fact.presence == .up { records[address]?.hadVoice = record.hadVoice || fact.hasVoice }
            return actions
        }
        switch fact.presence {
        case .away: actions += wentAway(address, now)
        case .linked, .comingUp:
            if before == .away {
                records[address]?.linkedAt = now
                records[address]?.hadVoice = false
                records[address]?.lostAt = nil
                records[address]?.reason = nil
                records[address]?.dismissedAt = nil
                records[address]?.freedAt = nil
                // It is near and tries to connect.
                if !isPaging(address) {
                    records[address]?.failures = 0
                    records[address]?.notBefore = now.advanced(by: settings.first)
                }
            }
        case .up: actions += cameUp(address, hasVoice: fact.hasVoice, wasAway: before == .away, now)
        }
        return actions
    }

    private mutating func cameUp(
        _ address: BluetoothAddress, hasVoice: Bool, wasAway: Bool, _ now: Instant
    ) -> [Action] {
        guard var record = records[address] else { return [] }
        var actions: [Action] = []
        let wasPaged = record.failures > 0 || isPaging(address)
        if wasAway || !record.hasBeenUp { record.reason = nil }
        record.hasBeenUp = true
        record.hadVoice = !wasAway && record.hadVoice || hasVoice
        record.dismissedAt = nil
        record.lostAt = nil
        record.leftAt = nil
        record.failures = 0
        let before = record.memory
        record.memory.left = nil
        let latest = records.values.map(\.memory.used).max() ?? 0
        if record.memory.used < latest || latest == 0 { record.memory.used = latest + 1 }
        if record.memory.quarantine != nil { record.staysAt = now.advanced(by: Self.stay) }
        if wasPaged { actions.append(.returned(address)) }
        if record.memory != before { actions.append(.keep) }
        records[address] = record
        return actions
    }

    private func isPaging(_ address: BluetoothAddress) -> Bool {
        if case .paging(address, _, _) = state { return true }
        return false
    }

    private mutating func wentAway(_ address: BluetoothAddress, _ now: Instant) -> [Action] {
        guard var record = records[address] else { return [] }
        record.staysAt = nil
        let wasUp = record.hasBeenUp
        record.hasBeenUp = false
        // Pairing and pages do not count as losses, nor does any end while nothing is served.
        guard wasUp, isActive else {
            record.hadVoice = false
            if !isPaging(address) { record.notBefore = max(record.notBefore, now.advanced(by: settings.first)) }
            records[address] = record
            return []
        }
        record.lostAt = now
        record.failures = 0
        record.notBefore = now.advanced(by: settings.first)
        records[address] = record
        if let left = intention(record, now) { return leave(address, left, now) }
        return countLoss(of: address, now) + waitAction(of: address)
    }

    /// Intention behind the end of a connection, as far as known; nil for none.
    private func intention(_ record: Record, _ now: Instant) -> Left? {
        func isRecent(_ time: Instant?, _ limit: Duration) -> Bool {
            time.map { $0.advanced(by: limit) >= now } ?? false
        }
        if isRecent(record.freedAt, Self.linkTimeout) { return nil }
        // bluetoothd first requests the closing of the profiles and ends the link two seconds later.
        if isRecent(record.dismissedAt, Self.linkTimeout) { return .byHand }
        guard let (reason, time) = record.reason, isRecent(time, Self.reasonTimeout) else { return nil }
        switch reason {
        case .local:
            // The kernel ends an unused link in our name. An intended disconnection on this machine is also reported to the
            // hands-free profile, so an end without that report was the headset's own, or ours.
            return record.hadVoice ? .byHeadset : .byHand
        case .remote: return .byHeadset
        case .timeout, .authentication, .suspend, .unknown: return nil
        }
    }

    /// Judges the loss again, because its reason arrived later.
    package mutating func judgeAgain(_ address: BluetoothAddress, _ now: Instant) -> [Action] {
        guard let record = records[address], record.presence == .away, let lostAt = record.lostAt,
            lostAt.advanced(by: Self.reasonTimeout) >= now, record.memory.left != .byHand,
            let left = intention(record, now), left != record.memory.left
        else { return [] }
        if record.memory.left == nil, left == .byHand { records[address]?.losses.removeAll { $0 == lostAt } }
        var actions = leave(address, left, now, isCounted: true)
        if case .paging(address, let number, false) = state {
            state = .paging(address, number: number, isCancelled: true)
            actions.append(.cancel(address))
        }
        return actions
    }

    private mutating func leave(
        _ address: BluetoothAddress, _ left: Left, _ now: Instant, isCounted: Bool = false
    ) -> [Action] {
        records[address]?.memory.left = left
        records[address]?.leftAt = now
        var actions: [Action] = [.leave(address, left)]
        if left == .byHand || isCounted {
            actions.append(.keep)
        } else {
            let counted = countLoss(of: address, now)
            actions += counted.contains(.keep) ? counted : counted + [.keep]
        }
        return actions
    }

    /// Counts losses; a headset that comes and goes is left alone for a while.
    private mutating func countLoss(of address: BluetoothAddress, _ now: Instant) -> [Action] {
        guard var record = records[address] else { return [] }
        defer { records[address] = record }
        if case .suspend? = record.reason?.reason { return [] }
        record.losses = record.losses.filter { $0.advanced(by: Self.window) > now } + [now]
        guard record.losses.count >= settings.losses || record.memory.quarantine != nil else { return [] }
        let count = record.losses.count
        let until = now.advanced(by: settings.quarantine)
        record.memory.quarantine = until
        return [.quarantine(address, losses: count, until: until), .keep]
    }

    private func waitAction(of address: BluetoothAddress) -> [Action] {
        guard settings.isOn, let record = records[address], record.memory.quarantine == nil else { return [] }
        return [.wait(address, until: record.notBefore)]
    }
}
