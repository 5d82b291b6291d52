package import BluetoothTypes

/// One headset's voice link in one connection, from the request for it to its end (docs/inside/Routing.md §6 to §8).
///
/// It coordinates four others: the routing policy requests and closes the link and receives reports; the Audio Gateway
/// negotiates a codec with the headset; `LinkQueue` grants the turn for a set-up; sockets and engine carry the link. Inputs
/// change the state at once; the caller performs all actions in order.
package struct VoiceLink: Sendable {
    /// The policy's request.
    package struct Request: Hashable, Sendable {
        /// Best codec to start from; nil for no limit.
        package let hint: VoiceCodec?
        /// Counted from 1 since the last link that lasted.
        package let attempt: Int
        /// Time limit of each set-up; time spent waiting for music is subtracted.
        package internal(set) var limit: Duration
        /// When the request fails at the latest. The policy normally withdraws it earlier.
        package let deadline: Instant
    }

    /// One set-up of a link, with one codec.
    package struct SetUp: Hashable, Sendable {
        package let codec: VoiceCodec
        /// The headset opens the link.
        package let isIncoming: Bool
        /// Number of the try, from 1: a link without packets is opened twice.
        package internal(set) var number = 1
        /// The policy's request; nil: only the headset requested it.
        package internal(set) var request: Request?

        var mayRepeat: Bool { number < (isIncoming ? 1 : 2) }
    }

    package enum Obstacle: Hashable, Sendable {
        /// The headset fell silent and may be dead: a set-up would keep the controller busy until the radio link is given
        /// up, by default after 20 s, and no other headset could be reached meanwhile.
        case silence
        /// Music has to stop first.
        case music(since: Instant)
    }

    /// Continuation after the end of a link or of a cancelled set-up.
    package enum Sequel: Hashable, Sendable {
        case none
        /// Report to the policy.
        case report
        /// Report to the policy, which has already requested the link again.
        case reopen(Request)
        /// Nothing: the connection has ended.
        case over
    }

    package enum State: Hashable, Sendable {
        /// No link, and no request of the policy. The headset may be negotiating a codec for a link of its own.
        case closed
        case waiting(Obstacle, Request)
        /// The gateway negotiates a codec, or the next one after a failure.
        case agreeing(Request)
        /// In the queue, for its turn or for the end of the pause.
        case queued(SetUp)
        /// With the kernel, since the given time for this try.
        case opening(SetUp, since: Instant)
        /// The kernel still holds an earlier link: retried after a pause.
        case blocked(SetUp, since: Instant, until: Instant)
        /// Open; a link without packets means that the controller sends voice elsewhere.
        case awaitingFirstPacket(SetUp, until: Instant)
        case open(VoiceCodec)
        /// The engine is closing it.
        case closing(Sequel)
        /// Cancelled while the kernel was opening it; the kernel has to answer first.
        case abandoned(SetUp, Sequel)
        /// The headset has closed the link, and may be about to end its connection as well.
        case gracePeriod(until: Instant)
        case over
    }

    /// Report to the policy.
    package enum Report: Hashable, Sendable {
        /// The requested link.
        case opened(VoiceCodec)
        case openedByHeadset(VoiceCodec)
        case failed(AudioFailure)
        case closed(End)
    }

    /// Reason for the end of an open link.
    package enum End: Hashable, Sendable {
        case requested, byHeadset, lost
    }

    /// Input for the gateway.
    package enum GatewayInput: Hashable, Sendable {
        case connect(hint: VoiceCodec?)
        case disconnect
        case opened(VoiceCodec)
        case closed
        case failed(AudioFailure)
    }

    /// Message for the log.
    package enum Note: Hashable, Sendable {
        /// The link is opened once the headset sends anything again.
        case waitsForData
        /// The kernel did not open it.
        case refused
        /// No packet arrived; not up: the other side closed it earlier.
        case nothingCameIn(isUp: Bool, isLast: Bool)
        /// The set-ups of other headsets took too long.
        case noTurn
        /// The negotiation of a codec failed, for a reason of its own.
        case noCodec(AudioFailure)
        /// The request was not carried out in time; it was in this state.
        case expired(State)
    }

    package enum Action: Hashable, Sendable {
        case gateway(GatewayInput)
        /// Stop the music; `roomMade` answers.
        case makeRoom
        /// Room is no longer needed.
        case leaveRoom
        /// `turnCame` or `turnRefused` answers. A link that the headset opens waits for no pause.
        case queue(limit: Duration, pauses: Bool)
        /// Queue again, after the pause.
        case queueAgain
        /// The set-up has ended, or is no longer wanted.
        case leaveQueue
        /// `linkCame` or `openingFailed` answers; so does `accept`.
        case open(VoiceCodec, limit: Duration)
        /// Accept the link that the headset opens.
        case accept(VoiceCodec, limit: Duration)
        /// The set-up is cancelled: its answer comes soon.
        case cancelOpening
        /// Hand the new link to the engine: `firstPacketCame` or `linkEnded` answers.
        case carry
        /// Close the new link, which is no longer wanted.
        case discard
        /// Ask the engine to close the link; `linkEnded` answers if there is one.
        case close
        /// Start this headset's pause.
        case startPause
        case report(Report)
        /// For the statistics; nil: the link is open.
        case setUpEnded(VoiceCodec, AudioFailure?)
        /// A step has to be retried.
        case retried
        /// Disconnect the headset: the controller does not notice that it is gone.
        case freeController
        case note(Note)
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
        /// Our own mistake.
        case fault(String)
    }

    /// Assumed state of the headset.
    enum Liveness {
        case alive
        /// The last set-up timed out, and nothing has arrived from the headset since.
        case doubtful
        /// Its audio fell silent, and nothing has arrived from it since.
        case silent
    }

    /// Timeout for the first packet on an open link.
    package static let firstPacketLimit = Duration.seconds(1)
    /// Maximum time for which the kernel may hold an earlier link.
    package static let busyLimit = Duration.seconds(2)
    /// Pause before the kernel is asked again.
    package static let busyPause = Duration.milliseconds(100)
    /// Usual grace period: the connection may outlive the audio of a headset that is switched off this long.
    package static let gracePeriod = Duration.milliseconds(100)
    /// Time beyond the policy's own limit after which a request fails.
    package static let requestMargin = Duration.seconds(1)
    /// Attempt that is made even without a sign of life: a returning headset may have no reason to send anything.
    package static let blindAttempt = 3

    package internal(set) var state = State.closed
    /// Time between the close by the headset and its report. Longer for a link that is a talk key: the end of the last word
    /// is still on its way to the far end, and the next press may come.
    package var gracePeriod: Duration = Self.gracePeriod
    var liveness = Liveness.alive
    /// It was already disconnected to free the controller: only once.
    var wasFreed = false
    /// Time limit for set-ups by the headset: from the last request.
    var limit = Duration.seconds(5)
    /// Failure of the last set-up, which has been noted.
    var noted: AudioFailure?
    private var deadline: Instant?

    package init() {}

    package var isOver: Bool {
        switch state {
        case .over, .abandoned(_, .over): true
        case .closed, .waiting, .agreeing, .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing,
            .abandoned, .gracePeriod:
            false
        }
    }

    /// The policy's pending request.
    package var request: Request? {
        switch state {
        case .waiting(_, let request), .agreeing(let request), .closing(.reopen(let request)),
            .abandoned(_, .reopen(let request)):
            request
        case .queued(let setUp), .opening(let setUp, _), .blocked(let setUp, _, _), .awaitingFirstPacket(let setUp, _):
            setUp.request
        case .closed, .open, .closing, .abandoned, .gracePeriod, .over: nil
        }
    }

    /// Ends every input: adds the deadline if it changed.
    mutating func finish(_ actions: [Action]) -> [Action] {
        let next = dueTime
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }

    private var dueTime: Instant? {
        let end = request?.deadline
        return switch state {
        case .blocked(_, _, let time), .awaitingFirstPacket(_, let time), .gracePeriod(let time): min(time, end ?? time)
        case .closed, .waiting, .agreeing, .queued, .opening, .open, .closing, .abandoned, .over: end
        }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        if let request, request.deadline <= now { return finish(expire(at: now)) }
        switch state {
        case .blocked(let setUp, let since, let time) where time <= now:
            state = .opening(setUp, since: since)
            return finish([opening(setUp)])
        case .awaitingFirstPacket(let setUp, let time) where time <= now:
            return finish(nothingCameIn(setUp, isUp: true))
        case .gracePeriod(let time) where time <= now:
            state = .closed
            return finish([.report(.closed(.byHeadset))])
        case .closed, .waiting, .agreeing, .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing,
            .abandoned, .gracePeriod, .over:
            return finish([])
        }
    }

    // MARK: The policy

    /// Handles the policy's request for the link: `.report` answers `.opened` or `.failed`, or `.closed` after
    /// `closeRequested`.
    ///
    /// - Parameters:
    ///   - attempt: counted from 1 since the last link that lasted.
    ///   - limit: of each set-up.
    package mutating func requested(
        hint: VoiceCodec?, attempt: Int, limit: Duration, at now: Instant
    ) -> [Action] {
        let request = Request(
            hint: hint, attempt: attempt, limit: limit,
            deadline: now.advanced(by: limit).advanced(by: Self.requestMargin))
        self.limit = limit
        switch state {
        case .closed: return finish(start(request, at: now))
        case .waiting(let obstacle, _): return finish(leave(obstacle) + start(request, at: now))
        case .gracePeriod: return finish([.report(.closed(.byHeadset))] + start(request, at: now))
        case .agreeing:
            state = .agreeing(request)
            return finish([.gateway(.connect(hint: hint))])
        case .queued(var setUp):
            setUp.request = request
            state = .queued(setUp)
        case .opening(var setUp, let since):
            setUp.request = request
            state = .opening(setUp, since: since)
        case .blocked(var setUp, let since, let time):
            setUp.request = request
            state = .blocked(setUp, since: since, until: time)
        case .awaitingFirstPacket(var setUp, let time):
            setUp.request = request
            state = .awaitingFirstPacket(setUp, until: time)
        // The headset opened it first, and the policy has forgotten it meanwhile (the adapter was off).
        case .open(let codec): return finish([.report(.opened(codec))])
        case .closing: state = .closing(.reopen(request))
        case .abandoned(let setUp, .over): state = .abandoned(setUp, .over)
        case .abandoned(let setUp, _): state = .abandoned(setUp, .reopen(request))
        case .over: return finish([.report(.failed(.failed))])
        }
        return finish([])
    }

    /// Handles the policy's request to close the link: `.report` answers `.closed` when none is left.
    package mutating func closeRequested(at now: Instant) -> [Action] {
        switch state {
        case .closed, .agreeing, .gracePeriod:
            state = .closed
            return finish([.gateway(.disconnect), .report(.closed(.requested))])
        case .waiting(let obstacle, _):
            state = .closed
            return finish(leave(obstacle) + [.report(.closed(.requested))])
        case .queued, .opening, .blocked, .awaitingFirstPacket:
            return finish([.gateway(.disconnect)] + giveUp(.report, at: now))
        case .open:
            state = .closing(.report)
            return finish([.gateway(.disconnect), .close])
        case .closing:
            state = .closing(.report)
            return finish([])
        case .abandoned(_, .over), .over: return finish([])
        case .abandoned(let setUp, _):
            state = .abandoned(setUp, .report)
            return finish([])
        }
    }

    mutating func start(_ request: Request, at now: Instant) -> [Action] {
        if liveness == .silent, request.attempt < Self.blindAttempt {
            state = .waiting(.silence, request)
            return [.note(.waitsForData)]
        }
        return (request.attempt > 1 ? [.retried] : []) + makeRoom(request, at: now)
    }

    mutating func makeRoom(_ request: Request, at now: Instant) -> [Action] {
        state = .waiting(.music(since: now), request)
        noted = nil
        return [.makeRoom]
    }

    /// Opens the link, because the music has stopped or will not stop.
    package mutating func roomMade(at now: Instant) -> [Action] {
        guard case .waiting(.music(let since), var request) = state else { return finish([]) }
        request.limit = max(request.limit - since.duration(to: now), .zero)
        limit = request.limit
        state = .agreeing(request)
        return finish([.gateway(.connect(hint: request.hint))])
    }

    func leave(_ obstacle: Obstacle) -> [Action] {
        switch obstacle {
        case .silence: []
        case .music: [.leaveRoom]
        }
    }

    /// Fails a request that the policy has not withdrawn in time.
    private mutating func expire(at now: Instant) -> [Action] {
        if liveness == .alive { liveness = .doubtful }
        let failure: [Action] = [.note(.expired(state)), .report(.failed(.timedOut))]
        switch state {
        case .waiting(let obstacle, _):
            state = .closed
            return leave(obstacle) + failure
        case .agreeing:
            state = .closed
            return [.gateway(.disconnect)] + failure
        case .queued, .opening, .blocked, .awaitingFirstPacket:
            return [.gateway(.disconnect)] + giveUp(.none, at: now) + failure
        // Requested again during the close of the previous link, which is still to be reported.
        case .closing:
            state = .closing(.report)
            return failure
        case .abandoned(let setUp, _):
            state = .abandoned(setUp, .report)
            return failure
        case .closed, .open, .gracePeriod, .over: return []
        }
    }
}
