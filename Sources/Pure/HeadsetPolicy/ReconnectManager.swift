package import BluetoothTypes

/// Decides when headsets that are known and away are paged (docs/inside/Interop.md no. 8, C8, C12, C16).
///
/// A value, one for all headsets: facts and times in, actions out, which the caller runs in order. Headsets that were lost are
/// paged, one at a time, less often each time; those that somebody disconnected are left alone, and so are for a while those
/// that come and go. While there is a call nothing is paged, because a page keeps the controller busy for 5 s.
package struct ReconnectManager: Sendable {
    package enum Presence: Equatable, Sendable {
        case away
        /// There is a radio link, and none of its profiles.
        case linked
        /// A profile is being set up.
        case comingUp
        /// A profile that is served here is up.
        case up
    }

    /// What is so now with one headset that is paired, trusted and served here.
    package struct Fact: Equatable, Sendable {
        package let address: BluetoothAddress
        package let presence: Presence
        /// Its hands-free or headset profile is up, not A2DP alone.
        package let hasVoice: Bool

        package init(_ address: BluetoothAddress, _ presence: Presence, hasVoice: Bool = true) {
            self.address = address
            self.presence = presence
            self.hasVoice = hasVoice
        }
    }

    /// Why a headset is not paged although it is away.
    package enum Left: String, Equatable, Sendable {
        /// Somebody disconnected it on this machine: it stays away until it connects by itself or somebody connects it.
        case byHand = "hand"
        /// It said good-bye, as when it is switched off: it pages us when it is back. Paged again only after the adapter was
        /// away or the board was started.
        case byHeadset = "headset"
    }

    /// What is kept of a headset over restarts of the daemon.
    package struct Memory: Equatable, Sendable {
        /// The larger, the later it was used; 0: never.
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
        /// bluetoothd says that it is connected.
        case done
        /// Somebody else is connecting it.
        case inProgress
        /// It was given up because of `cancel`.
        case cancelled
        /// The pairing is not valid any more: paged as seldom as can be.
        case notPaired
        /// bluetoothd or the adapter has gone: nothing was tried.
        case notTried
        case failed
    }

    package enum Action: Equatable, Sendable {
        /// The outcome comes back as `answered` with this number.
        case page(BluetoothAddress, number: Int, attempt: Int)
        /// Give the page up that is under way; its outcome comes all the same.
        case cancel(BluetoothAddress)
        /// It will be paged, not before then.
        case wait(BluetoothAddress, until: Instant)
        /// It was paged, and is up.
        case returned(BluetoothAddress)
        case leave(BluetoothAddress, Left)
        /// A problem begins, or goes on until later; `losses` within `ReconnectManager.window`.
        case quarantine(BluetoothAddress, losses: Int, until: Instant)
        /// Ends `quarantine`.
        case release(BluetoothAddress)
        /// `memories` are different, which is for the caller to keep.
        case keep
        /// Replaces an earlier one.
        case setDeadline(Instant)
    }

    /// What the configuration says.
    package struct Settings: Equatable, Sendable {
        package var isOn: Bool
        /// From the loss of a headset to its first page.
        package var first: Duration
        /// The longest time between two pages of a headset: each is twice as long as the one before.
        package var longest: Duration
        /// Losses within `ReconnectManager.window` that lead to quarantine.
        package var losses: Int
        package var quarantine: Duration
        /// Between a page, or a call, and the next page: headsets that page us are heard then.
        package var gap: Duration
        /// Headsets that come before the others, best first.
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

    /// What a headset is to this machine while it is away.
    package enum Standing: String, Equatable, Sendable {
        case none = ""
        case waiting, paging, leftAlone, quarantined
    }

    /// In which losses are counted.
    package static let window = Duration.seconds(120)
    /// How long a headset has to stay to be let out of quarantine.
    package static let stay = Duration.seconds(30)
    /// How long a radio link without profiles counts as one that is being set up.
    package static let linkPatience = Duration.seconds(10)
    /// How far the end of a connection and the news of its reason may be from each other.
    package static let reasonPatience = Duration.seconds(5)
    /// An adapter that goes this soon after a headset took it along: nobody disconnected it.
    package static let adapterPatience = Duration.seconds(3)

    package enum State {
        case idle
        case paging(BluetoothAddress, number: Int, isCancelled: Bool)
    }

    package struct Record {
        package var memory = Memory()
        /// Its adapter is there, and it is served.
        package var isKnown = false
        package var wasKnown = false
        package var presence = Presence.away
        /// It was up in this connection, and with which kind of profile.
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
        /// The last loss, while it can still turn out to be a wish.
        package var lostAt: Instant?
        package var leftAt: Instant?
        /// From when on it counts as one that has stayed.
        package var staysAt: Instant?
    }

    package private(set) var settings: Settings
    package var state = State.idle
    package var records: [BluetoothAddress: Record] = [:]
    package var isActive = false
    package var isBusy = false
    package var quietUntil = Instant.zero
    package var number = 0

    /// - Parameter memories: what was kept.
    package init(settings: Settings, memories: [BluetoothAddress: Memory] = [:]) {
        self.settings = settings
        records = memories.mapValues { Record(memory: $0) }
    }

    /// What is to be kept.
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

    // MARK: What happens

    /// Takes what is so now.
    ///
    /// - Parameters:
    ///   - facts: of all headsets whose adapter is on, in any order.
    ///   - isActive: whether this daemon serves headsets.
    ///   - isBusy: whether there is a call, or an audio link is being set up.
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
        for fact in facts.sorted(by: { $0.address < $1.address }) { actions += take(fact, now) }
        return actions + settle(now)
    }

    /// Why the radio link of a headset ended; before or after the facts show it.
    package mutating func disconnected(
        _ address: BluetoothAddress, _ reason: DisconnectionReason, at now: Instant
    ) -> [Action] {
        guard records[address] != nil, reason != .unknown else { return [] }
        records[address]?.reason = (reason, now)
        return judgeAgain(address, now) + settle(now)
    }

    /// Somebody disconnects a headset, or one of its profiles, on this machine.
    package mutating func dismissed(_ address: BluetoothAddress, at now: Instant) -> [Action] {
        guard records[address] != nil else { return [] }
        records[address]?.dismissedAt = now
        return judgeAgain(address, now) + settle(now)
    }

    /// The daemon disconnects a headset to free the controller. That counts as a loss, whatever reason bluetoothd gives.
    package mutating func freed(_ address: BluetoothAddress, at now: Instant) { records[address]?.freedAt = now }

    /// It is not paired any more.
    package mutating func forget(_ address: BluetoothAddress, at now: Instant) -> [Action] {
        guard let record = records.removeValue(forKey: address) else { return [] }
        var actions: [Action] = []
        if record.memory.quarantine != nil { actions.append(.release(address)) }
        if record.memory != Memory() { actions.append(.keep) }
        return actions + settle(now)
    }

    /// The outcome of `page`.
    package mutating func answered(_ answered: Int, _ outcome: Outcome, at now: Instant) -> [Action] {
        guard case .paging(let address, let number, let isCancelled) = state, number == answered else { return [] }
        state = .idle
        quietUntil = max(quietUntil, now.advanced(by: settings.gap))
        guard let presence = records[address]?.presence, presence != .up else { return settle(now) }
        switch isCancelled ? .cancelled : outcome {
        case .cancelled: records[address]?.notBefore = now
        case .inProgress, .notTried: records[address]?.notBefore = now.advanced(by: settings.first)
        case .notPaired: records[address]?.notBefore = now.advanced(by: settings.longest)
        // Whether it is there shows in the facts; one that is not is paged later.
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
            // What was waited for so far was another wait.
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
