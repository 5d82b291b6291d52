package import BlueZ
package import BluetoothTypes

/// Checks some seconds after a headset has connected whether all wanted profiles are up, and has bluetoothd connect the
/// missing ones (docs/inside/Interop.md no. 9).
///
/// A value, one for each headset: facts and times in, actions out, which the caller runs in order. A profile that was up in
/// this connection and went down, or that somebody disconnected, is left alone: that was intended.
package struct ProfileRepair: Sendable {
    package enum Presence: Equatable, Sendable {
        case up
        /// Connected, with its set-up not finished.
        case comingUp
        case down
    }

    /// State of one profile that the headset announces and this daemon wants.
    package struct Fact: Equatable, Sendable {
        package let service: ServiceUUID
        package let presence: Presence
        /// Connecting it now would disturb a call.
        package let isDisturbing: Bool

        package init(_ service: ServiceUUID, _ presence: Presence, isDisturbing: Bool = false) {
            self.service = service
            self.presence = presence
            self.isDisturbing = isDisturbing
        }
    }

    package enum Outcome: Equatable, Sendable {
        /// bluetoothd has connected it, or reports that it was connected already.
        case done
        /// Another program is connecting it at this moment.
        case inProgress
        case failed(DeviceCallError)
    }

    package enum Action: Equatable, Sendable {
        /// Connect the profile; the outcome comes back as `answered` with this number.
        case ask(ServiceUUID, number: Int, attempt: Int)
        /// The profile is up after a request.
        case repaired(ServiceUUID)
        /// All requests failed; nil: bluetoothd reports success, but the profile is not up.
        case missing(ServiceUUID, DeviceCallError?)
        /// Ends `missing`.
        case over(ServiceUUID)
        /// Replaces an earlier deadline.
        case setDeadline(Instant)
    }

    package struct Delays: Equatable, Sendable {
        /// From the connection to the first check.
        package var check: Duration
        /// After a profile has come up: bluetoothd's policy may connect the others 2 s later (docs/inside/Interop.md C12).
        package var quiet: Duration
        /// Between two attempts, and between the last attempt and the verdict.
        package var pause: Duration

        package init(check: Duration, quiet: Duration, pause: Duration) {
            self.check = check
            self.quiet = quiet
            self.pause = pause
        }
    }

    private struct Item {
        let service: ServiceUUID
        var presence = Presence.down
        var isDisturbing = false
        /// It was up in this connection, or somebody disconnected it.
        var isLetGo = false
        var attempts = 0
        /// Attempts that did not count because another program made one at the same time.
        var postponed = 0
        var failure: DeviceCallError?
        var isReported = false
        var notBefore: Instant

        var isMissing: Bool { presence == .down && !isLetGo }
    }

    private enum State {
        case away
        case settling(Instant)
        case watching
        case asking(ServiceUUID, number: Int)
    }

    package static let attempts = 2
    /// How often an attempt of another program excuses a failure before the failure counts.
    package static let maximumPostponements = 3

    package var delays: Delays
    private var state = State.away
    /// In the order of the facts.
    private var items: [Item] = []
    private var quietUntil = Instant.zero
    private var isDismissed = false
    private var number = 0

    package init(delays: Delays) {
        self.delays = delays
    }

    /// Takes the present facts.
    ///
    /// - Parameter facts: of all profiles that are announced and wanted; nil while the headset is not connected.
    package mutating func update(_ facts: [Fact]?, at now: Instant) -> [Action] {
        guard let facts else { return leave() }
        if case .away = state { state = .settling(now.advanced(by: delays.check)) }
        var actions: [Action] = []
        for item in items where item.isReported && !facts.contains(where: { $0.service == item.service }) {
            actions.append(.over(item.service))
        }
        let old = items
        items = []
        for fact in facts {
            var item =
                old.first { $0.service == fact.service }
                ?? Item(service: fact.service, notBefore: isWatching ? now.advanced(by: delays.check) : now)
            if fact.presence == .up, item.presence != .up {
                quietUntil = now.advanced(by: delays.quiet)
                if item.isReported { actions.append(.over(fact.service)) }
                if item.attempts > 0 { actions.append(.repaired(fact.service)) }
                item.isReported = false
                item.isLetGo = true
            }
            item.presence = fact.presence
            item.isDisturbing = fact.isDisturbing
            items.append(item)
        }
        return actions + settle(now)
    }

    /// A user or program has disconnected the headset, or one of its profiles: requests stop until it connects again.
    package mutating func dismissed() -> [Action] {
        isDismissed = true
        return endAll()
    }

    /// Handles the outcome of `ask`.
    package mutating func answered(_ answered: Int, _ outcome: Outcome, at now: Instant) -> [Action] {
        guard case .asking(let service, let number) = state, number == answered else { return [] }
        state = .watching
        guard let index = items.firstIndex(where: { $0.service == service }) else { return settle(now) }
        items[index].notBefore = now.advanced(by: delays.pause)
        switch outcome {
        case .done: items[index].failure = nil
        case .inProgress:
            items[index].failure = .inProgress
            if items[index].postponed < Self.maximumPostponements {
                items[index].postponed += 1
                items[index].attempts -= 1
            }
        case .failed(let failure):
            items[index].failure = failure
            // After the last attempt there is nothing left to wait for.
            if items[index].attempts >= Self.attempts { items[index].notBefore = now }
        }
        return settle(now)
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] { settle(now) }

    private var isWatching: Bool {
        switch state {
        case .away, .settling: false
        case .watching, .asking: true
        }
    }

    private mutating func leave() -> [Action] {
        state = .away
        isDismissed = false
        quietUntil = .zero
        defer { items = [] }
        return endAll()
    }

    private mutating func endAll() -> [Action] {
        var actions: [Action] = []
        for index in items.indices where items[index].isReported {
            items[index].isReported = false
            actions.append(.over(items[index].service))
        }
        return actions
    }

    private mutating func settle(_ now: Instant) -> [Action] {
        switch state {
        case .away, .asking: return []
        case .settling(let due):
            guard now >= due else { return [.setDeadline(due)] }
            state = .watching
            return look(now)
        case .watching: return look(now)
        }
    }

    private mutating func look(_ now: Instant) -> [Action] {
        // Wait for a profile that is coming up; its set-up reports back.
        guard !isDismissed, !items.contains(where: { $0.presence == .comingUp }) else { return [] }
        var actions: [Action] = []
        var next: Instant?
        for index in items.indices where items[index].isMissing && items[index].attempts >= Self.attempts {
            guard !items[index].isReported else { continue }
            guard now >= items[index].notBefore else {
                next = min(next ?? items[index].notBefore, items[index].notBefore)
                continue
            }
            items[index].isReported = true
            actions.append(.missing(items[index].service, items[index].failure))
        }
        var chosen: Int?
        for index in items.indices
        where items[index].isMissing && items[index].attempts < Self.attempts && !items[index].isDisturbing {
            let due = max(items[index].notBefore, quietUntil)
            guard now >= due else {
                next = min(next ?? due, due)
                continue
            }
            if let best = chosen, items[best].attempts <= items[index].attempts { continue }
            chosen = index
        }
        if let chosen {
            items[chosen].attempts += 1
            number += 1
            state = .asking(items[chosen].service, number: number)
            actions.append(.ask(items[chosen].service, number: number, attempt: items[chosen].attempts))
        } else if let next {
            actions.append(.setDeadline(next))
        }
        return actions
    }
}
