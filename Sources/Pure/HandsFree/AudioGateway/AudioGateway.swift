package import BluetoothTypes
package import Telephony

/// Our side towards one headset: the Audio Gateway of the Hands-Free Profile (HFP 1.9), from the first byte of the RFCOMM
/// channel to its end; by configuration that of the Headset Profile (HSP 1.2).
///
/// Every input returns the actions to perform, in order; the caller performs all of them before the next input. Rules for
/// the order of lines:
/// - One command at a time. Commands behind one that waits for a request are queued and answered in turn.
/// - A reply precedes anything unsolicited; events in between are sent after it.
/// - Nothing unsolicited before the service level connection is established; values that the headset has read by then are
///   updated at once.
/// - +CIEV only for a value that changed and that this headset does not have already. Changes while reporting or the
///   indicator is off are not sent later: AT+CIND? reports them.
package struct AudioGateway: Sendable {
    package private(set) var configuration: AudioGatewayConfiguration
    /// Features as sent in +BRSF.
    package let features: AudioGatewayFeatures
    package internal(set) var isOpen = false

    var reader = ATReader()
    var quota: CommandQuota
    var connection: ServiceLevelConnection
    var audio: CodecNegotiation

    // Our state.
    var calls = CallSnapshot.empty
    var startedAt: [CallID: Instant]
    var values: IndicatorValues
    var lastDialed: String?
    var inbandRing: Bool
    var hfIndicatorIsOn: [HFIndicator: Bool]
    var isVoiceRecognitionOn = false
    var responseAndHold = ResponseAndHoldState()
    var virtualCall = VirtualCallState()
    /// The network was lost during a call that is still up.
    var hasLostNetwork = false
    /// When the last call ended, while a loss of the network may still be the reason.
    var callLostAt: Instant?

    // The headset's state and settings.
    var sent: [Indicator: Int] = [:]
    var isReporting = false
    var deactivated: Set<Indicator> = []
    var wantsExtendedErrors = false
    var wantsCallerIdentification = false
    var wantsCallWaiting = false
    var announcedInbandRing: Bool
    var allowsInbandRing = true

    // Work in progress.
    var queue: [ATReader.Input] = []
    var awaiting: Awaiting?
    var deferred: [Deferred] = []
    var afterReply: [CodecNegotiation.Action] = []
    var ringAt: Instant?
    /// When `callsetup` is repeated.
    var reminderAt: Instant?
    var deferredAudio: DeferredAudioRequest?
    var volume = VolumeState()
    package internal(set) var vendorSettings = VendorSettings()
    /// The headset has sent a line that is not a command.
    var saysOtherThings = false
    /// A command is being processed and has no reply yet.
    private var isResponding = false
    private var lastRequest: UInt32 = 0
    private var deadline: Instant?
    private var actions: [Action] = []

    /// The command that waits for its request.
    struct Awaiting: Sendable {
        let id: GatewayRequestID
        let request: CallRequest
        let deadline: Instant
    }

    /// The audio connection was requested before the service level connection was established.
    struct DeferredAudioRequest: Sendable {
        let hint: VoiceCodec?
    }

    /// Line to send after the reply that is due.
    enum Deferred: Hashable, Sendable {
        case line(ATResultCode)
        /// The indicator's value at that time, if the headset does not have it.
        case report(Indicator)

        var line: ATResultCode? {
            switch self {
            case .line(let line): line
            case .report: nil
            }
        }
    }

    package static let queueLimit = 32
    package static let deferredLimit = 256

    /// - Parameters:
    ///   - calls: existing calls.
    ///   - startedAt: when the answered ones were answered; a missing one counts from `start`.
    package init(
        configuration: AudioGatewayConfiguration, calls: CallSnapshot = .empty, startedAt: [CallID: Instant] = [:]
    ) {
        self.configuration = configuration
        features = configuration.effectiveFeatures
        quota = CommandQuota(burst: configuration.quota.burst, perSecond: configuration.quota.perSecond)
        let seconds = configuration.quirks.setUpSeconds
        connection = ServiceLevelConnection(
            gateway: features, recorded: configuration.recordedFeatures,
            timeout: seconds.map { .seconds($0) } ?? configuration.setUpTimeout)
        audio = CodecNegotiation(
            codecs: configuration.usableCodecs, memory: configuration.codecMemory,
            retriesRefusal: configuration.quirks.refusesFirstAudio)
        values = configuration.indicators
        lastDialed = configuration.lastDialed
        inbandRing = configuration.inbandRing
        announcedInbandRing = features.contains(.inbandRing)
        hfIndicatorIsOn = configuration.hfIndicators
        self.calls = calls
        self.startedAt = startedAt
        update(shownIndicators)
    }

    /// Applies the settings that may change while the headset is connected: the codecs, from the next audio connection on,
    /// and the name of the network. The features of +BRSF stay until the headset reconnects.
    package mutating func reconfigure(codecs: [VoiceCodec], networkOperator: String?) {
        configuration.networkOperator = networkOperator
        guard codecs != configuration.codecs else { return }
        configuration.codecs = codecs
        audio.offer(configuration.usableCodecs)
    }

    /// Sets the numbers of ATD>n; and +CNUM.
    package mutating func setNumbers(memory: [Int: String], subscriberNumbers: [SubscriberNumber]) {
        configuration.memory = memory
        configuration.subscriberNumbers = subscriberNumbers
    }

    /// Sets the maximum speaker volume, 0…15, and lowers a headset that is louder.
    package mutating func setSpeakerCeiling(_ value: Int, at now: Instant) -> [Action] {
        configuration.speakerCeiling = min(max(value, 0), 15)
        if let known = volume.known[.speaker], known > configuration.speakerCeiling {
            tell(.volume(.speaker, configuration.speakerCeiling))
        }
        enforceCeiling(at: now)
        return finish()
    }

    package var isEstablished: Bool { connection.isEstablished }

    /// Codec of the open or requested link, for status.
    package var audioState: CodecNegotiation.State { audio.state }

    /// Knowledge about the headset's codecs, including this connection's.
    package var codecMemory: CodecMemory { audio.memory }

    /// Bytes and lines stored for a headset: limits what it can make us hold. At most `ATReader.limit` bytes for each line
    /// of the queue and one more.
    package var keptBytes: Int {
        reader.keptBytes + queue.reduce(0) { $0 + $1.byteCount }
            + deferred.reduce(0) { $0 + ($1.line?.text.utf8.count ?? 0) }
    }

    var isHeadsetProfile: Bool {
        switch configuration.profile {
        case .handsFree: false
        case .headset: true
        }
    }

    // MARK: The channel

    /// Starts on an open RFCOMM channel: the headset begins. In the Headset Profile it is connected at once.
    package mutating func start(at now: Instant) -> [Action] {
        isOpen = true
        noteStarts(at: now)
        connection.start(at: now)
        if isHeadsetProfile {
            connection.establish()
            announce(at: now)
        }
        return finish()
    }

    /// Handles the loss of the channel. Calls are untouched (docs/inside/Gateway.md rule 10); the caller closes the audio
    /// link.
    package mutating func connectionLost() -> [Action] {
        isOpen = false
        queue = []
        awaiting = nil
        deferred = []
        return finish()
    }

    /// Handles the outcome of a request; an unexpected id changes nothing.
    package mutating func requestCompleted(
        _ id: GatewayRequestID, _ outcome: RequestOutcome, at now: Instant
    ) -> [Action] {
        guard isOpen, let request = awaiting?.request, awaiting?.id == id else { return finish() }
        complete(request, outcome, at: now)
        return finish()
    }

    /// Handles the deadline set by `.setDeadline`, or any later time.
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
        resendVolumeIfDue(at: now)
        remindIfDue(at: now)
        ringIfDue(at: now)
        return finish()
    }

    // MARK: Replies

    mutating func execute(_ input: ATReader.Input, at now: Instant) {
        connection.commandReceived(at: now)
        isResponding = true
        let reply = respond(to: input, at: now)
        isResponding = false
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

    private mutating func respond(to input: ATReader.Input, at now: Instant) -> Reply {
        switch input {
        case .problem(.lineTooLong):
            return .refuse(.textTooLong)
        case .line(let line):
            do throws(ATSyntaxError) {
                return isHeadsetProfile ? try respondAsHeadset(to: line, at: now) : try respond(to: line, at: now)
            } catch {
                return .refuse(error.code)
            }
        }
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
        var waiting = queue[...]
        while isOpen, awaiting == nil, let input = waiting.popFirst() {
            execute(input, at: now)
        }
        if isOpen { queue = Array(waiting) }
    }

    /// Handles everything that waited for the reply.
    private mutating func settle(at now: Instant) {
        let negotiation = afterReply
        afterReply = []
        if connection.advance() {
            announce(at: now)
        }
        let parts = deferred
        deferred = []
        for part in parts {
            switch part {
            case .line(.codec(let codec)):
                // The headset may have opened the link meanwhile.
                guard case .proposed(let proposed, _, _) = audio.state, proposed == codec else { continue }
                send(.codec(codec))
                audio.proposalSent(at: now)
            case .line(let line): send(line)
            case .report(let indicator): report(indicator)
            }
        }
        perform(negotiation)
        // The next command may already be queued: it must see the effects of this one.
        followAudio()
        ringIfDue(at: now)
    }

    /// Reports to the headset what was withheld until the service level connection was established.
    private mutating func announce(at now: Instant) {
        let common = connection.usesHFIndicators ? connection.hfIndicators.filter { hfIndicatorIsOn[$0] != nil } : []
        perform(audio.support(connection.usesCodecNegotiation, at: now))
        delayAudio(at: now)
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
        if let request = deferredAudio {
            deferredAudio = nil
            startAudio(hint: request.hint, at: now)
        }
    }

    // MARK: Building blocks of the extensions

    /// Answer to a command; further lines of the answer are sent before it.
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

    /// A reply precedes anything unsolicited.
    var isReplyDue: Bool { awaiting != nil || isResponding }

    /// Sends an unsolicited line, now or after the reply that is due. The Headset Profile has only three.
    mutating func sendUnsolicited(_ line: ATResultCode) {
        guard isOpen, connection.isEstablished, !isHeadsetProfile || line.isOfHeadsetProfile else { return }
        guard isReplyDue else {
            send(line)
            return
        }
        guard deferred.count < Self.deferredLimit else {
            close(.outputOverflow)
            return
        }
        deferred.append(.line(line))
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

    /// Ends every input: returns the collected actions, and the deadline if it changed.
    mutating func finish() -> [Action] {
        followAudio()
        var next: Instant?
        if isOpen {
            let times =
                awaiting.map { [$0.deadline] } ?? [
                    connection.deadline, audio.deadline, ringAt, reminderAt, volume.resendAt, volume.correctAt,
                ]
            next = times.compactMap { $0 }.min()
        }
        let result: [Action]
        if next != deadline {
            deadline = next
            // Nothing may follow a close.
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
