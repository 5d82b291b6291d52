package import BluetoothTypes

/// Agrees on a codec with the headset before the audio connection, and steps down when a codec cannot be connected
/// (HFP 1.9 §4.11).
///
/// The ladder is ours from best to CVSD, cut to what the headset offers. `start` picks a rung; what the headset agreed
/// to last needs no +BCS again. A refused rung is left for the next lower one and not tried again until the headset sends
/// another AT+BAC. An unanswered +BCS is repeated once, then CVSD is proposed, then CVSD is connected unasked; the next
/// connection skips all of that.
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
    /// Both sides have the feature bit.
    package var isSupported = false
    private var ours: [VoiceCodec]
    private var hint: VoiceCodec?
    /// The best codec that is still tried with this list of the headset.
    private var ceiling: VoiceCodec?

    package static let answerTime = Duration.milliseconds(1500)
    /// The last proposal, CVSD to a headset that stays silent, waits less: all of it has to fit the policy's time limit.
    package static let lastAnswerTime = Duration.seconds(1)

    /// - Parameter codecs: best first; CVSD is added when missing.
    package init(codecs: [VoiceCodec]) {
        ours = codecs.filter { $0 != .cvsd } + [.cvsd]
    }

    package var deadline: Instant? {
        switch state {
        case .proposed(_, _, let deadline): deadline
        case .idle, .connecting, .accepting, .connected, .closing: nil
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
        case .proposed, .connecting, .accepting, .connected:
            return []
        }
    }

    /// The audio connection is not wanted any more.
    package mutating func stop() -> [Action] {
        switch state {
        case .idle: return []
        case .proposed:
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

    // MARK: What the headset does

    /// AT+BAC. In answer to +BCS it withdraws the proposal.
    package mutating func codecsOffered(_ codecs: [VoiceCodec], at now: Instant) -> [Action] {
        if codecs != offered {
            offered = codecs
            agreed = nil
            ceiling = nil
        }
        guard case .proposed(let codec, let attempt, _) = state else { return [] }
        guard codec != .cvsd else { return proposeAgain(.cvsd, after: attempt, at: now) }
        let next = codecs.contains(codec) ? rung(below: codec) : rung
        return propose(next, attempt: 1, at: now)
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
            state = .connecting(codec)
            return (true, [.connect(codec)])
        case .connecting(let codec), .accepting(let codec), .connected(let codec):
            // The second answer to a repeated +BCS.
            return (Int(codec.rawValue) == identifier && isSupported, [])
        case .idle, .closing:
            return (false, [])
        }
    }

    /// The headset opens the connection itself.
    package mutating func incoming() -> [Action] {
        switch state {
        case .idle, .proposed:
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
        case .idle, .proposed, .connecting, .accepting, .connected:
            state = .connected(codec)
            return []
        case .closing:
            return [.disconnect]
        }
    }

    package mutating func closed(at now: Instant) -> [Action] {
        switch state {
        case .idle, .proposed: return []
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
        case .idle, .proposed, .connected:
            return []
        case .closing:
            return closed(at: now)
        case .accepting:
            state = .idle
            return [.failed(failure)]
        case .connecting(let codec):
            if failure == .unsupportedCodec, codec != .cvsd { ours.removeAll { $0 == codec } }
            guard codec != .cvsd, failure.mayBeTheCodec else {
                // CVSD failed too: it was not the codec, so nothing is learnt about the better ones.
                if codec == .cvsd, failure.mayBeTheCodec { ceiling = nil }
                state = .idle
                return [.failed(failure)]
            }
            let next = rung(below: codec)
            ceiling = next
            return [.steppedDown(from: codec, failure)] + propose(next, attempt: 1, at: now)
        }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        guard case .proposed(let codec, let attempt, let deadline) = state, deadline <= now else { return [] }
        if attempt == 1 { return propose(codec, attempt: 2, at: now) }
        ceiling = .cvsd
        guard codec == .cvsd else {
            return [.steppedDown(from: codec, .unanswered)] + propose(.cvsd, attempt: 2, at: now)
        }
        agreed = .cvsd
        state = .connecting(.cvsd)
        return [.connect(.cvsd)]
    }

    // MARK: The ladder

    private var ladder: [VoiceCodec] {
        ours.filter { codec in
            codec == .cvsd || (offered?.contains(codec) == true && codec.rawValue <= (ceiling ?? codec).rawValue)
        }
    }

    private var rung: VoiceCodec {
        ladder.first { $0.rawValue <= (hint ?? $0).rawValue } ?? .cvsd
    }

    private func rung(below codec: VoiceCodec) -> VoiceCodec {
        ladder.first { $0.rawValue < codec.rawValue } ?? .cvsd
    }

    private mutating func begin(at now: Instant) -> [Action] {
        guard isSupported, offered != nil else {
            state = .connecting(.cvsd)
            return [.connect(.cvsd)]
        }
        let codec = rung
        guard agreed != codec else {
            state = .connecting(codec)
            return [.connect(codec)]
        }
        return propose(codec, attempt: 1, at: now)
    }

    private mutating func propose(_ codec: VoiceCodec, attempt: Int, at now: Instant) -> [Action] {
        let isLast = codec == .cvsd && attempt > 1
        let time = isLast ? Self.lastAnswerTime : Self.answerTime
        state = .proposed(codec, attempt: attempt, deadline: now.advanced(by: time))
        agreed = nil
        return [.propose(codec)]
    }

    /// After an answer that does not fit: once more the same, then lower, and with CVSD to the end.
    private mutating func proposeAgain(_ codec: VoiceCodec, after attempt: Int, at now: Instant) -> [Action] {
        if attempt == 1 { return propose(codec, attempt: 2, at: now) }
        guard codec == .cvsd else {
            ceiling = rung(below: codec)
            return propose(rung(below: codec), attempt: 1, at: now)
        }
        state = .idle
        return [.failed(.unanswered)]
    }
}

/// Why an audio connection did not come about; the shell maps its own errors to these.
package enum AudioFailure: Hashable, Sendable {
    case refused, timedOut, failed
    /// The adapter cannot do the codec at all.
    case unsupportedCodec
    /// Another set-up is in flight or the headset is taken; no codec helps.
    case busy
    case cancelled
    /// AT+BCS did not come, or was wrong twice.
    case unanswered

    /// Whether the next lower codec is worth trying.
    package var mayBeTheCodec: Bool {
        switch self {
        case .refused, .timedOut, .failed, .unsupportedCodec, .unanswered: true
        case .busy, .cancelled: false
        }
    }
}
