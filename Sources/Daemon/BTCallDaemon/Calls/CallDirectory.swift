package import BTCallAPI
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
package import Logging
package import Routing
package import Telephony

/// The calls of the box and the applications that own them: carries out what `CallTable` decides.
///
/// Reports of providers and requests of headsets and clients go in; the table's actions become calls to providers,
/// events for the policy, snapshots for the gateways and objects on the bus, in that order. A
/// call that appears is shown to the gateways before the policy opens a link for it.
@ControlPlane
package final class CallDirectory {
    /// What the object tree shows.
    package enum Change {
        case added(CallRecord)
        case changed(CallRecord)
        case ended(CallRecord, CallEndReason)
    }

    package var onChange: (@ControlPlane (Change) -> Void)?
    package var onRoutingEvent: (@ControlPlane (RoutingEvent) -> Void)?
    /// What headsets are shown.
    package var onSnapshot: (@ControlPlane (CallSnapshot) -> Void)?
    /// Whether a call that headsets are not shown has audio, or is about to.
    package var onUnshownSpeech: (@ControlPlane (Bool) -> Void)?
    /// A call that was reported and does not ring.
    package var onRefused: (@ControlPlane (RefusedCall) -> Void)?
    /// Which incoming calls are taken; acts on the next report.
    package var policy: CallTable.Configuration {
        get { table.configuration }
        set { table.configuration = newValue }
    }
    /// Every call's audio that has to exist is asked for here; false when it cannot be had.
    package var audio: (any CallAudioExchange)?

    package let bus: BusConnection
    package let logger: Logger
    package var table = CallTable()
    private var isSpeakingUnshown = false
    package var providers: [(key: String, owner: any CallOwner)] = []
    /// Of applications on the bus, which may leave it; one for each, whatever it has registered.
    package var clients: [String: Subscription] = [:]
    package var records: [CallRecord] = []
    private var shown = CallSnapshot.empty
    private var nextRequest: UInt64 = 1
    private var completions: [CallRequestID: @ControlPlane (CallRequestOutcome) -> Void] = [:]
    /// Why the last provider that was asked did not do it; for the completions of that very answer.
    private var refusal = ""
    /// Of the call that is being added; nil: one that a headset dials, which is like one that is placed without options.
    private var mediaOfNext: MediaState?
    /// What a program knows of the next call's other party.
    private var contactOfNext: ContactDescription?
    /// What audio and video of calls do unless it is said for one.
    package var configuredMedia = MediaState(video: .sendReceive)
    package var mediaChangeRule = MediaChangeRule.accept
    package var mediaQuestions: [MediaQuestion] = []
    /// For a client to answer for a change of media.
    package var mediaPatience = Duration.seconds(20)
    /// Properties of a call that are others than before.
    package var onProperties: (@ControlPlane (CallRecord, [String]) -> Void)?
    package var onMediaChangeRequested: (@ControlPlane (CallRecord, MediaState) -> Void)?
    /// Begins to say that a call could not be made; how long that takes, and nil where nothing is said.
    package var onFailure: (@ControlPlane (CallRecord, CallEndReason) -> Duration?)?
    /// Since when the call that becomes active has been so; nil: from now on.
    private var answeredSince: Instant?
    /// Whether the microphone is muted, as applications are told.
    package var isMuted = false
    /// New providers and calls are refused while the manager is inactive.
    package var acceptsProviders = false {
        didSet { if acceptsProviders != oldValue { onProviders?() } }
    }
    /// Providers have come or gone, or may come from now on.
    package var onProviders: (@ControlPlane () -> Void)?
    package let deadline: Duration
    /// For applications to come back after the bus, and until when that is.
    package var absencePatience = Duration.seconds(15)
    package var absence: Timer?

    /// Who knows names.
    package let contacts: ContactResolvers

    /// - Parameters:
    ///   - deadline: for a provider to do what it is asked.
    ///   - contactBudget: for a contact resolver to know who calls.
    package init(
        bus: BusConnection, deadline: Duration, contactBudget: Duration = .milliseconds(500), logger: Logger
    ) {
        contacts = ContactResolvers(bus: bus, budget: contactBudget, patience: deadline, logger: logger)
        self.bus = bus
        self.deadline = deadline
        self.logger = logger
        contacts.onContact = { [weak self] number, contact in self?.take(contact, of: number) }
    }

    /// In order of appearance.
    package var calls: [CallRecord] { records }
    /// What headsets are shown.
    package var snapshot: CallSnapshot { table.snapshot }
    /// When the calls were answered that are.
    package var startTimes: [CallID: Instant] {
        Dictionary(
            uniqueKeysWithValues: records.compactMap { record in record.answeredAt.map { (record.identifier, $0) } })
    }

    package func record(at path: String) -> CallRecord? { records.first { $0.path == path } }
    package func record(_ id: CallID) -> CallRecord? { records.first { $0.identifier == id } }

    // MARK: Reports of providers

    package func reportIncoming(
        busName: String, path: String, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: busName, path) else { throw Self.noSuchProvider(path) }
        return try reportIncoming(at: index, number, options)
    }

    package func reportOutgoing(
        busName: String, path: String, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: busName, path) else { throw Self.noSuchProvider(path) }
        return try reportOutgoing(at: index, number, options)
    }

    /// The same for a part of the daemon.
    package func reportIncoming(
        from owner: any CallOwner, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: owner) else { throw Self.refusal(.unknownProvider) }
        return try reportIncoming(at: index, number, options)
    }

    package func reportOutgoing(
        from owner: any CallOwner, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: owner) else { throw Self.refusal(.unknownProvider) }
        return try reportOutgoing(at: index, number, options)
    }

    /// The call's own provider says what became of it.
    ///
    /// - Parameter time: when, in milliseconds of the monotonic clock (`CLOCK_MONOTONIC`); nil: now.
    package func update(
        _ record: CallRecord, _ state: CallState, from busName: String, at time: UInt64? = nil
    ) throws(APIError) {
        try checkOwner(of: record, busName)
        answeredSince = try Self.instant(time)
        defer { answeredSince = nil }
        try update(record.identifier, state, from: record.call.provider)
    }

    package func checkOwner(of record: CallRecord, _ busName: String) throws(APIError) {
        guard record.provider.busName == busName else {
            throw APIError(.notProvider, "the call belongs to \(record.provider.name): only it may update the call")
        }
    }

    package func update(_ record: CallRecord, _ state: CallState, from owner: any CallOwner) throws(APIError) {
        guard record.provider === owner else { throw Self.refusal(.notOwner) }
        try update(record.identifier, state, from: record.call.provider)
    }

    private func reportIncoming(
        at index: Int, _ number: String, _ options: ReportOptions
    ) throws(APIError) -> CallRecord {
        let owner = providers[index].owner
        guard owner.options.hasCallState else {
            throw APIError(
                .notSupported,
                "\(owner.name) registered with callState=false, whose calls ring nowhere: report an outgoing call "
                    + "while there is audio, or register with callState=true")
        }
        let result: (id: CallID, actions: [CallTable.Action])
        finishFailures()
        mediaOfNext = MediaState(reported: options)
        contactOfNext = options.contact
        defer {
            mediaOfNext = nil
            contactOfNext = nil
        }
        let details = details(number, options, at: index)
        do throws(CallReportError) {
            result = try table.reportIncoming(details, from: providers[index].key)
        } catch {
            refused(error, details, owner)
            throw Self.refusal(error)
        }
        run(result.actions)
        return try require(result.id)
    }

    private func reportOutgoing(
        at index: Int, _ number: String, _ options: ReportOptions
    ) throws(APIError) -> CallRecord {
        let key = providers[index].key
        let since = try Self.instant(options.time)
        let result: (id: CallID, actions: [CallTable.Action])
        finishFailures()
        mediaOfNext = MediaState(reported: options)
        defer { mediaOfNext = nil }
        do throws(CallReportError) {
            result = try table.reportOutgoing(details(number, options, at: index), from: key)
        } catch {
            throw Self.refusal(error)
        }
        run(result.actions)
        if let since { record(result.id)?.appearedAt = .at(since) }
        switch options.state {
        case .alerting: try update(result.id, .alerting, from: key)
        case .active:
            answeredSince = since
            defer { answeredSince = nil }
            try update(result.id, .active, from: key)
        case .dialing, .ringing, .waiting, .held, .ended: break
        }
        return try require(result.id)
    }

    private func update(_ id: CallID, _ state: CallState, from key: String) throws(APIError) {
        if try isFailing(id, state) { return }
        let actions: [CallTable.Action]
        do throws(CallReportError) {
            actions = try table.update(id, state, from: key)
        } catch {
            throw Self.refusal(error)
        }
        run(actions)
    }

    private func refused(_ error: CallReportError, _ details: CallDetails, _ owner: any CallOwner) {
        let reason: RefusedCall.Reason
        switch error {
        case .filtered: reason = .filtered
        case .busy: reason = .busy
        case .unknownProvider, .unknownCall, .notOwner, .illegalTransition, .tooManyCalls: return
        }
        logger.info("an incoming call of \(owner.name) is refused: \(reason.rawValue)")
        onRefused?(RefusedCall(details, provider: owner.name, reason))
    }

    private func require(_ id: CallID) throws(APIError) -> CallRecord {
        guard let record = record(id) else { throw APIError(.fault, "the call vanished while it was reported") }
        return record
    }

    private func details(_ number: String, _ options: ReportOptions, at index: Int) -> CallDetails {
        var details = CallDetails(
            number: CallAddress(number).number.nonEmpty, name: options.name, hasVideo: options.isVideo,
            capabilities: options.capabilities.map { providers[index].owner.options.limit($0) })
        details.remoteAddress = options.remoteAddress
        return details
    }

    package static func refusal(_ error: CallReportError) -> APIError {
        switch error {
        case .unknownProvider: APIError(.noSuchProvider, "register a provider first: Calls1.RegisterProvider")
        case .unknownCall: APIError(.noSuchCall, "there is no such call, or it has ended")
        case .notOwner: APIError(.notProvider, "the call belongs to another provider: only that one may update it")
        case .illegalTransition(let old, let new): illegalTransition(old, new)
        case .tooManyCalls: tooManyCalls
        case .filtered: APIError(.filtered, "do not disturb is on: the call is refused")
        case .busy: APIError(.busy, "a call is up, and a second one is not wanted ([calls] secondCall = reject)")
        }
    }

    // MARK: Requests of headsets and clients

    /// - Parameters:
    ///   - via: how the person answered, when the request is an answer.
    ///   - completion: called once, possibly before this returns.
    package func request(
        _ request: CallRequest, via: AnsweredVia? = nil,
        completion: @escaping @ControlPlane (CallRequestOutcome) -> Void = { _ in }
    ) {
        if endFailed(by: request) {
            completion(.done)
            return
        }
        var answered: CallRecord?
        if case .answer(let id) = request { answered = record(id) }
        answered?.answeredVia = via
        let id = CallRequestID(nextRequest)
        nextRequest += 1
        completions[id] = { [weak answered] outcome in
            // The provider may answer by itself later: nobody here did.
            if outcome != .done { answered?.answeredVia = nil }
            completion(outcome)
        }
        run(table.request(request, id: id))
    }

    /// The same for clients on the bus, who get an error instead of an outcome.
    package func perform(_ request: CallRequest, via: AnsweredVia? = nil) async throws(APIError) {
        let (outcome, refusal) = await withCheckedContinuation { continuation in
            self.request(request, via: via) { continuation.resume(returning: ($0, self.refusal)) }
        }
        try check(outcome, refusal)
    }

    /// Asks a provider to dial.
    ///
    /// - Parameters:
    ///   - provider: the name of the one to ask; nil lets the address's scheme and the table choose.
    ///   - options: without them the configuration's audio, and no video.
    package func place(
        _ number: String, provider: String?, _ options: MediaOptions = MediaOptions()
    ) async throws(APIError) -> CallRecord {
        let address = CallAddress(number)
        let (number, provider) = (address.number, try dialer(of: address, provider))
        mediaOfNext = try mediaOfPlaced(options, by: provider)
        let known = Set(records.map(\.identifier))
        var placed: CallRecord?
        let (outcome, refusal) = await withCheckedContinuation { continuation in
            request(.dial(number: number, provider: provider)) { continuation.resume(returning: ($0, self.refusal)) }
            // The call exists from here on; others may be added while the provider is asked.
            placed = records.first { !known.contains($0.identifier) }
            mediaOfNext = nil
        }
        if case .failed(.notSupported) = outcome { throw Self.cannotHold(.wrongState, whileAnotherIs: "begun") }
        try check(outcome, refusal, dialer: provider)
        guard let placed, record(placed.identifier) != nil else {
            throw APIError(.wrongState, "the call ended before it could be done")
        }
        return placed
    }

    /// - Parameter dialer: the provider that was to dial, where one was named.
    private func check(_ outcome: CallRequestOutcome, _ refusal: String, dialer: String? = nil) throws(APIError) {
        switch outcome {
        case .done: return
        case .cancelled: throw APIError(.wrongState, "the call ended before it could be done")
        case .failed(.noSuchCall): throw APIError(.noSuchCall, "there is no call in a state that allows this")
        case .failed(.notSupported):
            throw APIError(.notSupported, "the call's provider did not register this capability")
        case .failed(.noProvider): throw noDialer(dialer)
        case .failed(.tooManyCalls): throw Self.tooManyCalls
        case .failed(.provider(.refused)): throw APIError(.providerFailed, refusal)
        case .failed(.provider(.timedOut)): throw APIError(.timedOut, refusal)
        case .failed(.provider(.gone)): throw APIError(.providerFailed, "the call's provider has left the bus")
        }
    }

    // MARK: Carrying out

    package func run(_ actions: [CallTable.Action]) {
        for action in actions {
            switch action {
            case .added(let call): added(call)
            case .changed(let call): changed(call)
            case .ended(let call): ended(call)
            case .perform(let step, let provider, let id): perform(step, provider, id)
            case .completed(let id, let outcome): completions.removeValue(forKey: id)?(outcome)
            }
        }
        tellUnshownSpeech()
        tellSnapshot()
    }

    private func tellSnapshot() {
        let snapshot = table.snapshot
        guard snapshot != shown else { return }
        shown = snapshot
        onSnapshot?(snapshot)
    }

    private func tellUnshownSpeech() {
        guard table.isSpeakingUnshown != isSpeakingUnshown else { return }
        isSpeakingUnshown.toggle()
        onUnshownSpeech?(isSpeakingUnshown)
    }

    /// The person at a headset wants to hear no more of what the headset is not shown as a call.
    package func hangUpUnshown() {
        for call in table.calls where !call.isShown && (call.state == .active || call.state.isOutgoingSetup) {
            request(.hangUp(call.id))
        }
    }

    private func added(_ call: Call) {
        guard let provider = providers.first(where: { $0.key == call.provider }) else { return }
        let record = CallRecord(call: call, provider: provider.owner)
        record.media = mediaOfNext ?? MediaState(audio: configuredMedia.audio)
        record.contact = contactOfNext
        records.append(record)
        logger.about(call: record.uuid).info("\(call.direction) call \(record.uuid) of \(provider.owner.name)")
        onChange?(.added(record))
        if call.state != .setup { appeared(record) }
        lookUp(record)
    }

    /// What came late; the name that an application gave stays.
    private func take(_ contact: ContactDescription, of number: String) {
        for call in table.calls where call.details.number == number && call.details.name == nil {
            record(call.id)?.contact = contact
            let details = CallDetails(name: contact.name, hasVideo: call.details.hasVideo)
            do throws(CallReportError) {
                run(try table.update(call.id, details, from: call.provider))
            } catch {
                logger.error("a name does not get to its call: \(error)")
            }
        }
    }

    package func isRegistered(_ busName: String, _ path: String) -> Bool { index(of: busName, path) != nil }

    private func appeared(_ record: CallRecord) {
        // Before the policy opens a link: headsets that see no call may refuse it, or be shown a virtual one.
        tellUnshownSpeech()
        tellSnapshot()
        let (video, audio) = (record.media.video != .off, record.media.audio)
        switch record.call.direction {
        case .incoming: onRoutingEvent?(.callIncoming(call: record.uuid, video: video, routes: nil, audio: audio))
        case .outgoing: onRoutingEvent?(.callOutgoing(call: record.uuid, video: video, routes: nil, audio: audio))
        }
    }

    private func changed(_ call: Call) {
        guard let record = record(call.id) else { return }
        let old = record.call.state
        record.call = call
        if call.state == .active { record.markStarted(since: answeredSince) }
        if old != call.state {
            logger.about(call: record.uuid).info("call \(record.uuid): \(call.state)")
            if old == .setup { appeared(record) }
            switch (old, call.state) {
            case (.held, .active): onRoutingEvent?(.callResumed(call: record.uuid))
            case (_, .active): onRoutingEvent?(.callAnswered(call: record.uuid, via: record.answeredVia))
            case (_, .held): onRoutingEvent?(.callHeld(call: record.uuid))
            default: break
            }
        }
        onChange?(.changed(record))
        exchangeAudio(record)
        tellMuted()
    }

    private func ended(_ call: Call) {
        guard let index = records.firstIndex(where: { $0.identifier == call.id }) else { return }
        let record = records.remove(at: index)
        record.call = call
        exchangeAudio(record)
        dropMediaQuestions(of: record)
        record.failureTimer?.cancel()
        guard case .ended(let reason) = call.state else { return }
        logger.about(call: record.uuid).info("call \(record.uuid): ended, \(reason.rawValue)")
        onRoutingEvent?(.callEnded(call: record.uuid))
        onChange?(.ended(record, reason))
    }

    /// Audio exists while the call is alerting (early media) or active.
    private func exchangeAudio(_ record: CallRecord) {
        let isWanted = record.hasSpeech
        guard isWanted != record.hasAudio else { return }
        record.hasAudio = isWanted
        guard isWanted else {
            audio?.end(record)
            return
        }
        guard let descriptor = audio?.begin(record) else { return }
        Task { @ControlPlane in
            do throws(APIError) {
                try await record.provider.audioReady(record.path, descriptor, record.provider.options.format)
            } catch {
                logger.about(call: record.uuid).warning("call \(record.uuid) has no audio: \(error)")
            }
        }
    }

    package func endAudio(of record: CallRecord) { exchangeAudio(record) }

    private func perform(_ step: ProviderAction, _ key: String, _ id: ProviderActionID) {
        guard let provider = providers.first(where: { $0.key == key })?.owner else {
            run(table.providerAnswered(id, .failed(.gone)))
            return
        }
        Task { @ControlPlane in
            do throws(APIError) {
                try await carryOut(step, provider)
                run(table.providerAnswered(id, .fulfilled))
            } catch {
                logger.notice("\(error)")
                refusal = error.message
                run(table.providerAnswered(id, .failed(error.code == .timedOut ? .timedOut : .refused)))
            }
        }
    }

    private func carryOut(_ step: ProviderAction, _ provider: any CallOwner) async throws(APIError) {
        func known(_ id: CallID) throws(APIError) -> CallRecord {
            guard let record = record(id) else { throw APIError(.noSuchCall, "the call has ended meanwhile") }
            return record
        }
        func path(_ id: CallID) throws(APIError) -> String { try known(id).path }
        switch step {
        case .start(let id, let number):
            let record = try known(id)
            try await provider.start(record.path, number, record.media)
        case .answer(let id):
            let record = try known(id)
            let media = record.answerMedia ?? mediaOfAnswer(record)
            try await provider.answer(record.path, media)
            setMedia(media, of: record)
        case .reject(let id): try await provider.end(path(id), reason: CallEndReason.rejected.rawValue)
        case .hangUp(let id): try await provider.end(path(id), reason: CallEndReason.localHangUp.rawValue)
        case .setHeld(let id, let held): try await provider.setHeld(path(id), held)
        case .sendDTMF(let id, let tone): try await provider.sendDTMF(path(id), String(tone))
        case .swap(let hold, let resume):
            try await provider.swap(hold: path(hold), resume: path(resume))
        case .conference(let ids):
            var paths: [String] = []
            for id in ids { paths.append(try path(id)) }
            try await provider.conference(paths)
        case .transfer:
            throw APIError(.notSupported, "\(provider.name) was not asked: CallProvider1 has no transfer")
        }
    }
}

/// Where the audio of calls goes: the audio graph, or nothing in a test of calls alone.
@ControlPlane
package protocol CallAudioExchange: AnyObject {
    /// - Returns: the provider's end of the descriptor of a call (one message is 10 ms in the provider's format); nil when there can be none (logged).
    func begin(_ record: CallRecord) -> PassedDescriptor?
    func end(_ record: CallRecord)
    /// The ways that the call's audio goes are other ones.
    func gate(_ record: CallRecord)
}
