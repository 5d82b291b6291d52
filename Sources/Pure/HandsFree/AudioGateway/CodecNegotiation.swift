package import BluetoothTypes

/// Agrees on a codec with the headset before the audio connection, and steps down when a codec cannot be connected
/// (HFP 1.9 §4.11).
///
/// The ladder is ours from best to CVSD, cut to what the headset offers. `start` picks a rung; what the headset agreed
/// to last needs no +BCS again. A link that is refused is opened with CVSD at once, because all better codecs want the same
/// of the radio (docs/inside/Gateway.md rule 2); the next one begins a rung lower than the one that failed, and what failed is not
/// tried again until the headset sends another AT+BAC. A codec that the adapter cannot do is left for the next lower one.
/// An unanswered +BCS is repeated once, then CVSD is proposed, then CVSD is connected unasked; the next connection skips all
/// of that. `memory` carries the last two over to the next service level connection.
package struct CodecNegotiation: Sendable {
    package enum Action: Hashable, Sendable {
        /// +BCS
        case propose(VoiceCodec)
        case connect(VoiceCodec)
        case disconnect
        /// The connection that the headset is opening.
        case accept(VoiceCodec)
        case reject
        case steppedDown(from: VoiceCodec, AudioFailure)
        /// No rung is left, or none may be tried.
        case failed(AudioFailure)
    }

    package enum State: Hashable, Sendable {
        case idle
        case proposed(VoiceCodec, attempt: Int, deadline: Instant)
        /// Agreed on, but it is too soon to connect.
        case settling(VoiceCodec, until: Instant)
        case connecting(VoiceCodec)
        case accepting(VoiceCodec)
        case connected(VoiceCodec)
        case closing(reopen: Bool)
    }

    package private(set) var state = State.idle
    /// What the headset said last in AT+BAC, known codecs only; nil before the first.
    package private(set) var offered: [VoiceCodec]?
    /// What +BCS and AT+BCS agreed on last.
    package private(set) var agreed: VoiceCodec?
    package private(set) var memory: CodecMemory
    /// Both sides have the feature bit.
    package private(set) var isSupported = false
    /// No link is opened before; nil: whenever it is wanted.
    package var earliest: Instant?
    private(set) var ours: [VoiceCodec]
    private let retriesRefusal: Bool
    private var hint: VoiceCodec?
    /// The best codec that is still tried with this list of the headset.
    private(set) var ceiling: VoiceCodec?
    /// A better rung failed in this attempt; what comes up now is what the headset can do.
    private var hasSteppedDown = false
    private var isUnanswered = false
    private var hasRetried = false
    /// `memory` has taken a failure of this service level connection.
    private var hasLearnt = false

    package static let answerTime = Duration.milliseconds(1500)
    /// The last proposal, CVSD to a headset that stays silent, waits less: all of it has to fit the policy's time limit.
    package static let lastAnswerTime = Duration.seconds(1)
    /// Before the same codec is tried again with a headset that refuses first links.
    package static let retryTime = Duration.milliseconds(400)

    /// - Parameters:
    ///   - codecs: in any order; CVSD is added when missing.
    ///   - memory: of earlier connections.
    ///   - retriesRefusal: whether a refused link is tried once more with the same codec.
    package init(codecs: [VoiceCodec], memory: CodecMemory = CodecMemory(), retriesRefusal: Bool = false) {
        ours = Self.ladder(codecs)
        self.memory = memory
        self.retriesRefusal = retriesRefusal
    }

    /// Changes our side of the ladder. What is agreed, proposed or connected stays until the next connection; what was learnt
    /// of the codecs is forgotten, those of the adapter included, and they are tried again.
    ///
    /// - Parameter codecs: in any order; CVSD is added when missing.
    package mutating func offer(_ codecs: [VoiceCodec]) {
        ours = Self.ladder(codecs)
        forget()
    }

    /// Forgets what was learnt of the codecs, those of the adapter included: from the next connection on all are tried again.
    package mutating func forget() {
        ceiling = nil
        memory = CodecMemory()
        hasLearnt = false
    }

    private static func ladder(_ codecs: [VoiceCodec]) -> [VoiceCodec] {
        VoiceCodec.allCases.filter { $0 == .cvsd || codecs.contains($0) }.sorted { $0.rawValue > $1.rawValue }
    }

    package var deadline: Instant? {
        switch state {
        case .proposed(_, _, let deadline): deadline
        case .settling(_, let end): end
        case .idle, .connecting, .accepting, .connected, .closing: nil
        }
    }

    /// Whether a link is up, or on its way.
    package var isInUse: Bool {
        switch state {
        case .proposed, .settling, .connecting, .accepting, .connected: true
        case .idle, .closing: false
        }
    }

    // MARK: What is asked

    /// The audio connection is wanted.
    ///
    /// - Parameter hint: the rung to start from at best; nil: the best one.
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

    /// The audio connection is not wanted any more.
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

    /// The last proposal went out only now, because a reply had to go first.
    package mutating func proposalSent(at now: Instant) {
        guard case .proposed(let codec, let attempt, _) = state else { return }
        state = proposal(codec, attempt: attempt, at: now)
    }

    // MARK: What the headset does

    /// AT+BRSF, which may come again. A headset that takes the feature back knows no +BCS any more: what was proposed to it is
    /// connected with CVSD, and what it agreed to does not count.
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

    /// AT+BAC. In answer to +BCS it withdraws the proposal.
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

    /// AT+BCS.
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

    /// The headset opens the connection itself.
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

    // MARK: What became of it

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
                // CVSD failed too: it was not the codec, so nothing is learnt about the better ones.
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

    /// Without the feature, which may be gone since the codec was agreed on, CVSD is connected unasked.
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

    /// After an answer that does not fit: once more the same, then lower, and with CVSD to the end.
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
