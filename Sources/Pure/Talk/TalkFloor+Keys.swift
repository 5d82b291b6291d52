import BluetoothTypes
import TalkWords

/// What presses and releases do, by mode.
extension TalkFloor {
    mutating func pressed(_ key: TalkKeyID, at now: Instant) -> [Action] {
        switch settings.mode {
        case .off: return []
        case .toggle: return tapped(key, at: now)
        case .push, .latch: break
        }
        let holder = Holder(key: key, since: now, isLatched: false)
        switch state {
        case .listening, .refused, .timedOut: return begin(holder, at: now)
        case .asking(let other, let id, let time):
            if other.isLatched, settings.mode == .latch { return cancel(key) }
            if outranks(key, other.key) { state = .asking(holder, id: id, until: time) }
            return []
        case .talking(let other, let limit):
            if other.isLatched, settings.mode == .latch { return end(by: key, at: now) }
            if outranks(key, other.key) { state = .talking(holder, limit: limit) }
            return []
        case .tail(_, _, let limit):
            state = .talking(holder, limit: limit)
            return []
        }
    }

    /// Handles a press whose release means nothing.
    mutating func tapped(_ key: TalkKeyID, at now: Instant) -> [Action] {
        let holder = Holder(key: key, since: now, isLatched: true)
        switch state {
        case .listening, .refused, .timedOut: return begin(holder, at: now)
        case .asking(let other, let id, let time):
            if other.isLatched { return cancel(key) }
            if outranks(key, other.key) { state = .asking(holder, id: id, until: time) }
            return []
        case .talking(let other, let limit):
            if other.isLatched { return end(by: key, at: now) }
            if outranks(key, other.key) { state = .talking(holder, limit: limit) }
            return []
        case .tail(_, _, let limit):
            state = .talking(holder, limit: limit)
            return []
        }
    }

    /// - Parameter press: the press that ends; nil: unknown.
    mutating func released(_ key: TalkKeyID, _ press: Held?, at now: Instant) -> [Action] {
        switch state {
        case .asking(let holder, let id, let time) where holder.key == key && !holder.isLatched:
            if isTap(holder, press, at: now) {
                state = .asking(latched(holder), id: id, until: time)
                return []
            }
            return pass() ?? cancel(key)
        case .talking(let holder, let limit) where holder.key == key && !holder.isLatched:
            if isTap(holder, press, at: now) {
                state = .talking(latched(holder), limit: limit)
                return []
            }
            return pass() ?? beginTail(key, limit, at: now)
        case .refused(key), .timedOut(key):
            state = .listening
            return []
        case .listening, .asking, .talking, .tail, .refused, .timedOut: return []
        }
    }

    /// Handles a key that is held too long, without waiting for its release.
    mutating func stuck(_ key: TalkKeyID, at now: Instant) -> [Action] {
        switch state {
        case .asking(let holder, _, _) where holder.key == key, .talking(let holder, _) where holder.key == key:
            return pass() ?? timeOut(key)
        case .listening, .asking, .talking, .tail, .refused, .timedOut: return []
        }
    }

    /// Handles a key that vanished. A latched transmission ends as well: nobody could close the microphone with the key.
    mutating func gone(_ key: TalkKeyID) -> [Action] {
        switch state {
        case .asking(let holder, _, _) where holder.key == key, .talking(let holder, _) where holder.key == key:
            return pass() ?? cancel(key)
        case .tail(key, _, _): return cancel(key)
        case .refused(key), .timedOut(key):
            state = .listening
            return []
        case .listening, .asking, .talking, .tail, .refused, .timedOut: return []
        }
    }

    // MARK: Steps

    /// Gives the floor to the highest key that is still held; nil: no key is held. The far end notices nothing.
    private mutating func pass() -> [Action]? {
        let candidates = held.filter { !$0.isSpent }
        guard let next = candidates.min(by: { settings.rank($0.key) < settings.rank($1.key) }) else { return nil }
        let holder = Holder(key: next.key, since: next.since, isLatched: false)
        switch state {
        case .asking(_, let id, let time): state = .asking(holder, id: id, until: time)
        case .talking(_, let limit): state = .talking(holder, limit: limit)
        case .listening, .tail, .refused, .timedOut: return nil
        }
        return []
    }

    /// Closes the microphone at once, or ends a request.
    private mutating func cancel(_ key: TalkKeyID) -> [Action] {
        spend(key)
        state = .listening
        return yield()
    }

    /// Ends a latched transmission by a press.
    private mutating func end(by key: TalkKeyID, at now: Instant) -> [Action] {
        spend(key)
        guard case .talking(let holder, let limit) = state else { return [] }
        return pass() ?? beginTail(holder.key, limit, at: now)
    }

    private mutating func beginTail(_ key: TalkKeyID, _ limit: Instant, at now: Instant) -> [Action] {
        guard settings.tail > .zero else {
            state = .listening
            return yield() + tone(.over)
        }
        state = .tail(key, until: min(now.advanced(by: settings.tail), limit), limit: limit)
        return []
    }

    private mutating func spend(_ key: TalkKeyID) {
        guard let index = held.firstIndex(where: { $0.key == key }) else { return }
        held[index].isSpent = true
    }

    private func outranks(_ key: TalkKeyID, _ other: TalkKeyID) -> Bool { settings.rank(key) < settings.rank(other) }

    /// Whether the release ends a short press that latches.
    private func isTap(_ holder: Holder, _ press: Held?, at now: Instant) -> Bool {
        guard settings.mode == .latch, let press, !press.isSpent else { return false }
        return holder.since.duration(to: now) <= settings.latchPress
    }

    private func latched(_ holder: Holder) -> Holder {
        Holder(key: holder.key, since: holder.since, isLatched: true)
    }
}
