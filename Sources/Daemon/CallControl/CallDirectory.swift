package import AudioPaths
import BTCallAPI
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
import Diagnostics
package import Logging
package import Routing
package import TalkWords
package import Telephony

/// The calls of the box and the applications that own them; carries out the decisions of `CallTable`.
///
/// Its inputs are reports of providers and requests of headsets and clients. The table's actions become calls to providers,
/// events for the policy, snapshots for the gateways and objects on the bus, in that order. A new call is shown to the
/// gateways before the policy opens a link for it.
@ControlPlane
package final class CallDirectory {
    /// A change of a call.
    package enum Change {
        case added(CallRecord)
        case changed(CallRecord)
        case ended(CallRecord, CallEndReason)
    }

    /// A call has ended, but its audio and its object still exist: the time to read its last figures.
    package let endings = Signal<CallRecord>()
    /// Changes for the objects on the bus, sent before `changes`.
    package let objectChanges = Signal<Change>()
    /// Changes for all other subscribers.
    package let changes = Signal<Change>()
    /// Events for the routing policy.
    package let routing = Signal<RoutingEvent>()
    /// The calls as headsets see them.
    package let snapshots = Signal<CallSnapshot>()
    /// Whether a call that headsets do not see has audio, or is about to.
    package let unshownSpeech = Signal<Bool>()
    /// A reported call that was refused and does not ring.
    package let refusals = Signal<RefusedCall>()
    /// Which incoming calls are accepted; applies from the next report.
    package var policy: CallTable.Configuration {
        get { table.configuration }
        set { table.configuration = newValue }
    }
    /// Creates and ends the audio of calls; nil: no call has audio.
    package let audio: (any CallAudioExchange)?

    package let bus: BusConnection
    package let logger: Logger
    package var table = CallTable()
    private var isSpeakingUnshown = false
    package var providers: [(key: String, owner: any CallOwner)] = []
    /// Watches of the applications' bus names, one for each application, whatever it has registered.
    package var clients: [String: Subscription] = [:]
    package var records: [CallRecord] = []
    private var shown = CallSnapshot.empty
    private var lastRequest: UInt64 = 0
    private var openRequests: [CallRequestID: OpenRequest] = [:]
    /// Default audio and video directions of calls.
    package var configuredMedia = MediaState(video: .sendReceive)
    package var mediaChangeRule = MediaChangeRule.accept
    /// How the far ends hear the person, for calls whose applications do not say.
    package var configuredTalkMode = TalkMode.off {
        didSet { if configuredTalkMode != oldValue { talkModesChanged() } }
    }
    /// Account and picture of later calls.
    package var identity = Identity()
    package var mediaQuestions: [MediaQuestion] = []
    /// How long a client may take to answer a media change.
    package var mediaTimeout = Duration.seconds(20)
    /// The talk mode of a call has changed.
    package let talkModeChanges = Signal<CallRecord>()
    /// Properties of a call that have changed.
    package let properties = Signal<(CallRecord, [String])>()
    package let mediaRequests = Signal<(CallRecord, MediaState)>()
    /// Plays the tones for a call that could not be made.
    package let tones: CallTones?
    /// Whether the microphone is muted, as applications see it.
    package var isMuted = false
    /// Whether new providers and calls are accepted; false while the manager is inactive.
    package var acceptsProviders = false {
        didSet { if acceptsProviders != oldValue { providerChanges.send() } }
    }
    /// A provider has come or gone, or `acceptsProviders` has changed.
    package let providerChanges = Signal<Void>()
    package let deadline: Duration
    /// How long applications may take to come back after the bus, and the timer for it.
    package var absenceTimeout = Duration.seconds(15)
    package var absence: Timer?

    /// Looks up the names of callers.
    package let contacts: ContactResolvers

    /// - Parameters:
    ///   - audio: creates the audio of calls; nil: no call has audio.
    ///   - tones: plays the tones for calls that could not be made; nil: none.
    ///   - deadline: how long a provider may take to carry out a request.
    ///   - contactBudget: how long a contact resolver may take to find a caller.
    package init(
        bus: BusConnection, audio: (any CallAudioExchange)?, tones: CallTones?, deadline: Duration,
        contactBudget: Duration = .milliseconds(500), logger: Logger
    ) {
        self.audio = audio
        self.tones = tones
        contacts = ContactResolvers(bus: bus, budget: contactBudget, timeout: deadline, logger: logger)
        self.bus = bus
        self.deadline = deadline
        self.logger = logger
        contacts.onContact = { [weak self] number, contact in self?.contactFound(contact, of: number) }
    }

    /// In order of appearance.
    package var calls: [CallRecord] { records }
    /// The calls as headsets see them.
    package var snapshot: CallSnapshot { table.snapshot }
    /// Answer times of the calls that have been answered.
    package var startTimes: [CallID: Instant] {
        Dictionary(
            uniqueKeysWithValues: records.compactMap { record in record.answeredAt.map { (record.identifier, $0) } })
    }

    package func record(at path: String) -> CallRecord? { records.first { $0.path == path } }
    package func record(_ id: CallID) -> CallRecord? { records.first { $0.identifier == id } }

    // MARK: Carrying out

    /// - Parameter context: details of the report, request or answer that do not affect the table's decisions.
    package func run(_ actions: [CallTable.Action], _ context: CallContext = CallContext()) {
        for action in actions {
            switch action {
            case .added(let call): added(call, context)
            case .changed(let call): changed(call, since: context.answeredSince)
            case .ended(let call): ended(call)
            case .perform(let step, let provider, let id): perform(step, provider, id)
            case .completed(let id, let outcome):
                openRequests.removeValue(forKey: id)?.completion(
                    CallRequestResult(outcome: outcome, refusal: context.refusal))
            }
        }
        sendUnshownSpeech()
        sendSnapshot()
    }

    /// Keeps the details of a request until the table completes it.
    ///
    /// - Returns: the identifier of the request for the table.
    package func open(_ request: OpenRequest) -> CallRequestID {
        lastRequest += 1
        let id = CallRequestID(lastRequest)
        openRequests[id] = request
        return id
    }

    /// The media directions that the requests behind an answer ask for.
    private func answerMedia(of action: ProviderActionID) -> MediaState? {
        table.requests(for: action).compactMap { openRequests[$0]?.answerMedia }.last
    }

    /// Reports a change of a call in a fixed order:
    /// 1. The call's object, so that clients see the call before its effects.
    /// 2. All other subscribers.
    private func send(_ change: Change) {
        objectChanges.send(change)
        changes.send(change)
    }

    private func sendSnapshot() {
        let snapshot = table.snapshot
        guard snapshot != shown else { return }
        shown = snapshot
        snapshots.send(snapshot)
    }

    private func sendUnshownSpeech() {
        guard table.isSpeakingUnshown != isSpeakingUnshown else { return }
        isSpeakingUnshown.toggle()
        unshownSpeech.send(isSpeakingUnshown)
    }

    private func added(_ call: Call, _ context: CallContext) {
        guard let provider = providers.first(where: { $0.key == call.provider }) else { return }
        let record = CallRecord(
            call: call, provider: provider.owner,
            account: AccountDescription(accountID: identity.accountID, userID: identity.userID),
            icon: identity.iconFileName)
        record.media = context.media ?? MediaState(audio: configuredMedia.audio)
        record.contact = context.contact
        record.routes = context.routes
        record.ownTalkMode = context.talk
        record.talkMode = talkMode(of: record)
        records.append(record)
        logger.about(call: record.uuid).info("\(call.direction) call \(record.uuid) of \(provider.owner.name)")
        send(.added(record))
        if call.state != .setup { appeared(record) }
        lookUp(record)
    }

    private func appeared(_ record: CallRecord) {
        // Done before the policy opens a link: headsets that see no call may refuse it, or see a virtual one.
        sendUnshownSpeech()
        sendSnapshot()
        let (video, audio, routes) = (record.media.video != .off, record.media.audio, record.deviceKinds)
        switch record.call.direction {
        case .incoming: routing.send(.callIncoming(call: record.uuid, video: video, routes: routes, audio: audio))
        case .outgoing: routing.send(.callOutgoing(call: record.uuid, video: video, routes: routes, audio: audio))
        }
    }

    private func changed(_ call: Call, since: Instant?) {
        guard let record = record(call.id) else { return }
        let old = record.call.state
        record.call = call
        if call.state == .active { record.markStarted(since: since) }
        if old != call.state {
            logger.about(call: record.uuid).info("call \(record.uuid): \(call.state)")
            if old == .setup { appeared(record) }
            switch (old, call.state) {
            case (.held, .active): routing.send(.callResumed(call: record.uuid))
            case (_, .active): routing.send(.callAnswered(call: record.uuid, via: record.answeredVia))
            case (_, .held): routing.send(.callHeld(call: record.uuid))
            default: break
            }
        }
        send(.changed(record))
        exchangeAudio(record)
        notifyMuted()
    }

    private func ended(_ call: Call) {
        guard let index = records.firstIndex(where: { $0.identifier == call.id }) else { return }
        let record = records.remove(at: index)
        record.call = call
        // The last figures, while the audio and the object still exist.
        endings.send(record)
        exchangeAudio(record)
        dropMediaQuestions(of: record)
        record.failureTimer?.cancel()
        guard case .ended(let reason) = call.state else { return }
        logger.about(call: record.uuid).info("call \(record.uuid): ended, \(reason.rawValue)")
        routing.send(.callEnded(call: record.uuid))
        send(.ended(record, reason))
    }

    /// Starts or ends the call's audio, which exists while the call is alerting (early media) or active.
    private func exchangeAudio(_ record: CallRecord) {
        let isWanted = record.hasSpeech
        guard isWanted != record.hasAudio else { return }
        record.hasAudio = isWanted
        record.audioRefusal = nil
        record.isAudioClosed = false
        guard isWanted else {
            audio?.end(record)
            return
        }
        guard let descriptor = audio?.begin(record) else { return }
        Task { @ControlPlane in
            do throws(APIError) {
                try await record.provider.audioReady(record.path, descriptor, record.provider.options.format)
            } catch {
                record.audioRefusal = Self.sentence(error.message)
                logger.about(call: record.uuid).warning("call \(record.uuid) has no audio: \(error)")
            }
        }
    }

    /// Another program's message as part of a sentence: at most 256 characters, without a full stop.
    private static func sentence(_ message: String) -> String {
        var text = message.prefix(256)
        while text.last == "." { text.removeLast() }
        return String(text)
    }

    package func endAudio(of record: CallRecord) { exchangeAudio(record) }

    private func perform(_ step: ProviderAction, _ key: String, _ id: ProviderActionID) {
        guard let provider = providers.first(where: { $0.key == key })?.owner else {
            run(table.providerAnswered(id, .failed(.gone)))
            return
        }
        Task { @ControlPlane in
            do throws(APIError) {
                try await carryOut(step, provider, id)
                run(table.providerAnswered(id, .fulfilled))
            } catch {
                logger.notice("\(error)")
                run(
                    table.providerAnswered(id, .failed(error.code == .timedOut ? .timedOut : .refused)),
                    CallContext(refusal: error.message))
            }
        }
    }

    private func carryOut(
        _ step: ProviderAction, _ provider: any CallOwner, _ action: ProviderActionID
    ) async throws(APIError) {
        func known(_ id: CallID) throws(APIError) -> CallRecord {
            guard let record = record(id) else { throw APIError(.noSuchCall, "the call has ended meanwhile") }
            return record
        }
        func path(_ id: CallID) throws(APIError) -> String { try known(id).path }
        switch step {
        case .start(let id, let number):
            let record = try known(id)
            try await provider.start(record.path, number, record.media, for: record.account)
        case .answer(let id):
            let record = try known(id)
            let media = answerMedia(of: action) ?? mediaOfAnswer(record)
            try await provider.answer(record.path, media, for: record.account)
            setMedia(media, of: record)
        case .reject(let id): try await provider.end(path(id), reason: CallEndReason.rejected.rawValue)
        case .hangUp(let id): try await provider.end(path(id), reason: CallEndReason.localHangUp.rawValue)
        case .giveUp(let id): try await provider.end(path(id), reason: CallEndReason.missed.rawValue)
        case .setHeld(let id, let held): try await provider.setHeld(path(id), held)
        case .sendDTMF(let id, let tones): try await provider.sendDTMF(path(id), tones)
        case .swap(let hold, let resume):
            try await provider.swap(hold: path(hold), resume: path(resume))
        case .conference(let ids):
            var paths: [String] = []
            for id in ids { paths.append(try path(id)) }
            try await provider.conference(paths)
        }
    }
}

/// The audio of calls: the audio graph, or nothing in a test of calls alone.
@ControlPlane
package protocol CallAudioExchange: AnyObject {
    /// - Returns: the provider's end of the call's descriptor (one message is 10 ms in the provider's format); nil
    ///   without one (failures are logged).
    func begin(_ record: CallRecord) -> PassedDescriptor?
    func end(_ record: CallRecord)
    /// The directions of the call's audio have changed.
    func gate(_ record: CallRecord)
}
