package import BluetoothTypes

// Choice of the next headset to page.
extension ReconnectManager {
    /// Takes the next step, and sets the next deadline.
    package mutating func settle(_ now: Instant) -> [Action] {
        var actions = endQuarantines(now)
        switch state {
        case .paging(let address, let number, let isCancelled):
            // A call has priority, and a headset that may no longer be paged is skipped. Once the headset has connected
            // there is no page to cancel: bluetoothd would disconnect it while its other profiles are still being set up.
            let isOver = !isActive || !settings.isOn || records[address]?.isKnown != true
            if !isCancelled, isBusy || isOver, records[address]?.presence ?? .away == .away {
                state = .paging(address, number: number, isCancelled: true)
                actions.append(.cancel(address))
            }
        case .idle:
            if let page = nextPage(now) { actions.append(page) }
        }
        if let deadline = nextDeadline(now) { actions.append(.setDeadline(deadline)) }
        return actions
    }

    private mutating func endQuarantines(_ now: Instant) -> [Action] {
        var actions: [Action] = []
        for address in records.keys.sorted() {
            guard var record = records[address], let until = record.memory.quarantine else { continue }
            if let staysAt = record.staysAt {
                guard staysAt <= now else { continue }
            } else {
                guard until <= now, record.presence == .away else { continue }
            }
            record.memory.quarantine = nil
            record.staysAt = nil
            record.losses = []
            record.failures = 0
            record.notBefore = now
            records[address] = record
            actions += [.release(address), .keep]
        }
        return actions
    }

    /// Whether a headset may be paged in its turn.
    private func isWanted(_ record: Record) -> Bool {
        record.isKnown && record.presence == .away && record.memory.left == nil && record.memory.quarantine == nil
    }

    /// Whether a link is being set up, which a page would disturb.
    private func isNegotiating(_ record: Record, _ now: Instant) -> Bool {
        switch record.presence {
        case .away, .up: false
        case .comingUp: true
        case .linked: !record.hasBeenUp && record.linkedAt.advanced(by: Self.linkTimeout) > now
        }
    }

    private mutating func nextPage(_ now: Instant) -> Action? {
        guard settings.isOn, isActive, !isBusy, quietUntil <= now else { return nil }
        guard !records.values.contains(where: { isNegotiating($0, now) }) else { return nil }
        let due = records.filter { isWanted($0.value) && $0.value.notBefore <= now }
        guard let address = due.keys.min(by: { comesBefore($0, $1) }), let record = due[address] else { return nil }
        number += 1
        state = .paging(address, number: number, isCancelled: false)
        return .page(address, number: number, attempt: record.failures + 1)
    }

    /// Order of pages: least attempts first, so that none waits forever for one that is gone for good; then the order of the
    /// list, then the most recently used; the address decides between equals.
    private func comesBefore(_ left: BluetoothAddress, _ right: BluetoothAddress) -> Bool {
        func rank(_ address: BluetoothAddress) -> (Int, Int, Int, BluetoothAddress) {
            let place = settings.order.firstIndex(of: address) ?? settings.order.count
            return (records[address]?.failures ?? 0, place, -(records[address]?.memory.used ?? 0), address)
        }
        return rank(left) < rank(right)
    }

    private func nextDeadline(_ now: Instant) -> Instant? {
        var times: [Instant] = []
        for record in records.values {
            if record.memory.quarantine != nil {
                if let staysAt = record.staysAt {
                    times.append(staysAt)
                } else if record.presence == .away, let until = record.memory.quarantine {
                    times.append(until)
                }
            }
        }
        // The facts report the end of a profile's set-up.
        let isComingUp = records.values.contains { $0.presence == .comingUp }
        if settings.isOn, isActive, !isBusy, !isComingUp, case .idle = state {
            let turns = records.values.filter { isWanted($0) }.map(\.notBefore)
            // Limited wait for a set-up that does not end.
            let ends = records.values.filter { $0.presence == .linked && isNegotiating($0, now) }
                .map { $0.linkedAt.advanced(by: Self.linkTimeout) }
            if let turn = turns.min() { times.append(([turn, quietUntil] + ends).max() ?? turn) }
        }
        return times.min().map { max($0, now) }
    }
}
