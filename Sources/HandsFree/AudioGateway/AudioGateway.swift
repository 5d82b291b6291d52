package import BluetoothTypes
package import Telephony

/// Us, towards one headset: the Audio Gateway of the Hands-Free Profile (HFP 1.9), from the first byte of the RFCOMM
/// channel to its end.
///
/// Every input returns what to do, in order; the caller does all of it before the next input. The rules that order lines:
/// - One command at a time. Commands behind one that waits for a request are kept and answered in their turn.
/// - A reply goes before anything unsolicited; what happens meanwhile is sent after it.
/// - Nothing unsolicited before the service level connection is established; what the headset has then read is brought
///   up to date at once.
/// - +CIEV only for a value that changed and that this headset does not have already. What changes while reporting is
///   off, or while the indicator is off, is not made up for: AT+CIND? tells.
package struct AudioGateway: Sendable {
    package let configuration: AudioGatewayConfiguration
    /// As +BRSF says them.
    package let features: AudioGatewayFeatures
    package internal(set) var isOpen = false

    var reader = ATReader()
    var quota: CommandQuota
    var connection: ServiceLevelConnection
    var audio: CodecNegotiation

    // What is true here.
    var calls = CallSnapshot.empty
    var values: IndicatorValues
    var lastDialed: String?
    var inbandRing: Bool
    var hfIndicatorIsOn: [HFIndicator: Bool]
    var isHeldByResponse = false

    // What the headset knows and wants.
    var sent: [Indicator: Int] = [:]
    var isReporting = false
    var deactivated: Set<Indicator> = []
    var wantsExtendedErrors = false
    var wantsCallerIdentification = false
    var wantsCallWaiting = false
    var announcedInbandRing: Bool

    // What is under way.
    var queue: [ATReader.Input] = []
    var awaiting: Awaiting?
    var deferred: [ATResultCode] = []
    var afterReply: [CodecNegotiation.Action] = []
    var ringAt: Instant?
    var audioWanted: AudioWish?
    var volumeWanted: [VolumeDirection: Int] = [:]
    private var lastRequest: UInt32 = 0
    private var deadline: Instant?
    private var actions: [Action] = []

    /// The command that waits for its request.
    struct Awaiting: Sendable {
        let id: GatewayRequestID
        let request: CallRequest
        let deadline: Instant
    }

    /// The audio connection was wanted before the service level connection was there.
    struct AudioWish: Sendable {
        let hint: VoiceCodec?
    }

    static let queueLimit = 32
    static let deferredLimit = 256

    /// - Parameter calls: what is up already.
    package init(configuration: AudioGatewayConfiguration, calls: CallSnapshot = .empty) {
        self.configuration = configuration
        features = configuration.effectiveFeatures
        quota = CommandQuota(burst: configuration.quota.burst, perSecond: configuration.quota.perSecond)
        let seconds = configuration.quirks.setUpSeconds
        connection = ServiceLevelConnection(
            gateway: features, timeout: seconds.map { .seconds($0) } ?? configuration.setUpTimeout)
        let codecs = configuration.codecs.filter { !configuration.quirks.brokenCodecs.contains($0) }
        audio = CodecNegotiation(codecs: codecs)
        values = configuration.indicators
        lastDialed = configuration.lastDialed
        inbandRing = configuration.inbandRing
        announcedInbandRing = features.contains(.inbandRing)
        hfIndicatorIsOn = configuration.hfIndicators
        self.calls = calls
        take(calls.indicators)
    }

    package var isEstablished: Bool { connection.isEstablished }

    /// The codec of the open or wanted link, for status.
    package var audioState: CodecNegotiation.State { audio.state }

    // MARK: The channel

    /// The RFCOMM channel is open: the headset begins.
    package mutating func start(at now: Instant) -> [Action] {
        isOpen = true
        connection.start(at: now)
        return finish()
    }

    /// The channel is gone. Calls are untouched (HFP.md section 3 rule 10); closing the audio link is the caller's.
    package mutating func connectionLost() -> [Action] {
        isOpen = false
        queue = []
        awaiting = nil
        return finish()
    }

    /// - Parameter bytes: in any split.
    package mutating func bytesReceived(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Action] {
        for input in reader.read(bytes) where isOpen {
            receive(input, at: now)
        }
        return finish()
    }

    private mutating func receive(_ input: ATReader.Input, at now: Instant) {
        guard quota.take(at: now), queue.count < Self.queueLimit else {
            close(.flooded)
            return
        }
        if awaiting == nil {
            execute(input, at: now)
        } else {
            queue.append(input)
        }
    }

    /// The outcome of a request; an id that is not waited for changes nothing.
    package mutating func requestCompleted(
        _ id: GatewayRequestID, _ outcome: RequestOutcome, at now: Instant
    ) -> [Action] {
        guard isOpen, let request = awaiting?.request, awaiting?.id == id else { return finish() }
        complete(request, outcome, at: now)
        return finish()
    }

    /// The deadline that `.setDeadline` named, or any later time.
    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        guard isOpen else { return finish() }
        if let waiting = awaiting, waiting.deadline <= now {
            complete(waiting.request, .failed(.networkTimeOut), at: now)
        }
        guard awaiting == nil else { return finish() }
        switch connection.deadlineReached(at: now) {
        case .pending: break
        case .established: announce(at: now)
        case .timedOut: close(.setUpTimedOut)
        }
        guard isOpen else { return finish() }
        perform(audio.deadlineReached(at: now))
        ringIfDue(at: now)
        return finish()
    }

    // MARK: Replies

    mutating func execute(_ input: ATReader.Input, at now: Instant) {
        connection.commandReceived(at: now)
        let reply: Reply
        switch input {
        case .problem(.lineTooLong):
            reply = .refuse(.textTooLong)
        case .line(let line):
            do throws(ATSyntaxError) {
                reply = try respond(to: ATCommand(line: line), at: now)
            } catch {
                reply = .refuse(.invalidText)
            }
        }
        switch reply {
        case .done:
            send(.ok)
        case .refuse(let error):
            send(wantsExtendedErrors ? .cmeError(error) : .error)
        case .ask(let request):
            lastRequest &+= 1
            let id = GatewayRequestID(lastRequest)
            awaiting = Awaiting(id: id, request: request, deadline: now.advanced(by: configuration.requestTimeout))
            actions.append(.request(request, id: id))
            return
        }
        settle(at: now)
    }

    private mutating func complete(_ request: CallRequest, _ outcome: RequestOutcome, at now: Instant) {
        awaiting = nil
        switch outcome {
        case .done:
            send(.ok)
            requestDone(request, at: now)
        case .failed(let error):
            send(wantsExtendedErrors ? .cmeError(error) : .error)
        }
        settle(at: now)
        while isOpen, awaiting == nil, !queue.isEmpty {
            execute(queue.removeFirst(), at: now)
        }
    }

    /// After a reply: what waited for it.
    private mutating func settle(at now: Instant) {
        let negotiation = afterReply
        afterReply = []
        if connection.advance() {
            announce(at: now)
        }
        let lines = deferred
        deferred = []
        for line in lines { send(line) }
        perform(negotiation)
        ringIfDue(at: now)
    }

    /// The service level connection is there: what the headset could not be told before.
    private mutating func announce(at now: Instant) {
        let common = connection.usesHFIndicators ? connection.hfIndicators.filter { hfIndicatorIsOn[$0] != nil } : []
        audio.isSupported = connection.usesCodecNegotiation
        actions.append(
            .event(
                .established(
                    Negotiated(
                        handsFree: connection.features, gateway: features, codecs: audio.offered,
                        hfIndicators: common.sorted()))))
        announceInbandRing()
        announceVolume(.speaker)
        announceVolume(.microphone)
        for indicator in Indicator.allCases where sent[indicator] != nil {
            report(indicator)
        }
        startRinging(at: now)
        if let wish = audioWanted {
            audioWanted = nil
            perform(audio.start(hint: wish.hint, at: now))
        }
    }

    // MARK: Building blocks of the extensions

    /// How a command is answered; lines that belong to the answer are sent before.
    enum Reply: Sendable {
        case done
        case refuse(CMEError)
        case ask(CallRequest)
    }

    mutating func send(_ line: ATResultCode) {
        actions.append(.send(line))
    }

    mutating func tell(_ event: Event) {
        actions.append(.event(event))
    }

    /// Sends a line that no command asked for, now or after the reply that is due.
    mutating func sendUnsolicited(_ line: ATResultCode) {
        guard isOpen, connection.isEstablished else { return }
        guard awaiting != nil else {
            send(line)
            return
        }
        guard deferred.count < Self.deferredLimit else {
            close(.outputOverflow)
            return
        }
        deferred.append(line)
    }

    mutating func perform(_ steps: [CodecNegotiation.Action]) {
        for step in steps {
            switch step {
            case .propose(let codec): sendUnsolicited(.codec(codec))
            case .connect(let codec): actions.append(.connectAudio(codec))
            case .disconnect: actions.append(.disconnectAudio)
            case .accept(let codec): actions.append(.acceptAudio(codec))
            case .reject: actions.append(.rejectAudio)
            case .steppedDown(let codec, let failure): tell(.codecFailed(codec, failure))
            case .failed(let failure): tell(.audioFailed(failure))
            }
        }
    }

    mutating func close(_ reason: CloseReason) {
        guard isOpen else { return }
        isOpen = false
        queue = []
        awaiting = nil
        deferred = []
        actions.append(.closeConnection(reason))
    }

    /// Every input ends here: the deadline if it changed, and all that was collected.
    mutating func finish() -> [Action] {
        var next: Instant?
        if isOpen {
            let times = awaiting.map { [$0.deadline] } ?? [connection.deadline, audio.deadline, ringAt]
            next = times.compactMap { $0 }.min()
        }
        let result: [Action]
        if next != deadline {
            deadline = next
            // Closing is the last thing that is ever said.
            let end = isOpen ? actions.endIndex : actions.lastIndex { $0.isClose } ?? actions.endIndex
            result = Array(actions[..<end]) + [.setDeadline(next)] + Array(actions[end...])
        } else {
            result = actions
        }
        actions = []
        return result
    }
}

extension AudioGateway.Action {
    fileprivate var isClose: Bool {
        if case .closeConnection = self { true } else { false }
    }
}
