package import BluetoothTypes

/// Whose music makes room for calls, and when it comes back: with the first audio link of a call, and some time after the
/// last call (docs/inside/Routing.md §11), so that calls which follow each other do not bounce it.
///
/// A value: facts and times in, actions out, which the caller runs in order.
package struct MusicSuspension: Sendable {
    package enum Action: Equatable, Sendable {
        case pausePlayers, resumePlayers
        case suspend(BluetoothAddress), restore(BluetoothAddress)
        /// Replaces an earlier one; nil takes it back.
        case setDeadline(Instant?)
    }

    private enum State {
        case idle
        /// The headsets whose music was suspended, in that order.
        case suspended([BluetoothAddress])
        /// There is no call any more.
        case restoring([BluetoothAddress], Instant)
    }

    /// From the end of the last call.
    package var delay: Duration
    private var state = State.idle

    package init(delay: Duration) {
        self.delay = delay
    }

    /// A headset's audio link is about to be opened, by whomever.
    package mutating func linkOpening(_ address: BluetoothAddress, hasCalls: Bool, at now: Instant) -> [Action] {
        var actions: [Action] = []
        var headsets: [BluetoothAddress]
        switch state {
        case .idle:
            headsets = []
            actions.append(.pausePlayers)
        case .suspended(let before): headsets = before
        case .restoring(let before, _):
            headsets = before
            if hasCalls { actions.append(.setDeadline(nil)) }
        }
        if !headsets.contains(address) {
            headsets.append(address)
            actions.append(.suspend(address))
        }
        state = .suspended(headsets)
        return hasCalls ? actions : actions + callsChanged(false, at: now)
    }

    /// A call has begun, or one is over.
    package mutating func callsChanged(_ areThere: Bool, at now: Instant) -> [Action] {
        switch (state, areThere) {
        case (.suspended(let headsets), false):
            let due = now.advanced(by: delay)
            state = .restoring(headsets, due)
            return [.setDeadline(due)]
        case (.restoring(let headsets, _), true):
            state = .suspended(headsets)
            return [.setDeadline(nil)]
        case (.idle, _), (.suspended, true), (.restoring, false): return []
        }
    }

    /// The policy hands a headset back to its music.
    package mutating func restoreDue(_ address: BluetoothAddress) -> [Action] {
        switch state {
        case .idle, .suspended: return []
        case .restoring(let headsets, let due):
            guard headsets.contains(address) else { return [] }
            let others = headsets.filter { $0 != address }
            guard !others.isEmpty else { return end() }
            state = .restoring(others, due)
            return [.restore(address)]
        }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        switch state {
        case .idle, .suspended: return []
        case .restoring(_, let due): return now >= due ? end() : []
        }
    }

    /// Gives everything back at once.
    package mutating func end() -> [Action] {
        switch state {
        case .idle: return []
        case .suspended(let headsets), .restoring(let headsets, _):
            state = .idle
            return [.setDeadline(nil)] + headsets.map { .restore($0) } + [.resumePlayers]
        }
    }
}
