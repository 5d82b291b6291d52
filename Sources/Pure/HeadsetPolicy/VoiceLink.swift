package import BluetoothTypes

/// One headset's voice link in one connection, from the request for it to its end (docs/inside/Routing.md §6 to §8).
///
/// It stands between four others and says to each what to do: the routing policy requests and closes the link and is told
/// what became of it; the Audio Gateway agrees on a codec with the headset; `LinkQueue` gives the turn for a set-up; sockets
/// and engine carry the link. Inputs change the state at once; the caller performs all actions in order.
package struct VoiceLink: Sendable {
    /// What the policy asked for.
    package struct Request: Hashable, Sendable {
        /// The codec to start from at best; nil: the best one.
        package let hint: VoiceCodec?
        /// Counted from 1 since the last link that lived.
        package let attempt: Int
        /// For each set-up; what waiting for music took is taken off.
        package internal(set) var limit: Duration
        /// The request fails then at the latest. The policy withdraws it before.
        package let deadline: Instant
    }

    /// One link that is being set up, with one codec.
    package struct SetUp: Hashable, Sendable {
        package let codec: VoiceCodec
        /// The headset opens it.
        package let isIncoming: Bool
        /// Which try, from 1: a link on which nothing comes in is opened twice.
        package internal(set) var number = 1
        /// The policy waits for it; nil: only the headset does.
        package internal(set) var request: Request?

        var mayRepeat: Bool { number < (isIncoming ? 1 : 2) }
    }

    package enum Obstacle: Hashable, Sendable {
        /// The headset fell silent and may be dead: a set-up to it would keep the controller busy until the radio link is
        /// given up, 20 s by default, and no other headset could be reached meanwhile.
        case silence
        /// Music has to stop first.
        case music(since: Instant)
    }

    /// What follows when a link or a set-up that was given up has ended.
    package enum Sequel: Hashable, Sendable {
        case none
        /// The policy is told.
        case report
        /// The policy is told, and wants it again.
        case reopen(Request)
        /// Nothing ever: the connection is over.
        case over
    }

    package enum State: Hashable, Sendable {
        /// No link, and the policy waits for none. The headset may be about to agree on a codec for one of its own.
        case closed
        case waiting(Obstacle, Request)
        /// The gateway agrees on a codec with the headset, or on the next one after one has failed.
        case agreeing(Request)
        /// In the queue, for its turn or for the end of the pause.
        case queued(SetUp)
        /// With the kernel, which has been asked for this try since.
        case opening(SetUp, since: Instant)
        /// The kernel still holds an earlier link: it is asked again.
        case blocked(SetUp, since: Instant, until: Instant)
        /// Up; a link without packets is a controller that sends voice elsewhere.
        case awaitingFirstPacket(SetUp, until: Instant)
        case open(VoiceCodec)
        /// The engine ends it.
        case closing(Sequel)
        /// Given up while the kernel had it, which has to answer first.
        case abandoned(SetUp, Sequel)
        /// The headset has closed it, and may be about to end its connection as well.
        case farewell(until: Instant)
        case over
    }

    /// What the policy is told.
    package enum Report: Hashable, Sendable {
        /// The link that it requested.
        case opened(VoiceCodec)
        case openedByHeadset(VoiceCodec)
        case failed(AudioFailure)
        case closed(End)
    }

    /// How an open link ended.
    package enum End: Hashable, Sendable {
        case requested, byHeadset, lost
    }

    /// What the gateway is told.
    package enum GatewayInput: Hashable, Sendable {
        case connect(hint: VoiceCodec?)
        case disconnect
        case opened(VoiceCodec)
        case closed
        case failed(AudioFailure)
    }

    /// What the log says.
    package enum Note: Hashable, Sendable {
        /// The link is opened when the headset is heard of again.
        case waitsForSignOfLife
        /// Why the kernel did not open it.
        case refused
        /// Nothing has come in; not up: the other side closed it before.
        case nothingCameIn(isUp: Bool, isLast: Bool)
    }

    package enum Action: Hashable, Sendable {
        case gateway(GatewayInput)
        /// Has music stop; `roomMade` answers.
        case makeRoom
        /// Nobody waits for room any more.
        case leaveRoom
        /// `turnCame` or `turnRefused` answers.
        case queue(limit: Duration)
        /// Once more, after the pause.
        case queueAgain
        /// The set-up has ended, or is not wanted any more.
        case leaveQueue
        /// `linkCame` or `openingFailed` answers; so does `accept`.
        case open(VoiceCodec, limit: Duration)
        /// Takes the link that the headset opens.
        case accept(VoiceCodec, limit: Duration)
        /// The answer comes soon.
        case cancelOpening
        /// Hands the link that came to the engine: `firstPacketCame` or `linkEnded` answers.
        case carry
        /// Closes the link that came, which nobody wants any more.
        case discard
        /// Has the engine close the link; `linkEnded` answers if there is one.
        case close
        /// The pause of this headset begins.
        case startPause
        case report(Report)
        /// For the statistics; nil: the link is up.
        case setUpEnded(VoiceCodec, AudioFailure?)
        /// Something has to be tried again.
        case retried
        /// Disconnect the headset: the controller does not notice that it is gone.
        case freeController
        case note(Note)
        /// Call `deadlineReached` then, once; replaces an earlier one, nil cancels it.
        case setDeadline(Instant?)
        /// Our own mistake.
        case fault(String)
    }

    /// What is believed of the headset.
    enum Life {
        case alive
        /// The last set-up timed out, and nothing has come from the headset since.
        case doubtful
        /// Its audio fell silent, and nothing has come from it since.
        case silent
    }

    /// Until something comes in on a link that is up.
    package static let firstPacketLimit = Duration.seconds(1)
    /// How long the kernel may hold an earlier link.
    package static let busyLimit = Duration.seconds(2)
    /// Before the kernel is asked again.
    package static let busyPause = Duration.milliseconds(100)
    /// How long the connection may outlive the audio of a headset that is switched off.
    package static let farewellTime = Duration.milliseconds(100)
    /// What a request may last beyond the limit that the policy keeps.
    package static let grace = Duration.seconds(1)
    /// The attempt that is made even if nothing was heard: a headset may be back without a reason to say anything.
    package static let blindAttempt = 3

    package internal(set) var state = State.closed
    var life = Life.alive
    /// It was disconnected to free the controller: once is enough.
    var wasFreed = false
    /// For the set-ups that the headset asks for: as in the last request.
    var limit = Duration.seconds(5)
    private var deadline: Instant?

    package init() {}

    package var isOver: Bool {
        switch state {
        case .over, .abandoned(_, .over): true
        case .closed, .waiting, .agreeing, .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing,
            .abandoned, .farewell:
            false
        }
    }

    /// What the policy waits for.
    package var request: Request? {
        switch state {
        case .waiting(_, let request), .agreeing(let request), .closing(.reopen(let request)),
            .abandoned(_, .reopen(let request)):
            request
        case .queued(let setUp), .opening(let setUp, _), .blocked(let setUp, _, _), .awaitingFirstPacket(let setUp, _):
            setUp.request
        case .closed, .open, .closing, .abandoned, .farewell, .over: nil
        }
    }

    /// Every input ends here: the deadline if it changed.
    mutating func finish(_ actions: [Action]) -> [Action] {
        let next = dueTime
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }

    private var dueTime: Instant? {
        let end = request?.deadline
        return switch state {
        case .blocked(_, _, let time), .awaitingFirstPacket(_, let time), .farewell(let time): min(time, end ?? time)
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
        case .farewell(let time) where time <= now:
            state = .closed
            return finish([.report(.closed(.byHeadset))])
        case .closed, .waiting, .agreeing, .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing,
            .abandoned, .farewell, .over:
            return finish([])
        }
    }

    // MARK: The policy

    /// The policy wants the link: `.report` says `.opened` or `.failed`, or `.closed` after `closeRequested`.
    ///
    /// - Parameters:
    ///   - attempt: counted from 1 since the last link that lived.
    ///   - limit: for each set-up.
    package mutating func requested(
        hint: VoiceCodec?, attempt: Int, limit: Duration, at now: Instant
    ) -> [Action] {
        let request = Request(
            hint: hint, attempt: attempt, limit: limit, deadline: now.advanced(by: limit).advanced(by: Self.grace))
        self.limit = limit
        switch state {
        case .closed: return finish(start(request, at: now))
        case .waiting(let obstacle, _): return finish(leave(obstacle) + start(request, at: now))
        case .farewell: return finish([.report(.closed(.byHeadset))] + start(request, at: now))
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
        // The headset was quicker, and the policy has forgotten it meanwhile (the adapter was off).
        case .open(let codec): return finish([.report(.opened(codec))])
        case .closing: state = .closing(.reopen(request))
        case .abandoned(let setUp, .over): state = .abandoned(setUp, .over)
        case .abandoned(let setUp, _): state = .abandoned(setUp, .reopen(request))
        case .over: return finish([.report(.failed(.failed))])
        }
        return finish([])
    }

    /// The policy wants no link: `.report` says `.closed` when there is none any more.
    package mutating func closeRequested(at now: Instant) -> [Action] {
        switch state {
        case .closed, .agreeing, .farewell:
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
        if life == .silent, request.attempt < Self.blindAttempt {
            state = .waiting(.silence, request)
            return [.note(.waitsForSignOfLife)]
        }
        return (request.attempt > 1 ? [.retried] : []) + makeRoom(request, at: now)
    }

    mutating func makeRoom(_ request: Request, at now: Instant) -> [Action] {
        state = .waiting(.music(since: now), request)
        return [.makeRoom]
    }

    /// The music has stopped, or does not: the link may be opened.
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

    /// The policy has not withdrawn the request in time.
    private mutating func expire(at now: Instant) -> [Action] {
        if life == .alive { life = .doubtful }
        let failure = Action.report(.failed(.timedOut))
        switch state {
        case .waiting(let obstacle, _):
            state = .closed
            return leave(obstacle) + [failure]
        case .agreeing:
            state = .closed
            return [.gateway(.disconnect), failure]
        case .queued, .opening, .blocked, .awaitingFirstPacket:
            return [.gateway(.disconnect)] + giveUp(.none, at: now) + [failure]
        // Requested again while the link before was being closed, which is still to be reported.
        case .closing:
            state = .closing(.report)
            return [failure]
        case .abandoned(let setUp, _):
            state = .abandoned(setUp, .report)
            return [failure]
        case .closed, .open, .farewell, .over: return []
        }
    }
}
