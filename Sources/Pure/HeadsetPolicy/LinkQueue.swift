package import BluetoothTypes

/// Allows one set-up of a voice link at a time, and enforces the pause between the close of a headset's link and its next
/// set-up.
///
/// Two simultaneous set-ups break the kernel's working link (bluez/bluez#2562), and a connect right after a close fails on
/// many headsets (docs/inside/Gateway.md, voice link). All voice links enter this queue before they open anything. First
/// come, first served; a cancelled set-up keeps its turn until it has ended. A link that the headset opens waits for no
/// pause: the headset has chosen its time, and takes its request back if it has to wait.
package struct LinkQueue: Sendable {
    /// Identifies one connection of a headset in the queue.
    package struct Ticket: Hashable, Sendable {
        package let address: BluetoothAddress
        /// Distinguishes two connections of the same headset: the earlier one's set-up may still have to end.
        package let number: UInt64

        package init(_ address: BluetoothAddress, number: UInt64) {
            self.address = address
            self.number = number
        }
    }

    package enum Action: Hashable, Sendable {
        /// Its turn: no other link is set up until it leaves.
        case grant(Ticket)
        /// Its turn did not come in time.
        case refuse(Ticket)
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
        /// No link is being set up any more.
        case idle
        /// Our own mistake.
        case fault(String)
    }

    package enum State: Hashable, Sendable {
        case idle
        /// Its turn has come, but the headset's last link has only just closed.
        case pausing(Ticket, until: Instant)
        case busy(Ticket)
    }

    private struct Entry: Hashable, Sendable {
        let ticket: Ticket
        let deadline: Instant
        let pauses: Bool
    }

    package private(set) var state = State.idle
    /// Minimum time between the close of a headset's link and its next set-up.
    package var pause: Duration
    /// In the order of arrival.
    private var entries: [Entry] = []
    /// Close times of headsets, for their pauses; expired ones are removed at the next close.
    private var closedAt: [BluetoothAddress: Instant] = [:]
    private var deadline: Instant?

    package init(pause: Duration) {
        self.pause = pause
    }

    /// Ticket whose turn it is.
    package var current: Ticket? {
        switch state {
        case .idle: nil
        case .pausing(let ticket, _), .busy(let ticket): ticket
        }
    }

    /// Tickets whose turn has not come, in order.
    package var waiting: [Ticket] { entries.map(\.ticket) }

    /// Number of remembered closed links.
    package var pauseCount: Int { closedAt.count }

    /// Requests a turn; `.grant` or `.refuse` answers, at the latest when `limit` and the headset's pause have passed.
    ///
    /// - Parameters:
    ///   - limit: maximum wait for the set-ups of others.
    ///   - pauses: whether the set-up waits for the headset's pause; false for a link that the headset opens.
    package mutating func enter(_ ticket: Ticket, limit: Duration, pauses: Bool = true, at now: Instant) -> [Action] {
        guard current != ticket, !entries.contains(where: { $0.ticket == ticket }) else {
            return [.fault("\(ticket.address) asks twice for its turn")]
        }
        switch state {
        case .idle: return finish(begin(ticket, pauses: pauses, at: now))
        case .pausing, .busy:
            guard limit > .zero else { return [.refuse(ticket)] }
            entries.append(Entry(ticket: ticket, deadline: now.advanced(by: limit), pauses: pauses))
            return finish([])
        }
    }

    /// Repeats the set-up whose turn it is: it keeps its turn, after the pause; `.grant` answers.
    package mutating func again(_ ticket: Ticket, at now: Instant) -> [Action] {
        switch state {
        case .busy(ticket): return finish(begin(ticket, pauses: true, at: now))
        case .idle, .pausing, .busy: return [.fault("\(ticket.address) begins again out of turn")]
        }
    }

    /// Ends a set-up, or withdraws it before its turn.
    package mutating func leave(_ ticket: Ticket, at now: Instant) -> [Action] {
        guard current == ticket else {
            entries.removeAll { $0.ticket == ticket }
            return finish([])
        }
        state = .idle
        var actions: [Action] = []
        // The timer may be late: tickets past their deadline are refused.
        while case .idle = state, !entries.isEmpty {
            let next = entries.removeFirst()
            actions += next.deadline > now ? begin(next.ticket, pauses: next.pauses, at: now) : [.refuse(next.ticket)]
        }
        if case .idle = state { actions.append(.idle) }
        return finish(actions)
    }

    /// Records the close of a headset's link: its pause begins. A pause in progress is not extended.
    package mutating func closed(_ address: BluetoothAddress, at now: Instant) {
        closedAt = closedAt.filter { $0.value.advanced(by: pause) > now }
        closedAt[address] = now
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        var actions: [Action] = []
        switch state {
        case .pausing(let ticket, let end) where end <= now:
            state = .busy(ticket)
            actions.append(.grant(ticket))
        case .idle, .pausing, .busy: break
        }
        actions += entries.filter { $0.deadline <= now }.map { .refuse($0.ticket) }
        entries.removeAll { $0.deadline <= now }
        return finish(actions)
    }

    private mutating func begin(_ ticket: Ticket, pauses: Bool, at now: Instant) -> [Action] {
        if pauses, let end = closedAt[ticket.address]?.advanced(by: pause), end > now {
            state = .pausing(ticket, until: end)
            return []
        }
        state = .busy(ticket)
        return [.grant(ticket)]
    }

    /// Ends every input: adds the deadline if it changed.
    private mutating func finish(_ actions: [Action]) -> [Action] {
        var times = entries.map(\.deadline)
        if case .pausing(_, let end) = state { times.append(end) }
        let next = times.min()
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }
}
