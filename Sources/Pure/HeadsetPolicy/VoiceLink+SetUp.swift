package import BluetoothTypes

/// Inputs of the headset, the gateway, the queue, the kernel and the engine.
extension VoiceLink {
    // MARK: The headset

    /// Handles any data from the headset over its connection.
    package mutating func heard(at now: Instant) -> [Action] {
        guard liveness != .alive else { return [] }
        liveness = .alive
        guard case .waiting(.silence, let request) = state else { return [] }
        return finish(makeRoom(request, at: now))
    }

    /// Records that the open link received no packets for a while.
    package mutating func fellSilent() { liveness = .silent }

    /// Records that packets arrive again.
    package mutating func resumed() { liveness = .alive }

    /// Ends the connection: nothing is reported from now on.
    package mutating func sessionEnded(at now: Instant) -> [Action] {
        switch state {
        case .waiting(let obstacle, _):
            state = .over
            return finish(leave(obstacle))
        case .queued, .opening, .blocked, .awaitingFirstPacket: return finish(giveUp(.over, at: now))
        case .open:
            state = .over
            return finish([.close])
        case .abandoned(let setUp, _): state = .abandoned(setUp, .over)
        case .closed, .agreeing, .closing, .gracePeriod, .over: state = .over
        }
        return finish([])
    }

    // MARK: The gateway

    /// Opens the link with the agreed codec, for the policy or at the headset's request.
    package mutating func connect(_ codec: VoiceCodec) -> [Action] {
        enqueue(SetUp(codec: codec, isIncoming: false, request: request))
    }

    /// Accepts the link that the headset opens, with the agreed codec.
    package mutating func accept(_ codec: VoiceCodec) -> [Action] {
        enqueue(SetUp(codec: codec, isIncoming: true, request: request))
    }

    private mutating func enqueue(_ setUp: SetUp) -> [Action] {
        let before: [Action]
        switch state {
        case .closed, .agreeing: before = []
        // The headset opened its link before the obstacle was removed.
        case .waiting(let obstacle, _): before = leave(obstacle)
        // It closed its link and opens another at once.
        case .gracePeriod: before = [.report(.closed(.byHeadset))]
        case .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing, .abandoned:
            return finish([.fault("a second link")])
        case .over: return finish([])
        }
        state = .queued(setUp)
        noted = nil
        return finish(before + [.queue(limit: setUp.request?.limit ?? limit, pauses: !setUp.isIncoming)])
    }

    /// Handles the gateway's withdrawal of the link.
    package mutating func disconnect(at now: Instant) -> [Action] {
        switch state {
        case .queued, .opening, .blocked, .awaitingFirstPacket: return finish(giveUp(.report, at: now))
        case .open:
            state = .closing(.report)
            return finish([.close])
        case .closed, .waiting, .agreeing, .closing, .abandoned, .gracePeriod, .over: return finish([])
        }
    }

    /// Handles the end of the negotiation: no codec is left to try, or none may be tried.
    package mutating func negotiationFailed(_ failure: AudioFailure) -> [Action] {
        let before: [Action]
        switch state {
        // For the policy its attempt failed, even if the link was the headset's.
        case .closed, .agreeing: before = []
        case .waiting(let obstacle, _): before = leave(obstacle)
        case .queued, .opening, .blocked, .awaitingFirstPacket, .open, .closing, .abandoned, .gracePeriod, .over:
            return finish([])
        }
        state = .closed
        if failure == .timedOut, liveness == .alive { liveness = .doubtful }
        let note: [Action] = noted == failure ? [] : [.note(.noCodec(failure))]
        noted = nil
        return finish(before + note + [.report(.failed(failure))])
    }

    // MARK: The queue

    package mutating func turnCame(at now: Instant) -> [Action] {
        guard case .queued(let setUp) = state else { return finish([]) }
        state = .opening(setUp, since: now)
        return finish([opening(setUp)])
    }

    /// Handles a turn that did not come, because the set-ups of others took too long.
    package mutating func turnRefused() -> [Action] {
        guard case .queued(let setUp) = state else { return finish([]) }
        return finish([.note(.noTurn)] + fail(setUp, .busy))
    }

    func opening(_ setUp: SetUp) -> Action {
        let limit = setUp.request?.limit ?? limit
        return setUp.isIncoming ? .accept(setUp.codec, limit: limit) : .open(setUp.codec, limit: limit)
    }

    // MARK: The kernel

    package mutating func linkCame(at now: Instant) -> [Action] {
        switch state {
        case .opening(let setUp, _):
            state = .awaitingFirstPacket(setUp, until: now.advanced(by: Self.firstPacketLimit))
            return finish([.carry])
        case .abandoned(let setUp, let sequel):
            return finish([.discard, .startPause] + ended(setUp, sequel, at: now))
        case .closed, .waiting, .agreeing, .queued, .blocked, .awaitingFirstPacket, .open, .closing, .gracePeriod,
            .over:
            return finish([.discard, .fault("an unexpected link")])
        }
    }

    package mutating func openingFailed(_ failure: AudioFailure, at now: Instant) -> [Action] {
        switch state {
        case .opening(let setUp, let since):
            guard failure == .busy else { return finish([.note(.refused)] + fail(setUp, failure)) }
            // The kernel may still be processing a cancelled set-up.
            guard since.duration(to: now) >= Self.busyLimit else {
                state = .blocked(setUp, since: since, until: now.advanced(by: Self.busyPause))
                return finish([])
            }
            return finish([.note(.refused)] + freeController() + fail(setUp, failure))
        case .abandoned(let setUp, let sequel):
            return finish([.note(.refused)] + ended(setUp, sequel, at: now))
        case .closed, .waiting, .agreeing, .queued, .blocked, .awaitingFirstPacket, .open, .closing, .gracePeriod,
            .over:
            return finish([.fault("an unexpected failure to open")])
        }
    }

    /// Disconnects a silent headset once: some controllers never notice that a headset is gone, and the kernel refuses each
    /// set-up until they do. A headset that is present reconnects.
    private mutating func freeController() -> [Action] {
        guard liveness != .alive, !wasFreed else { return [] }
        wasFreed = true
        return [.freeController]
    }

    // MARK: The engine

    package mutating func firstPacketCame() -> [Action] {
        guard case .awaitingFirstPacket(let setUp, _) = state else { return finish([]) }
        liveness = .alive
        state = .open(setUp.codec)
        let report = setUp.request == nil ? Report.openedByHeadset(setUp.codec) : .opened(setUp.codec)
        return finish([
            .leaveQueue, .setUpEnded(setUp.codec, nil), .gateway(.opened(setUp.codec)), .report(report),
        ])
    }

    /// Handles the end of the link in the engine.
    package mutating func linkEnded(_ end: End, at now: Instant) -> [Action] {
        switch state {
        case .awaitingFirstPacket(let setUp, _): return finish(nothingCameIn(setUp, isUp: false))
        case .open:
            // A headset that is switched off closes its audio first and its connection right after: that is not a request to
            // move the call to the board permanently.
            guard end != .byHeadset else {
                state = .gracePeriod(until: now.advanced(by: gracePeriod))
                return finish([.gateway(.closed)])
            }
            state = .closed
            return finish([.gateway(.closed), .report(.closed(end))])
        case .closing(let sequel): return finish([.gateway(.closed)] + follow(sequel, at: now))
        // The end of an earlier link.
        case .closed, .waiting, .agreeing, .queued, .opening, .blocked, .abandoned, .gracePeriod, .over:
            return finish([])
        }
    }

    mutating func nothingCameIn(_ setUp: SetUp, isUp: Bool) -> [Action] {
        let end: [Action] = [
            .close, .startPause, .note(.nothingCameIn(isUp: isUp, isLast: !setUp.mayRepeat)),
        ]
        guard setUp.mayRepeat else { return end + fail(setUp, .failed) }
        var next = setUp
        next.number += 1
        state = .queued(next)
        return end + [.retried, .queueAgain]
    }

    // MARK: Ends

    /// Reports the failure, which has been noted, to the gateway, which steps down a codec or gives up.
    private mutating func fail(_ setUp: SetUp, _ failure: AudioFailure) -> [Action] {
        noted = failure
        if let request = setUp.request { state = .agreeing(request) } else { state = .closed }
        return [.leaveQueue, .setUpEnded(setUp.codec, failure), .gateway(.failed(failure))]
    }

    /// Cancels the link that is being set up.
    mutating func giveUp(_ sequel: Sequel, at now: Instant) -> [Action] {
        switch state {
        case .queued(let setUp), .blocked(let setUp, _, _): return ended(setUp, sequel, at: now)
        case .opening(let setUp, _):
            state = .abandoned(setUp, sequel)
            return [.cancelOpening]
        case .awaitingFirstPacket(let setUp, _): return [.close, .startPause] + ended(setUp, sequel, at: now)
        case .closed, .waiting, .agreeing, .open, .closing, .abandoned, .gracePeriod, .over:
            return [.fault("no set-up to cancel")]
        }
    }

    private mutating func ended(_ setUp: SetUp, _ sequel: Sequel, at now: Instant) -> [Action] {
        let end: [Action] = [.leaveQueue, .setUpEnded(setUp.codec, .cancelled)]
        return end + (sequel == .over ? [] : [.gateway(.failed(.cancelled))]) + follow(sequel, at: now)
    }

    private mutating func follow(_ sequel: Sequel, at now: Instant) -> [Action] {
        switch sequel {
        case .none:
            state = .closed
            return []
        case .report:
            state = .closed
            return [.report(.closed(.requested))]
        case .reopen(let request):
            state = .closed
            return [.report(.closed(.requested))] + start(request, at: now)
        case .over:
            state = .over
            return []
        }
    }
}
