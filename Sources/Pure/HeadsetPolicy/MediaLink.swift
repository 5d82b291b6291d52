package import BluetoothTypes

/// One headset's A2DP stream: its state at bluetoothd, its user, and the policy's pending request.
///
/// Level-triggered: each input changes the request or the state, and one step is taken towards the request. The stream has
/// one user at a time: the route of calls precedes playback beside the calls, and a voice link suspends the latter.
package struct MediaLink: Sendable {
    package enum User: Hashable, Sendable {
        /// Calls, at the policy's request.
        case route
        /// Playback beside the calls.
        case output
    }

    /// State of the stream.
    package enum State: Hashable, Sendable {
        /// Nothing acquired. After a dead stream, waiting users look once more.
        case released(afterDeath: Bool)
        /// Requested from bluetoothd; the headset may take seconds to answer. Gone: its A2DP went down meanwhile.
        case acquiring(isGone: Bool)
        /// Acquired, but not with the engine. Dead: it cannot be used any more.
        case held(isDead: Bool)
        /// In use by the engine.
        case used(User, isDead: Bool)
        /// Released; bluetoothd has to answer first.
        case releasing(isGone: Bool)
    }

    /// The policy's request.
    package enum Request: Hashable, Sendable {
        case none
        /// The policy wants the route of calls on this headset.
        case open
        /// The policy waits for the end.
        case closing
        /// The stream of the route ended without a request; reported after a grace period, because a headset that is
        /// switched off ends it first.
        case gracePeriod(End, until: Instant)
    }

    package enum End: Hashable, Sendable {
        case requested, byHeadset, lost
    }

    /// Report to the policy, sent later.
    package enum Report: Hashable, Sendable {
        case opened
        case refused, failed
        case closed(End)
    }

    package enum Action: Hashable, Sendable {
        /// `acquired` or `acquisitionFailed` answers.
        case acquire
        /// The requested stream is no longer needed: the answer comes soon.
        case cancelAcquisition
        /// `released` answers.
        case release
        /// Hands the stream to the engine for the route: `routeBegan` or `routeRefused` answers.
        case beginRoute
        /// Ask the engine to release the route's stream: `streamLeft` answers.
        case closeRoute
        /// The engine may start, or must stop, playing on this headset.
        case streamsChanged
        /// The same, after this input has been carried out, because the engine may be in the midst of a change.
        case lookAgain
        case report(Report)
        /// Playback to the headset failed, because of this input's error.
        case failure
        case failureOver
        /// The route has no stream, because of this input's error.
        case noteRefusal
        /// The stream of the route ended without a request.
        case noteLoss
        /// The headset's published state changed.
        case changed
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
        /// Our own mistake.
        case fault(String)
    }

    /// Playback of this length counts as accepted.
    package static let steadyTime = Duration.seconds(10)
    /// Grace period: the profile of a headset that goes away may outlive the stream this long.
    package static let gracePeriod = Duration.milliseconds(100)

    /// Pause before playback beside the calls is retried on a headset that refused or ended it: 1, 2, 4, then 8 s. A headset
    /// that always does so wants silence, and may make each attempt audible as a click.
    package static func retryPause(afterRefusals count: Int) -> Duration { .seconds(1 << min(max(count, 1) - 1, 3)) }

    package private(set) var state = State.released(afterDeath: false)
    package private(set) var request = Request.none
    /// The headset's A2DP is up.
    package private(set) var isPresent = false
    package private(set) var isOutputWanted = false
    /// A voice link is in use, or was until just now.
    package private(set) var isKeptBack = false
    /// No playback beside the calls until then: the headset has refused or ended it.
    package private(set) var restsUntil: Instant?
    /// Consecutive refusals or ends of playback beside the calls.
    private var refusals = 0
    /// Start of the present playback beside the calls.
    private var playingSince: Instant?
    private var deadline: Instant?

    package init() {}

    /// User of the stream in the engine.
    package var user: User? {
        switch state {
        case .used(let user, _): user
        case .released, .acquiring, .held, .releasing: nil
        }
    }

    /// Audio goes to the headset, or is about to start or end.
    package var isInUse: Bool {
        switch state {
        case .released: false
        case .acquiring, .held, .used, .releasing: true
        }
    }

    /// Whether playback beside the calls is allowed.
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

    /// Ends every input: adds the deadline if it changed.
    private mutating func finish(_ actions: [Action]) -> [Action] {
        var times = [restsUntil].compactMap { $0 }
        if case .gracePeriod(_, let time) = request { times.append(time) }
        let next = times.min()
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        var actions: [Action] = []
        if case .gracePeriod(let end, let time) = request, time <= now {
            request = .none
            actions.append(.report(.closed(end)))
        }
        if let time = restsUntil, time <= now {
            restsUntil = nil
            actions += step() + [.streamsChanged]
            // Playback there is no longer wanted.
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

    /// Handles the loss of A2DP: an acquired stream is dead. The policy receives the report and waits for nothing more.
    package mutating func vanished() -> [Action] {
        isPresent = false
        request = .none
        let isRoute = user == .route
        die()
        return finish((isRoute ? [.closeRoute] : []) + step())
    }

    /// Handles a stream that the headset or bluetoothd has stopped; the socket does not report that.
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

    /// - Parameter isHeld: false when the stream was suspended after bluetoothd answered.
    package mutating func acquired(isHeld: Bool, at now: Instant) -> [Action] {
        guard case .acquiring(let isGone) = state else { return finish([.fault("an unexpected stream")]) }
        state = .held(isDead: isGone)
        guard isHeld else { return isGone ? finish(step()) : stopped(at: now) }
        return finish([.failureOver, .changed] + step())
    }

    /// - Parameter isCancelled: at our request.
    package mutating func acquisitionFailed(isCancelled: Bool, at now: Instant) -> [Action] {
        guard case .acquiring(let isGone) = state else { return finish([.fault("an unexpected failure to acquire")]) }
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
        guard case .releasing(let isGone) = state else { return finish([.fault("an unexpected release")]) }
        state = .released(afterDeath: isGone)
        return finish([.changed] + step())
    }

    // MARK: The policy

    /// Handles the policy's request for calls on this headset.
    package mutating func openRequested() -> [Action] {
        request = .open
        return finish([.streamsChanged] + step())
    }

    /// Handles the policy's request to end calls there: `.report` answers `.closed`.
    package mutating func closeRequested() -> [Action] {
        request = .closing
        let isRoute = user == .route
        return finish((isRoute ? [.closeRoute] : []) + abandonment + step())
    }

    // MARK: Playback beside the calls

    /// Suspends playback beside the calls until `resume`, because a voice link is about to be used.
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

    /// Starts or stops playback beside the calls. The caller performs the step towards it with `performStep`, when it can.
    ///
    /// - Returns: nil when nothing changes.
    package mutating func setOutputWanted(_ isWanted: Bool) -> [Action]? {
        guard isOutputWanted != isWanted else { return nil }
        isOutputWanted = isWanted
        // During the pause after a failure nothing is done, and the failure stays reported.
        return finish(!isWanted && restsUntil == nil ? [.failureOver] : [])
    }

    package mutating func performStep() -> [Action] { finish(step()) }

    // MARK: The engine

    /// Hands the stream to the engine for playback beside the calls.
    ///
    /// - Returns: false when it is not allowed.
    package mutating func beginOutput(at now: Instant) -> Bool {
        guard state == .held(isDead: false), mayPlay else { return false }
        state = .used(.output, isDead: false)
        playingSince = now
        return true
    }

    package mutating func routeBegan() -> [Action] { finish([.report(.opened)]) }

    /// Handles the engine's refusal of the stream.
    package mutating func routeRefused() -> [Action] {
        guard case .used(.route, let isDead) = state else { return finish([.fault("an unexpected refusal")]) }
        state = .held(isDead: isDead)
        request = .none
        return finish([.report(.failed)] + step())
    }

    /// Handles the engine's release of the stream.
    package mutating func streamLeft() -> [Action] {
        guard case .used(_, let isDead) = state else { return finish(step()) }
        state = .held(isDead: isDead)
        return finish(step())
    }

    /// Handles a stream that the engine cannot continue and releases: `streamLeft` follows.
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
            // Users that waited for the end of the dead stream may have stopped looking.
            var actions: [Action] = isAfterDeath ? [.lookAgain] : []
            // The policy's link has ended, whatever else is played there.
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

    /// Reports that no more audio goes to the headset for the route.
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
        // Only one end is reported: the one that the policy requested.
        case .closing: break
        case .none, .open, .gracePeriod: request = .gracePeriod(end, until: now.advanced(by: Self.gracePeriod))
        }
        return [.noteLoss]
    }

    /// Pauses playback beside the calls. Both bluetoothd and the socket may report the end of a stream.
    private mutating func rest(at now: Instant) -> [Action] {
        guard restsUntil == nil else { return [] }
        if let since = playingSince, since.duration(to: now) > Self.steadyTime { refusals = 0 }
        playingSince = nil
        refusals += 1
        restsUntil = now.advanced(by: Self.retryPause(afterRefusals: refusals))
        return [.lookAgain]
    }
}
