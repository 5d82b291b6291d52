package import BluetoothTypes

/// Agrees on a codec with the headset before the audio connection, and steps down when a codec cannot be connected
/// (HFP 1.9 §4.11).
///
/// The ladder is our codecs from the best to CVSD, limited to those that the headset offers. `start` picks a rung; the codec
/// agreed last needs no new +BCS. A refused link is opened with CVSD at once, because all better codecs have the same radio
/// requirements (docs/inside/Gateway.md rule 2); the next connection begins a rung below the failed one, and failed codecs
/// are not retried until the headset sends another AT+BAC. If the adapter lacks a codec, the next lower one is used. An
/// unanswered +BCS is repeated once, then CVSD is proposed, then CVSD is connected without agreement; the next connection
/// skips all of that. `memory` carries the last two over to the next service level connection.
///
/// The caller carries out the returned actions in their order, reports each link with `opened`, `closed` or `failed`, and
/// calls `deadlineReached` at `deadline`.
package struct CodecNegotiation: Sendable {
    package enum Action: Hashable, Sendable {
        /// +BCS
        case propose(VoiceCodec)
        case connect(VoiceCodec)
        case disconnect
        /// Accept the connection that the headset is opening.
        case accept(VoiceCodec)
        case reject
        case steppedDown(from: VoiceCodec, AudioFailure)
        /// No rung is left, or none may be tried.
        case failed(AudioFailure)
    }

    package enum State: Hashable, Sendable {
        case idle
        case proposed(VoiceCodec, attempt: Int, deadline: Instant)
        /// Agreed, but it is too early to connect.
        case settling(VoiceCodec, until: Instant)
        case connecting(VoiceCodec)
        case accepting(VoiceCodec)
        case connected(VoiceCodec)
        case closing(reopen: Bool)
    }

    package private(set) var state = State.idle
    /// Latest list of the headset's AT+BAC, known codecs only; nil before the first.
    package private(set) var offered: [VoiceCodec]?
    /// Codec agreed last by +BCS and AT+BCS.
    package private(set) var agreed: VoiceCodec?
    package private(set) var memory: CodecMemory
    /// Both sides support codec negotiation.
    package private(set) var isSupported = false
    /// Earliest time to open a link; nil for no limit.
    package var earliest: Instant?
    private(set) var ours: [VoiceCodec]
    private let retriesRefusal: Bool
    private var hint: VoiceCodec?
    /// Best codec that is still tried with the headset's present list.
    private(set) var ceiling: VoiceCodec?
    /// A better rung failed in this attempt; the codec that connects now shows the headset's capability.
    private var hasSteppedDown = false
    private var isUnanswered = false
    private var hasRetried = false
    /// `memory` has recorded a failure of this service level connection.
    private var hasLearnt = false

    package static let answerTime = Duration.milliseconds(1500)
    /// Shorter timeout of the last proposal, CVSD to a silent headset: the whole sequence must fit the policy's time limit.
    package static let lastAnswerTime = Duration.seconds(1)
    /// Delay before the same codec is retried with a headset that refuses first links.
    package static let retryTime = Duration.milliseconds(400)

    /// - Parameters:
    ///   - codecs: in any order; CVSD is added when missing.
    ///   - memory: of earlier connections.
    ///   - retriesRefusal: whether a refused link is retried once with the same codec.
    package init(codecs: [VoiceCodec], memory: CodecMemory = CodecMemory(), retriesRefusal: Bool = false) {
        ours = Self.ladder(codecs)
        self.memory = memory
        self.retriesRefusal = retriesRefusal
    }

    /// Replaces our side of the ladder. An agreed, proposed or connected codec stays until the next connection; knowledge
    /// about the codecs, including the adapter's, is forgotten, and all are tried again.
    ///
    /// - Parameter codecs: in any order; CVSD is added when missing.
    package mutating func offer(_ codecs: [VoiceCodec]) {
        ours = Self.ladder(codecs)
        forget()
    }

    /// Forgets the knowledge about the codecs, including the adapter's: from the next connection on all are tried again.
    package mutating func forget() {
        ceiling = nil
        memory = CodecMemory()
        hasLearnt = false
    }

    private static func ladder(_ codecs: [VoiceCodec]) -> [VoiceCodec] {
        VoiceCodec.allCases.filter { $0 == .cvsd || codecs.contains($0) }.sorted { $0.rawValue > $1.rawValue }
    }

    /// Time at which `deadlineReached` is due; nil for none.
    package var deadline: Instant? {
        switch state {
        case .proposed(_, _, let deadline): deadline
        case .settling(_, let end): end
        case .idle, .connecting, .accepting, .connected, .closing: nil
        }
    }

    /// Whether a link is open or being opened.
    package var isInUse: Bool {
        switch state {
        case .proposed, .settling, .connecting, .accepting, .connected: true
        case .idle, .closing: false
        }
    }

    // MARK: Requests

    /// Requests the audio connection.
    ///
    /// - Parameter hint: highest rung to start from; nil for the best one.
    package mutating func start(hint: VoiceCodec?, at now: Instant) -> [Action] {
        switch state {
        case .idle:
            self.hint = hint
            return begin(at: now)
        case .closing:
            self.hint = hint
            state = .closing(reopen: true)
            return []
        case .proposed, .settling, .connecting, .accepting, .connected:
            return []
        }
    }

    /// Withdraws the request for the audio connection.
    package mutating func stop() -> [Action] {
        switch state {
        case .idle: return []
        case .proposed, .settling:
            state = .idle
            return []
        case .connecting, .accepting, .connected:
            state = .closing(reopen: false)
            return [.disconnect]
        case .closing:
            state = .closing(reopen: false)
            return []
        }
    }

    /// Restarts the timeout, because the last proposal had to wait for a reply.
    package mutating func proposalSent(at now: Instant) {
        guard case .proposed(let codec, let attempt, _) = state else { return }
        state = proposal(codec, attempt: attempt, at: now)
    }

    // MARK: Input from the headset

    /// Handles AT+BRSF, which may be repeated. A headset that withdraws the feature no longer understands +BCS: a pending
    /// proposal is connected with CVSD, and its agreement is void.
    package mutating func support(_ isSupported: Bool, at now: Instant) -> [Action] {
        self.isSupported = isSupported
        guard !isSupported else { return [] }
        agreed = nil
        switch state {
        case .proposed: return connect(.cvsd, at: now)
        case .settling(_, let end):
            state = .settling(.cvsd, until: end)
            return []
        case .idle, .connecting, .accepting, .connected, .closing: return []
        }
    }

    /// Handles AT+BAC. In answer to +BCS it rejects the proposal.
    package mutating func codecsOffered(_ codecs: [VoiceCodec], at now: Instant) -> [Action] {
        if codecs != offered {
            offered = codecs
            agreed = nil
            ceiling = memory.ceiling(whileOffered: codecs)
        }
        switch state {
        case .proposed(let codec, let attempt, _):
            guard codec != .cvsd else { return proposeAgain(.cvsd, after: attempt, at: now) }
            let next = codecs.contains(codec) ? rung(below: codec) : rung
            return propose(next, attempt: 1, at: now)
        case .settling(let codec, _):
            return ladder.contains(codec) && agreed == codec ? [] : begin(at: now)
        case .idle, .connecting, .accepting, .connected, .closing:
            return []
        }
    }

    /// Handles AT+BCS.
    ///
    /// - Returns: whether the answer is OK, and what to do after it.
    package mutating func confirmed(_ identifier: Int, at now: Instant) -> (isAccepted: Bool, actions: [Action]) {
        switch state {
        case .proposed(let codec, let attempt, _):
            guard Int(codec.rawValue) == identifier else {
                return (false, proposeAgain(codec, after: attempt, at: now))
            }
            agreed = codec
            memory.selectionAnswered()
            return (true, connect(codec, at: now))
        case .settling(let codec, _), .connecting(let codec), .accepting(let codec), .connected(let codec):
            // The second answer to a repeated +BCS.
            return (Int(codec.rawValue) == identifier && isSupported, [])
        case .idle, .closing:
            return (false, [])
        }
    }

    /// Handles a connection that the headset opens.
    package mutating func incoming() -> [Action] {
        switch state {
        case .idle, .proposed, .settling:
            let codec = agreed ?? .cvsd
            state = .accepting(codec)
            return [.accept(codec)]
        case .connecting, .accepting, .connected, .closing:
            return [.reject]
        }
    }

    // MARK: Results

    /// Handles an opened link, and learns what its codec shows about the headset.
    package mutating func opened(_ codec: VoiceCodec) -> [Action] {
        switch state {
        case .connecting:
            state = .connected(codec)
            if isUnanswered {
                memory.selectionUnanswered(offered: offered ?? [])
            } else if hasSteppedDown {
                memory.steppedDown(to: ceiling ?? codec, offered: offered ?? [], isFirst: !hasLearnt)
                hasLearnt = true
            } else if codec != .cvsd {
                memory.succeeded(codec)
            }
            return []
        case .idle, .proposed, .settling, .accepting, .connected:
            state = .connected(codec)
            return []
        case .closing:
            return [.disconnect]
        }
    }

    /// Handles a closed link; while it is being opened, this is a failure.
    package mutating func closed(at now: Instant) -> [Action] {
        switch state {
        case .idle, .proposed, .settling: return []
        case .connecting: return failed(.failed, at: now)
        case .accepting, .connected:
            state = .idle
            return []
        case .closing(let reopen):
            state = .idle
            return reopen ? begin(at: now) : []
        }
    }

    /// Handles a link that could not be opened: retries, steps down, or fails.
    package mutating func failed(_ failure: AudioFailure, at now: Instant) -> [Action] {
        switch state {
        case .idle, .proposed, .settling, .connected:
            return []
        case .closing:
            return closed(at: now)
        case .accepting:
            state = .idle
            return [.failed(failure)]
        case .connecting(let codec):
            if failure == .refused, retriesRefusal, !hasRetried {
                hasRetried = true
                state = .settling(codec, until: now.advanced(by: Self.retryTime))
                return []
            }
            if failure == .unsupportedCodec, codec != .cvsd { memory.lacking.insert(codec) }
            guard codec != .cvsd, failure.mayBeTheCodec else {
                // CVSD failed too: the codec was not the cause, so nothing is learnt about the better ones.
                if codec == .cvsd, failure.mayBeTheCodec { ceiling = memory.ceiling(whileOffered: offered ?? []) }
                state = .idle
                return [.failed(failure)]
            }
            let lower = rung(below: codec)
            ceiling = lower
            hasSteppedDown = true
            let next = failure == .unsupportedCodec ? lower : .cvsd
            return [.steppedDown(from: codec, failure)] + propose(next, attempt: 1, at: now)
        }
    }

    /// Repeats or gives up an unanswered proposal, or connects after a delay. Nothing happens before the deadline.
    package mutating func deadlineReached(at now: Instant) -> [Action] {
        switch state {
        case .proposed(let codec, let attempt, let deadline) where deadline <= now:
            return unanswered(codec, attempt, at: now)
        case .settling(let codec, let end) where end <= now:
            return connect(codec, at: now)
        case .idle, .proposed, .settling, .connecting, .accepting, .connected, .closing:
            return []
        }
    }

    private mutating func unanswered(_ codec: VoiceCodec, _ attempt: Int, at now: Instant) -> [Action] {
        if attempt == 1 { return propose(codec, attempt: 2, at: now) }
        ceiling = .cvsd
        hasSteppedDown = true
        guard codec == .cvsd else {
            return [.steppedDown(from: codec, .unanswered)] + propose(.cvsd, attempt: 2, at: now)
        }
        isUnanswered = true
        agreed = .cvsd
        return connect(.cvsd, at: now)
    }

    // MARK: The ladder

    private var ladder: [VoiceCodec] {
        ours.filter { codec in
            codec == .cvsd
                || (offered?.contains(codec) == true && !memory.lacking.contains(codec)
                    && codec.rawValue <= (ceiling ?? codec).rawValue)
        }
    }

    private var rung: VoiceCodec {
        ladder.first { $0.rawValue <= (hint ?? $0).rawValue } ?? .cvsd
    }

    private func rung(below codec: VoiceCodec) -> VoiceCodec {
        ladder.first { $0.rawValue < codec.rawValue } ?? .cvsd
    }

    private mutating func begin(at now: Instant) -> [Action] {
        hasSteppedDown = false
        isUnanswered = false
        hasRetried = false
        guard isSupported, let offered, !memory.isSelectionPointless(whileOffered: offered) else {
            return connect(.cvsd, at: now)
        }
        let codec = rung
        guard agreed != codec else { return connect(codec, at: now) }
        return propose(codec, attempt: 1, at: now)
    }

    private mutating func connect(_ codec: VoiceCodec, at now: Instant) -> [Action] {
        if let earliest, earliest > now {
            state = .settling(codec, until: earliest)
            return []
        }
        state = .connecting(codec)
        return [.connect(codec)]
    }

    /// Proposes a codec. Without the feature, which may be withdrawn after the agreement, connects CVSD without asking.
    private mutating func propose(_ codec: VoiceCodec, attempt: Int, at now: Instant) -> [Action] {
        guard isSupported else { return connect(.cvsd, at: now) }
        state = proposal(codec, attempt: attempt, at: now)
        agreed = nil
        return [.propose(codec)]
    }

    private func proposal(_ codec: VoiceCodec, attempt: Int, at now: Instant) -> State {
        let isLast = codec == .cvsd && attempt > 1
        let time = isLast ? Self.lastAnswerTime : Self.answerTime
        return .proposed(codec, attempt: attempt, deadline: now.advanced(by: time))
    }

    /// Handles an unsuitable answer: repeats the proposal once, then tries lower codecs; fails after CVSD.
    private mutating func proposeAgain(_ codec: VoiceCodec, after attempt: Int, at now: Instant) -> [Action] {
        if attempt == 1 { return propose(codec, attempt: 2, at: now) }
        guard codec == .cvsd else {
            ceiling = rung(below: codec)
            hasSteppedDown = true
            return propose(rung(below: codec), attempt: 1, at: now)
        }
        state = .idle
        return [.failed(.unanswered)]
    }
}
