package import BluetoothTypes

/// One headset's A2DP stream: whether bluetoothd has been asked for it, who uses it, and what the policy waits for.
///
/// Level-triggered: each input changes what is wanted or what is there, and one step is taken towards it. The stream has one
/// user at a time: the route of calls goes before what is heard beside the calls, and a voice link keeps the latter back.
package struct MediaLink: Sendable {
    package enum User: Hashable, Sendable {
        /// Calls, as the policy asked.
        case route
        /// What is heard beside the calls.
        case output
    }

    /// What there is of the stream.
    package enum State: Hashable, Sendable {
        /// Nothing. After a dead stream those who looked for it look once more.
        case released(afterDeath: Bool)
        /// bluetoothd has been asked; the headset may take seconds to answer. Gone: its A2DP went down meanwhile.
        case acquiring(isGone: Bool)
        /// Acquired, and the engine does not have it. Dead: it cannot go on.
        case held(isDead: Bool)
        /// The engine has it.
        case used(User, isDead: Bool)
        /// Given back to bluetoothd, which has to answer first.
        case releasing(isGone: Bool)
    }

    /// The policy's side.
    package enum Request: Hashable, Sendable {
        case none
        /// The route of calls is wanted there.
        case open
        /// The policy waits for the end.
        case closing
        /// The stream of the route has ended by itself; reported soon, as a headset that is switched off ends it first.
        case farewell(End, until: Instant)
    }

    package enum End: Hashable, Sendable {
        case requested, byHeadset, lost
    }

    /// What the policy is told, later.
    package enum Report: Hashable, Sendable {
        case opened
        case refused, failed
        case closed(End)
    }

    package enum Action: Hashable, Sendable {
        /// `acquired` or `acquisitionFailed` answers.
        case acquire
        /// Nobody wants any more what bluetoothd is being asked for: the answer comes soon.
        case cancelAcquisition
        /// `released` answers.
        case release
        /// Hands the stream to the engine for the route: `routeBegan` or `routeRefused` answers.
        case beginRoute
        /// The engine lets go of the route's stream: `streamLeft` answers.
        case closeRoute
        /// The engine may play on this headset, or may no more.
        case streamsChanged
        /// The same once this input has been carried out, because the engine may be in the midst of a change.
        case lookAgain
        case report(Report)
        /// Something is to be heard there and is not, for the error of this input.
        case failure
        case failureOver
        /// The route has no stream, for the error of this input.
        case noteRefusal
        /// The stream of the route has ended by itself.
        case noteLoss
        /// What is shown of the headset is another.
        case changed
        /// Call `deadlineReached` then, once; replaces an earlier one, nil cancels it.
        case setDeadline(Instant?)
        /// Our own mistake.
        case fault(String)
    }

    /// What has been played for as long counts as accepted.
    package static let steadyTime = Duration.seconds(10)
    /// How long the profile may outlive the stream of a headset that goes away.
    package static let farewellTime = Duration.milliseconds(100)

    /// Before a headset is asked again that has refused or ended what is played there beside the calls: 1, 2, 4, then 8 s. One
    /// that always does wants its silence, and may hear each attempt as a click.
    package static func retryPause(afterRefusals count: Int) -> Duration { .seconds(1 << min(max(count, 1) - 1, 3)) }

    package private(set) var state = State.released(afterDeath: false)
    package private(set) var request = Request.none
    /// A2DP of the headset is up.
    package private(set) var isPresent = false
    package private(set) var isOutputWanted = false
    /// A voice link is in use, or has been until just now.
    package private(set) var isKeptBack = false
    /// Nothing is played beside the calls there until then: the headset has refused or ended it.
    package private(set) var restsUntil: Instant?
    /// What the headset refused or ended beside the calls, one after the other.
    private var refusals = 0
    /// Since when something is played there beside the calls.
    private var playingSince: Instant?
    private var deadline: Instant?

    package init() {}

    /// The engine has it.
    package var user: User? {
        switch state {
        case .used(let user, _): user
        case .released, .acquiring, .held, .releasing: nil
        }
    }

    /// Sound goes to the headset, or is about to, or is just being ended.
    package var isInUse: Bool {
        switch state {
        case .released: false
        case .acquiring, .held, .used, .releasing: true
        }
    }

    /// Whether what is heard beside the calls may be played there.
    package var mayPlay: Bool {
        guard isPresent, restsUntil == nil, !isKeptBack, request != .open else { return false }
        return switch state {
        case .released(let isDead), .acquiring(let isDead), .held(let isDead), .releasing(let isDead),
            .used(.output, let isDead):
            !isDead
        case .used(.route, _): false
        }
    }

    private var isOutputDue: Bool { isOutputWanted && !isKeptBack && restsUntil == nil }

    /// Every input ends here: the deadline if it changed.
    private mutating func finish(_ actions: [Action]) -> [Action] {
        var times = [restsUntil].compactMap { $0 }
        if case .farewell(_, let time) = request { times.append(time) }
        let next = times.min()
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        var actions: [Action] = []
        if case .farewell(let end, let time) = request, time <= now {
            request = .none
            actions.append(.report(.closed(end)))
        }
        if let time = restsUntil, time <= now {
            restsUntil = nil
            actions += step() + [.streamsChanged]
            // What was to be heard there is over.
            if !isOutputWanted { actions.append(.failureOver) }
        }
        return finish(actions)
    }

    // MARK: bluetoothd

    package mutating func appeared() -> [Action] {
        isPresent = true
        restsUntil = nil
        refusals = 0
        return finish(step())
    }

    /// A2DP is down: what was acquired is dead. The policy is told so; it waits for nothing more.
    package mutating func vanished() -> [Action] {
        isPresent = false
        request = .none
        let isRoute = user == .route
        die()
        return finish((isRoute ? [.closeRoute] : []) + step())
    }

    /// The headset, or bluetoothd, has stopped what was acquired; the socket does not say so.
    package mutating func stopped(at now: Instant) -> [Action] {
        switch state {
        case .used(.route, isDead: false):
            die()
            return finish(routeLost(.byHeadset, at: now) + [.closeRoute])
        // A headset that has ended it does not want it back at once.
        case .used(.output, isDead: false), .held(isDead: false):
            die()
            return finish(rest(at: now) + step())
        case .released, .acquiring, .held, .used, .releasing: return finish([])
        }
    }

    /// - Parameter isHeld: false when it was suspended since bluetoothd answered.
    package mutating func acquired(isHeld: Bool, at now: Instant) -> [Action] {
        guard case .acquiring(let isGone) = state else { return finish([.fault("a stream that nobody asked for")]) }
        state = .held(isDead: isGone)
        guard isHeld else { return isGone ? finish(step()) : stopped(at: now) }
        return finish([.failureOver, .changed] + step())
    }

    /// - Parameter isCancelled: as it was asked.
    package mutating func acquisitionFailed(isCancelled: Bool, at now: Instant) -> [Action] {
        guard case .acquiring(let isGone) = state else { return finish([.fault("a refusal that nobody asked for")]) }
        state = .released(afterDeath: isGone)
        var actions: [Action] = []
        if request == .open {
            request = .none
            actions += [.noteRefusal, .report(.refused)]
        }
        if !isCancelled, isOutputWanted, !isKeptBack, isPresent { actions += [.failure] + rest(at: now) }
        return finish(actions + step())
    }

    package mutating func released() -> [Action] {
        guard case .releasing(let isGone) = state else { return finish([.fault("nothing was given back")]) }
        state = .released(afterDeath: isGone)
        return finish([.changed] + step())
    }

    // MARK: The policy

    /// The policy wants calls there.
    package mutating func openRequested() -> [Action] {
        request = .open
        return finish([.streamsChanged] + step())
    }

    /// The policy wants calls there no more: `.report` says `.closed`.
    package mutating func closeRequested() -> [Action] {
        request = .closing
        let isRoute = user == .route
        return finish((isRoute ? [.closeRoute] : []) + abandonment + step())
    }

    // MARK: Beside the calls

    /// A voice link is about to be used: what is heard beside the calls waits until `resume`.
    package mutating func keepBack() -> [Action] {
        guard !isKeptBack else { return finish([]) }
        isKeptBack = true
        return finish([.streamsChanged] + abandonment + step())
    }

    package mutating func resume() -> [Action] {
        guard isKeptBack else { return finish([]) }
        isKeptBack = false
        return finish([.streamsChanged] + step())
    }

    /// Something is to be heard there beside the calls, or no more. The step towards it is `takeStep`, when the caller can.
    ///
    /// - Returns: nil when that is nothing new.
    package mutating func setOutputWanted(_ isWanted: Bool) -> [Action]? {
        guard isOutputWanted != isWanted else { return nil }
        isOutputWanted = isWanted
        // While it rests after a failure nothing is wanted of it, and the failure stands.
        return finish(!isWanted && restsUntil == nil ? [.failureOver] : [])
    }

    package mutating func takeStep() -> [Action] { finish(step()) }

    // MARK: The engine

    /// The engine takes the stream for what is heard beside the calls.
    ///
    /// - Returns: false when it may not.
    package mutating func takeForOutput(at now: Instant) -> Bool {
        guard state == .held(isDead: false), mayPlay else { return false }
        state = .used(.output, isDead: false)
        playingSince = now
        return true
    }

    package mutating func routeBegan() -> [Action] { finish([.report(.opened)]) }

    /// The engine does not take the stream.
    package mutating func routeRefused() -> [Action] {
        guard case .used(.route, let isDead) = state else { return finish([.fault("no route was begun")]) }
        state = .held(isDead: isDead)
        request = .none
        return finish([.report(.failed)] + step())
    }

    /// The engine has let go of the stream.
    package mutating func streamLeft() -> [Action] {
        guard case .used(_, let isDead) = state else { return finish(step()) }
        state = .held(isDead: isDead)
        return finish(step())
    }

    /// The engine cannot go on with the stream and lets go of it: `streamLeft` comes.
    package mutating func streamFailed(isRoute: Bool, by end: End, at now: Instant) -> [Action] {
        die()
        return finish(isRoute ? routeLost(end, at: now) : rest(at: now))
    }

    // MARK: Steps

    private mutating func step() -> [Action] {
        switch state {
        case .acquiring, .releasing, .used: return []
        case .held(let isDead):
            guard !isDead, isPresent, request == .open || isOutputDue else { return release(isDead: isDead) }
            guard request != .open else {
                state = .used(.route, isDead: false)
                playingSince = nil
                return [.beginRoute]
            }
            return ended() + [.lookAgain]
        case .released(let isAfterDeath):
            state = .released(afterDeath: false)
            // What waited for the end of the dead one may have given up looking.
            var actions: [Action] = isAfterDeath ? [.lookAgain] : []
            // The policy's link is over, whatever else is played there.
            actions += ended()
            if isPresent, request == .open || isOutputDue {
                state = .acquiring(isGone: false)
                actions.append(.acquire)
            } else if request == .open {
                request = .none
                actions.append(.report(.failed))
            }
            return actions
        }
    }

    private mutating func release(isDead: Bool) -> [Action] {
        if playingSince != nil, !isDead { refusals = 0 }
        playingSince = nil
        state = .releasing(isGone: isDead)
        return [.release]
    }

    /// Nothing goes to the headset for the route any more.
    private mutating func ended() -> [Action] {
        guard request == .closing else { return [] }
        request = .none
        return [.report(.closed(.requested))]
    }

    private var abandonment: [Action] {
        guard case .acquiring = state, request != .open, isKeptBack || !isOutputWanted else { return [] }
        return [.cancelAcquisition]
    }

    private mutating func die() {
        switch state {
        case .released: state = .released(afterDeath: true)
        case .acquiring: state = .acquiring(isGone: true)
        case .held: state = .held(isDead: true)
        case .used(let user, _): state = .used(user, isDead: true)
        case .releasing: state = .releasing(isGone: true)
        }
    }

    private mutating func routeLost(_ end: End, at now: Instant) -> [Action] {
        switch request {
        // One end is told: that which the policy asked for.
        case .closing: break
        case .none, .open, .farewell: request = .farewell(end, until: now.advanced(by: Self.farewellTime))
        }
        return [.noteLoss]
    }

    /// Nothing is played beside the calls there for a while. The end of a stream is told by bluetoothd and by the socket.
    private mutating func rest(at now: Instant) -> [Action] {
        guard restsUntil == nil else { return [] }
        if let since = playingSince, since.duration(to: now) > Self.steadyTime { refusals = 0 }
        playingSince = nil
        refusals += 1
        restsUntil = now.advanced(by: Self.retryPause(afterRefusals: refusals))
        return [.lookAgain]
    }
}
