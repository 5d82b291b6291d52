package import BluetoothTypes

/// Decides when known headsets that are away are paged (docs/inside/Interop.md no. 8, C8, C12, C16).
///
/// A value, one for all headsets: facts and times in, actions out, which the caller performs in order. Lost headsets are
/// paged, one at a time, with growing intervals; headsets that somebody disconnected are left alone, and so are for a while
/// those that come and go. During a call nothing is paged, because a page keeps the controller busy for 5 s.
package struct ReconnectManager: Sendable {
    package enum Presence: Equatable, Sendable {
        case away
        /// A radio link without profiles.
        case linked
        /// A profile is being set up.
        case comingUp
        /// A profile served here is up.
        case up
    }

    /// Present facts of one headset that is paired, trusted and served here.
    package struct Fact: Equatable, Sendable {
        package let address: BluetoothAddress
        package let presence: Presence
        /// Its hands-free or headset profile is up, not only A2DP.
        package let hasVoice: Bool

        package init(_ address: BluetoothAddress, _ presence: Presence, hasVoice: Bool = true) {
            self.address = address
            self.presence = presence
            self.hasVoice = hasVoice
        }
    }

    /// Reason why a headset is not paged although it is away.
    package enum Left: String, Equatable, Sendable {
        /// Somebody disconnected it on this machine: it stays away until it connects or somebody connects it.
        case byHand = "hand"
        /// It disconnected itself, for example when switched off: it pages us when it returns. It is paged again only after
        /// the adapter was away or the board was started.
        case byHeadset = "headset"
    }

    /// Data about a headset kept over restarts of the daemon.
    package struct Memory: Equatable, Sendable {
        /// Higher for later use; 0: never used.
        package var used = 0
        package var left: Left?
        package var quarantine: Instant?

        package init(used: Int = 0, left: Left? = nil, quarantine: Instant? = nil) {
            self.used = used
            self.left = left
            self.quarantine = quarantine
        }
    }

    package enum Outcome: Equatable, Sendable {
        /// bluetoothd reports that it is connected.
        case done
        /// Another program is connecting it.
        case inProgress
        /// Ended by `cancel`.
        case cancelled
        /// The pairing is no longer valid: paged at the longest interval.
        case notPaired
        /// bluetoothd or the adapter has gone: no attempt was made.
        case notTried
        case failed
    }

    package enum Action: Equatable, Sendable {
        /// The outcome is returned by `answered` with this number.
        case page(BluetoothAddress, number: Int, attempt: Int)
        /// Cancel the page in progress; its outcome still follows.
        case cancel(BluetoothAddress)
        /// The headset will be paged, but not before then.
        case wait(BluetoothAddress, until: Instant)
        /// The page succeeded, and the headset is up.
        case returned(BluetoothAddress)
        case leave(BluetoothAddress, Left)
        /// Raises or extends an alarm; `losses` within `ReconnectManager.window`.
        case quarantine(BluetoothAddress, losses: Int, until: Instant)
        /// Clears the alarm of `quarantine`.
        case release(BluetoothAddress)
        /// `memories` have changed, and the caller stores them.
        case keep
        /// Replaces an earlier deadline.
        case setDeadline(Instant)
    }

    /// Settings from the configuration.
    package struct Settings: Equatable, Sendable {
        package var isOn: Bool
        /// Time from the loss of a headset to its first page.
        package var first: Duration
        /// Maximum interval between two pages of a headset; each interval is twice the previous one.
        package var longest: Duration
        /// Losses within `ReconnectManager.window` that lead to quarantine.
        package var losses: Int
        package var quarantine: Duration
        /// Time between a page, or a call, and the next page, in which headsets can page us.
        package var gap: Duration
        /// Headsets that precede the others, best first.
        package var order: [BluetoothAddress]

        package init(
            isOn: Bool = true, first: Duration, longest: Duration, losses: Int, quarantine: Duration,
            gap: Duration = .seconds(2), order: [BluetoothAddress] = []
        ) {
            self.isOn = isOn
            self.first = first
            self.longest = longest
            self.losses = losses
            self.quarantine = quarantine
            self.gap = gap
            self.order = order
        }
    }

    /// State of an absent headset.
    package enum Standing: String, Equatable, Sendable {
        case none = ""
        case waiting, paging, leftAlone, quarantined
    }

    /// Period in which losses are counted.
    package static let window = Duration.seconds(120)
    /// Time for which a headset has to stay to leave quarantine.
    package static let stay = Duration.seconds(30)
    /// Time for which a radio link without profiles counts as being set up.
    package static let linkTimeout = Duration.seconds(10)
    /// Maximum time between the end of a connection and the report of its reason.
    package static let reasonTimeout = Duration.seconds(5)
    /// If the adapter disappears this soon after a headset, it took the headset along: nobody disconnected it.
    package static let adapterTimeout = Duration.seconds(3)

    package enum State {
        case idle
        case paging(BluetoothAddress, number: Int, isCancelled: Bool)
    }

    package struct Record {
        package var memory = Memory()
        /// Its adapter is present, and it is served.
        package var isKnown = false
        package var wasKnown = false
        package var presence = Presence.away
        /// Was up in this connection, and with which kind of profile.
        package var hasBeenUp = false
        package var hadVoice = false
        package var linkedAt = Instant.zero
        package var failures = 0
        package var notBefore = Instant.zero
        package var losses: [Instant] = []
        package var reason: (reason: DisconnectionReason, at: Instant)?
        package var dismissedAt: Instant?
        /// When the daemon disconnected it to free the controller.
        package var freedAt: Instant?
        /// Time of the last loss, while it may still turn out to be intended.
        package var lostAt: Instant?
        package var leftAt: Instant?
        /// When it will count as having stayed.
        package var staysAt: Instant?
    }

    package private(set) var settings: Settings
    package var state = State.idle
    package var records: [BluetoothAddress: Record] = [:]
    package var isActive = false
    package var isBusy = false
    package var quietUntil = Instant.zero
    package var number = 0

    /// - Parameter memories: stored memories.
    package init(settings: Settings, memories: [BluetoothAddress: Memory] = [:]) {
        self.settings = settings
        records = memories.mapValues { Record(memory: $0) }
    }

    /// Memories to be stored.
    package var memories: [BluetoothAddress: Memory] {
        records.mapValues(\.memory).filter { $0.value != Memory() }
    }

    package func standing(of address: BluetoothAddress) -> Standing {
        guard settings.isOn, isActive, let record = records[address], record.isKnown, record.presence == .away else {
            return .none
        }
        if case .paging(address, _, _) = state { return .paging }
        if record.memory.quarantine != nil { return .quarantined }
        return record.memory.left == nil ? .waiting : .leftAlone
    }

    // MARK: Events

    /// Updates the facts.
    ///
    /// - Parameters:
    ///   - facts: of all headsets whose adapter is on, in any order.
    ///   - isActive: this daemon serves headsets.
    ///   - isBusy: there is a call, or an audio link is being set up.
    package mutating func update(_ facts: [Fact], isActive: Bool, isBusy: Bool, at now: Instant) -> [Action] {
        if !self.isActive, isActive {
            for address in records.keys where records[address]?.presence == .away {
                records[address]?.failures = 0
                records[address]?.notBefore = now.advanced(by: settings.first)
            }
        }
        self.isActive = isActive
        if self.isBusy, !isBusy { quietUntil = max(quietUntil, now.advanced(by: settings.gap)) }
        self.isBusy = isBusy
        var actions: [Action] = []
        for address in records.keys.sorted() where !facts.contains(where: { $0.address == address }) {
            actions += vanish(address, now)
        }
        for fact in facts.sorted(by: { $0.address < $1.address }) { actions += update(fact, now) }
        return actions + settle(now)
    }

    /// Records why the radio link of a headset ended, before or after the facts report it.
    package mutating func disconnected(
        _ address: BluetoothAddress, _ reason: DisconnectionReason, at now: Instant
    ) -> [Action] {
        guard records[address] != nil, reason != .unknown else { return [] }
        records[address]?.reason = (reason, now)
        return judgeAgain(address, now) + settle(now)
    }

    /// Records that somebody disconnects a headset, or one of its profiles, on this machine.
    package mutating func dismissed(_ address: BluetoothAddress, at now: Instant) -> [Action] {
        guard records[address] != nil else { return [] }
        records[address]?.dismissedAt = now
        return judgeAgain(address, now) + settle(now)
    }

    /// Records that the daemon disconnects a headset to free the controller. It counts as a loss, whatever reason bluetoothd
    /// gives.
    package mutating func freed(_ address: BluetoothAddress, at now: Instant) { records[address]?.freedAt = now }

    /// Forgets a headset that is no longer paired.
    package mutating func forget(_ address: BluetoothAddress, at now: Instant) -> [Action] {
        guard let record = records.removeValue(forKey: address) else { return [] }
        var actions: [Action] = []
        if record.memory.quarantine != nil { actions.append(.release(address)) }
        if record.memory != Memory() { actions.append(.keep) }
        return actions + settle(now)
    }

    /// Handles the outcome of `page`.
    package mutating func answered(_ answered: Int, _ outcome: Outcome, at now: Instant) -> [Action] {
        guard case .paging(let address, let number, let isCancelled) = state, number == answered else { return [] }
        state = .idle
        quietUntil = max(quietUntil, now.advanced(by: settings.gap))
        guard let presence = records[address]?.presence, presence != .up else { return settle(now) }
        switch isCancelled ? .cancelled : outcome {
        case .cancelled: records[address]?.notBefore = now
        case .inProgress, .notTried: records[address]?.notBefore = now.advanced(by: settings.first)
        case .notPaired: records[address]?.notBefore = now.advanced(by: settings.longest)
        // The facts report whether it is connected; if not, it is paged later.
        case .done, .failed:
            let failures = (records[address]?.failures ?? 0) + 1
            let pause = pause(after: failures)
            records[address]?.failures = failures
            records[address]?.notBefore = now.advanced(by: pause)
        }
        var actions: [Action] = []
        if let record = records[address], record.isKnown, record.presence == .away, record.memory.left == nil,
            record.memory.quarantine == nil, !isCancelled
        {
            actions.append(.wait(address, until: record.notBefore))
        }
        return actions + settle(now)
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] { settle(now) }

    package mutating func follow(_ settings: Settings, at now: Instant) -> [Action] {
        let old = self.settings
        guard settings != old else { return [] }
        self.settings = settings
        if settings.isOn != old.isOn || settings.first != old.first || settings.longest != old.longest {
            // Restart the waits, because their conditions changed.
            for address in records.keys where records[address]?.presence == .away {
                records[address]?.failures = 0
                records[address]?.notBefore = now.advanced(by: settings.first)
            }
        }
        return settle(now)
    }

    private func pause(after failures: Int) -> Duration {
        var pause = settings.first
        for _ in 0..<min(failures, 32) where pause < settings.longest { pause *= 2 }
        return min(pause, settings.longest)
    }
}
