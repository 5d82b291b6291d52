import AudioPaths
import BluetoothSockets
package import BluetoothTypes
import ControlLoop
import HandsFree
package import HeadsetPolicy
import Logging

/// The voice link: feeds events to the `VoiceLink` machine and carries out its actions.
extension HeadsetSession: LinkContender {
    /// Additional subject of an action.
    enum LinkSubject {
        case nothing
        case link(OpenAudioLink)
        case refusal(AudioLinkError)
    }

    // MARK: Events

    package func openLink(codecHint: VoiceCodec?, attempt: Int, timeout: Duration) {
        act(voiceLink.requested(hint: codecHint, attempt: attempt, limit: timeout, at: ControlLoop.now))
    }

    package func closeLink() { act(voiceLink.closeRequested(at: ControlLoop.now)) }

    package func headsetOpensLink(_ link: any IncomingAudioLink) {
        offered = link
        run(gateway.audioIncoming())
    }

    package func turnCame(_ ticket: LinkQueue.Ticket) {
        guard ticket == self.ticket else { return }
        act(voiceLink.turnCame(at: ControlLoop.now))
    }

    package func turnRefused(_ ticket: LinkQueue.Ticket) {
        guard ticket == self.ticket else { return }
        act(voiceLink.turnRefused())
    }

    package func firstPacketCame() { act(voiceLink.firstPacketCame()) }
    package func linkSilent() { voiceLink.fellSilent() }
    package func linkResumed() { voiceLink.resumed() }
    /// The engine has removed the link.
    package func linkEnded(_ end: VoiceLink.End) { act(voiceLink.linkEnded(end, at: ControlLoop.now)) }

    /// Handles the kernel's result of a set-up.
    private func setUpEnded(_ result: Result<OpenAudioLink, AudioLinkError>) {
        opening = nil
        switch result {
        case .success(let link): act(voiceLink.linkCame(at: ControlLoop.now), on: .link(link))
        case .failure(let error):
            act(voiceLink.openingFailed(Self.failure(error), at: ControlLoop.now), on: .refusal(error))
        }
    }

    // MARK: Actions of the machine

    /// Runs actions in order; actions that arise meanwhile are queued behind them.
    func act(_ actions: [VoiceLink.Action], on subject: LinkSubject = .nothing) {
        linkActions += actions.map { ($0, subject) }
        guard !isActing else { return }
        isActing = true
        while !linkActions.isEmpty {
            let (action, subject) = linkActions.removeFirst()
            perform(action, on: subject)
        }
        isActing = false
    }

    private func perform(_ action: VoiceLink.Action, on subject: LinkSubject) {
        switch action {
        case .gateway(let input): pass(input)
        case .makeRoom: makeRoom()
        case .leaveRoom: music?.cancel(address)
        case .queue(let limit, let pauses):
            let ticket = admission.ticket(for: address)
            self.ticket = ticket
            admission.enter(ticket, self, limit: limit, pauses: pauses)
        case .queueAgain: if let ticket { admission.again(ticket) }
        case .leaveQueue: leaveQueue()
        case .open(let codec, let limit): open(codec, limit)
        case .accept(let codec, let limit): accept(codec, limit)
        case .cancelOpening:
            opening?.cancel()
            admission.opener.cancel()
        case .carry:
            guard case .link(let link) = subject else { return }
            graph.add(link: link, of: address, speaksAtOnce: talkTail != nil)
        case .discard: if case .link(let link) = subject { link.close() }
        case .close: graph.closeLink(address)
        case .startPause: admission.linkClosed(address)
        case .report(let report): send(report)
        case .setUpEnded(let codec, let failure): admission.events.send(.ended(codec, failure))
        case .retried: admission.events.send(.retried(address))
        case .freeController: onEvent?(.linkStuck)
        case .note(let note): log(note, subject)
        case .setDeadline(let deadline): setLinkDeadline(deadline)
        case .fault(let reason): fault(reason)
        }
    }

    private func pass(_ input: VoiceLink.GatewayInput) {
        let now = ControlLoop.now
        switch input {
        case .connect(let hint): run(gateway.audioRequested(.connect(hint: hint), at: now))
        case .disconnect: run(gateway.audioRequested(.disconnect, at: now))
        case .opened(let codec): run(gateway.audioOpened(codec, at: now))
        case .closed:
            talkLinkClosed()
            run(gateway.audioClosed(at: now))
        case .failed(let failure): run(gateway.audioFailed(failure, at: now))
        }
    }

    private func send(_ report: VoiceLink.Report) {
        switch report {
        case .opened(let codec), .openedByHeadset(let codec): logger.info("\(address): audio link open, \(codec)")
        case .failed, .closed: talkLinkEnded()
        }
        talkLinkOpened(report)
        onEvent?(.link(report))
        onEvent?(.changed)
    }

    private func makeRoom() {
        let isAwaited = music?.makeRoom(for: address) { [weak self] in self?.roomMade() }
        if isAwaited != true { roomMade() }
    }

    private func roomMade() { act(voiceLink.roomMade(at: ControlLoop.now)) }

    private func leaveQueue() {
        accepted = nil
        guard let left = ticket else { return }
        ticket = nil
        admission.leave(left)
    }

    private func open(_ codec: VoiceCodec, _ limit: Duration) {
        let (opener, address) = (admission.opener, address)
        setUp { () async throws(AudioLinkError) in try await opener.open(address, codec: codec, timeout: limit) }
    }

    private func accept(_ codec: VoiceCodec, _ limit: Duration) {
        guard let link = accepted else { return setUp { () async throws(AudioLinkError) in throw .lost } }
        setUp { () async throws(AudioLinkError) in try await link.accept(codec: codec, timeout: limit) }
    }

    private func setUp(_ work: @escaping @ControlPlane () async throws(AudioLinkError) -> OpenAudioLink) {
        opening = Task { @ControlPlane in
            do throws(AudioLinkError) {
                guard !Task.isCancelled else { throw .cancelled }
                setUpEnded(.success(try await work()))
            } catch {
                setUpEnded(.failure(error))
            }
        }
    }

    private func setLinkDeadline(_ deadline: Instant?) {
        linkTimer?.cancel()
        linkTimer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                linkTimer = nil
                act(voiceLink.deadlineReached(at: ControlLoop.now))
            }
        }
    }

    private func log(_ note: VoiceLink.Note, _ subject: LinkSubject) {
        switch note {
        case .waitsForData:
            logger.info("\(address): silent since its link closed: its link is opened once it sends something")
        case .refused: if case .refusal(let error) = subject { logger.notice("\(address): \(error)") }
        case .noTurn:
            logger.notice("\(address): no audio link: the links of other headsets took too long to set up")
        case .noCodec(.unanswered): logger.notice("\(address): no audio link: the headset agreed on no codec (AT+BCS)")
        case .noCodec(let failure): logger.notice("\(address): no audio link: no codec was agreed on (\(failure))")
        case .expired(let state): logger.notice("\(address): no audio link in time: \(Self.hindrance(in: state))")
        // A link that the other side has closed says nothing about where the controller sends voice.
        case .nothingCameIn(isUp: false, let isLast):
            logger.warning("\(address): the audio link ended before anything came in\(Self.next(isLast))")
        case .nothingCameIn(isUp: true, let isLast):
            logger.warning(
                """
                \(address): the audio link is up and nothing comes in\(Self.next(isLast)): \
                \(admission.advice?(address) ?? "the headset does not send, or the controller keeps it for itself")
                """)
            admission.events.send(.nothingCameIn(address))
        }
    }

    private static func next(_ isLast: Bool) -> String { isLast ? "" : "; trying once more" }

    /// What a request waited for.
    private static func hindrance(in state: VoiceLink.State) -> String {
        switch state {
        case .waiting(.silence, _): "the headset is silent since its last link"
        case .waiting(.music, _): "its music did not stop"
        case .agreeing: "no codec was agreed on"
        case .queued: "the link of another headset is being set up, or the last one was closed just now"
        case .opening: "the kernel has not opened it"
        case .blocked: "the kernel still holds an earlier one"
        case .awaitingFirstPacket: "nothing comes in"
        case .closing, .abandoned: "the earlier one is not closed yet"
        case .closed, .open, .gracePeriod, .over: "nothing waits for it"
        }
    }

    private static func failure(_ error: AudioLinkError) -> AudioFailure {
        switch error {
        case .refused: .refused
        case .timedOut: .timedOut
        case .unsupportedCodec: .unsupportedCodec
        case .busy, .alreadyConnecting: .busy
        case .cancelled: .cancelled
        case .noBluetoothInKernel, .noAdapter, .headsetAbsent, .notPaired, .negotiationFailed, .lost, .tryAgain,
            .notPermitted, .listenerExists, .failed:
            .failed
        }
    }
}
