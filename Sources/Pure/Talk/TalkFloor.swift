package import BluetoothTypes
import TalkWords

/// The floor of one call: decides when its microphone is open, by keys, and by a provider that is asked.
///
/// Inputs change the state at once; the caller performs all actions in order. In mode off, and while the call is not active,
/// every input returns nothing.
package struct TalkFloor: Sendable {
    /// State of the microphone's gate in this call.
    package enum Gate: String, Hashable, Sendable, CaseIterable {
        /// Full duplex: the keys do not act on the microphone.
        case free
        case closed, open
    }

    package enum Action: Hashable, Sendable {
        case microphone(Gate)
        /// Ask the provider (`PerformTalk(call, true)`); `permissionAnswered` answers with this number. Exactly one of three
        /// ends each: a refusal, `revoked`, or the action `yield`.
        case ask(UInt32)
        /// Tell the provider that the floor is free again (`PerformTalk(call, false)`), also before it has answered.
        case yield
        /// To the wearer only.
        case play(TalkTone)
        /// Open the voice link, or close it until it is needed; only with `TalkSettings.linkLinger`. Until the first of these
        /// the link is needed.
        case link(isNeeded: Bool)
        /// The published state changed.
        case talking(Talking)
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
    }

    /// A key that is down.
    struct Held: Hashable, Sendable {
        let key: TalkKeyID
        let since: Instant
        /// Its press has had its effect: it gets no floor that becomes free.
        var isSpent: Bool
    }

    /// The key that talks or asks.
    struct Holder: Hashable, Sendable {
        var key: TalkKeyID
        var since: Instant
        /// Continues without the key being held.
        var isLatched: Bool
    }

    enum State: Hashable, Sendable {
        case listening
        case asking(Holder, id: UInt32, until: Instant)
        case talking(Holder, limit: Instant)
        case tail(TalkKeyID, until: Instant, limit: Instant)
        case refused(TalkKeyID)
        case timedOut(TalkKeyID)
    }

    /// What the caller knows from the actions.
    private struct Published: Hashable, Sendable {
        var gate = Gate.free
        var talking = Talking.off
        var isLinkNeeded = true
        var deadline: Instant?
    }

    package private(set) var settings: TalkSettings
    /// The call is active: it has audio.
    package private(set) var isActive = false
    var state = State.listening
    /// In the order of their presses.
    var held: [Held] = []
    /// The provider was asked; it has not refused, and does not know yet that the floor is free.
    var isAsked = false
    private var lastID: UInt32 = 0
    /// The voice link stays until then.
    private var lingersUntil: Instant?
    private var published = Published()

    package init(_ settings: TalkSettings) {
        self.settings = settings
    }

    private var isOn: Bool { isActive && settings.mode != .off }

    package var gate: Gate {
        guard isOn else { return .free }
        return talking.isOpen ? .open : .closed
    }

    package var talking: Talking {
        guard isOn else { return .off }
        return switch state {
        case .listening: .listening
        case .asking(let holder, _, _): Talking(.asking, holder.key)
        case .talking(let holder, _): Talking(.talking, holder.key)
        case .tail(let key, _, _): Talking(.tail, key)
        case .refused(let key): Talking(.refused, key)
        case .timedOut(let key): Talking(.timedOut, key)
        }
    }

    // MARK: The call

    /// Handles a call that became active. A press from before does not open the microphone: keys that are held have to be
    /// pressed again.
    package mutating func callBecameActive(at now: Instant) -> [Action] {
        guard !isActive else { return [] }
        isActive = true
        return settings.mode == .off ? [] : finish([], at: now)
    }

    /// Handles a call that is no longer active: held, or ended.
    package mutating func callLeft(at now: Instant) -> [Action] {
        guard isActive else { return [] }
        let actions = drop()
        isActive = false
        return settings.mode == .off ? [] : finish(actions, at: now)
    }

    /// Applies new settings. Another mode, and another rule for asking, close the microphone until the next press; other
    /// settings count from the next step on.
    package mutating func configure(_ settings: TalkSettings, at now: Instant) -> [Action] {
        let old = self.settings
        let isSame = settings.mode == old.mode && settings.asksPermission == old.asksPermission
        let actions = isSame ? [] : drop()
        self.settings = settings
        return old.mode == .off && settings.mode == .off ? [] : finish(actions, at: now)
    }

    /// Forgets all keys and the floor.
    private mutating func drop() -> [Action] {
        state = .listening
        held = []
        lingersUntil = nil
        return yield()
    }

    // MARK: The keys

    /// Handles an event of a key, or of a client on the bus.
    package mutating func key(_ key: TalkKeyID, _ event: TalkKey.Event, at now: Instant) -> [Action] {
        guard isOn else { return [] }
        let actions: [Action]
        switch event {
        case .pressed:
            guard !held.contains(where: { $0.key == key }) else { return [] }
            held.append(Held(key: key, since: now, isSpent: settings.mode == .toggle))
            actions = pressed(key, at: now)
        case .tapped: actions = tapped(key, at: now)
        case .released:
            let press = lift(key)
            actions = released(key, press, at: now)
        case .stuck:
            lift(key)
            actions = stuck(key, at: now)
        case .gone:
            lift(key)
            actions = gone(key)
        }
        return finish(actions, at: now)
    }

    @discardableResult
    private mutating func lift(_ key: TalkKeyID) -> Held? {
        guard let index = held.firstIndex(where: { $0.key == key }) else { return nil }
        return held.remove(at: index)
    }

    // MARK: The provider

    /// Handles the provider's answer; the answer to a request that is over is ignored.
    package mutating func permissionAnswered(_ id: UInt32, isGranted: Bool, at now: Instant) -> [Action] {
        guard case .asking(let holder, id, _) = state else { return [] }
        guard isGranted else {
            isAsked = false
            return finish(refuse(holder.key), at: now)
        }
        state = .talking(holder, limit: now.advanced(by: settings.limit))
        return finish(tone(.permit), at: now)
    }

    /// Handles a provider that takes the floor back.
    package mutating func revoked(at now: Instant) -> [Action] {
        guard isAsked else { return [] }
        isAsked = false
        switch state {
        case .asking(let holder, _, _), .talking(let holder, _): return finish(refuse(holder.key), at: now)
        case .tail(let key, _, _): return finish(refuse(key), at: now)
        case .listening, .refused, .timedOut: return finish([], at: now)
        }
    }

    // MARK: Time

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        if let deadline = published.deadline, deadline <= now { published.deadline = nil }
        if let time = lingersUntil, time <= now { lingersUntil = nil }
        guard isOn else { return [] }
        switch state {
        case .asking(let holder, _, let time) where time <= now: return finish(yield() + refuse(holder.key), at: now)
        case .talking(let holder, let time) where time <= now: return finish(timeOut(holder.key), at: now)
        case .tail(_, let time, _) where time <= now:
            state = .listening
            return finish(yield() + tone(.over), at: now)
        case .listening, .asking, .talking, .tail, .refused, .timedOut: return finish([], at: now)
        }
    }

    // MARK: Steps

    /// Takes the free floor, or asks for it.
    mutating func begin(_ holder: Holder, at now: Instant) -> [Action] {
        guard settings.asksPermission else {
            state = .talking(holder, limit: now.advanced(by: settings.limit))
            return []
        }
        lastID &+= 1
        isAsked = true
        state = .asking(holder, id: lastID, until: now.advanced(by: settings.permissionWait))
        return [.ask(lastID)]
    }

    mutating func yield() -> [Action] {
        guard isAsked else { return [] }
        isAsked = false
        return [.yield]
    }

    mutating func refuse(_ key: TalkKeyID) -> [Action] {
        spendAll()
        state = .refused(key)
        return tone(.refused)
    }

    mutating func timeOut(_ key: TalkKeyID) -> [Action] {
        spendAll()
        state = .timedOut(key)
        return yield() + tone(.timedOut)
    }

    private mutating func spendAll() {
        for index in held.indices { held[index].isSpent = true }
    }

    func tone(_ tone: TalkTone) -> [Action] { settings.tones.contains(tone) ? [.play(tone)] : [] }

    /// Completes the actions of an input with everything that has changed. The microphone comes first.
    private mutating func finish(_ actions: [Action], at now: Instant) -> [Action] {
        var next = Published()
        next.gate = gate
        next.talking = talking
        next.isLinkNeeded = isLinkNeeded(at: now)
        next.deadline = dueTime
        let last = published
        published = next
        var all: [Action] = []
        if next.gate != last.gate { all.append(.microphone(next.gate)) }
        if next.isLinkNeeded != last.isLinkNeeded { all.append(.link(isNeeded: next.isLinkNeeded)) }
        all += actions
        if next.talking != last.talking { all.append(.talking(next.talking)) }
        if next.deadline != last.deadline { all.append(.setDeadline(next.deadline)) }
        return all
    }

    private mutating func isLinkNeeded(at now: Instant) -> Bool {
        guard isOn, let linger = settings.linkLinger else {
            lingersUntil = nil
            return true
        }
        switch state {
        case .asking, .talking, .tail:
            lingersUntil = nil
            return true
        case .listening, .refused, .timedOut:
            let wasBusy: Bool =
                switch published.talking.state {
                case .asking, .talking, .tail: true
                case .off, .listening, .refused, .timedOut: false
                }
            if wasBusy, linger > .zero { lingersUntil = now.advanced(by: linger) }
            return lingersUntil != nil
        }
    }

    private var dueTime: Instant? {
        guard isOn else { return nil }
        return switch state {
        case .asking(_, _, let time), .talking(_, let time), .tail(_, let time, _): time
        case .listening, .refused, .timedOut: lingersUntil
        }
    }
}
