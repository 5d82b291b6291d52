package import BluetoothTypes

/// Decides whose music makes room for calls, and when it resumes: suspended with the first audio link of a call, resumed
/// some time after the last call (docs/inside/Routing.md §11), so that consecutive calls do not make it stutter.
///
/// A value: facts and times in, actions out, which the caller performs in order.
package struct MusicSuspension: Sendable {
    package enum Action: Equatable, Sendable {
        case pausePlayers, resumePlayers
        case suspend(BluetoothAddress), restore(BluetoothAddress)
        /// Replaces an earlier deadline; nil cancels it.
        case setDeadline(Instant?)
    }

    private enum State {
        case idle
        /// Headsets whose music was suspended, in order.
        case suspended([BluetoothAddress])
        /// No call is left.
        case restoring([BluetoothAddress], Instant)
    }

    /// From the end of the last call.
    package var delay: Duration
    private var state = State.idle

    package init(delay: Duration) {
        self.delay = delay
    }

    /// Handles an audio link that is about to be opened, whichever side opens it.
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

    /// Handles the beginning or the end of calls.
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

    /// Handles the policy's return of a headset to its music.
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

    /// Resumes everything at once.
    package mutating func end() -> [Action] {
        switch state {
        case .idle: return []
        case .suspended(let headsets), .restoring(let headsets, _):
            state = .idle
            return [.setDeadline(nil)] + headsets.map { .restore($0) } + [.resumePlayers]
        }
    }
}
