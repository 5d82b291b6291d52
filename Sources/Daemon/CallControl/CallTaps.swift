import AudioDSP
import AudioEngine
package import AudioPaths
package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
package import Logging

/// Copies of calls for programs that record them, and whether they may (`[privacy] recording`).
///
/// A tap lasts as long as its call, through hold and resumption, unless its program closes it before.
@ControlPlane
package final class CallTaps {
    package enum Event {
        case denied(CallRecord, busName: String)
        /// Somebody has to say whether this program may.
        case requested(CallRecord, busName: String)
        /// The first tap of the call has begun, or its last one has ended.
        case changed(CallRecord)
    }

    /// What an open tap is, for the counters.
    package struct Tap {
        package let call: CallRecord
        /// The unique bus name of the program.
        package let owner: String
        package let options: TapOptions
    }

    private final class Question {
        let call: CallRecord
        let busName: String
        var answer: CheckedContinuation<Outcome, Never>?
        var timer: Timer?

        init(_ call: CallRecord, _ busName: String) {
            self.call = call
            self.busName = busName
        }
    }

    private enum Outcome { case allowed, denied, unanswered, callOver }

    package let events = Signal<Event>()
    /// A change to `deny` ends what is being recorded.
    package var consent: RecordingConsent {
        didSet {
            guard consent != oldValue else { return }
            if consent == .deny { for identifier in taps.keys.sorted() { engine.detachTap(identifier) } }
            if consent != .ask {
                for question in questions { answer(question, consent == .allow ? .allowed : .denied) }
            }
        }
    }
    private let engine: AudioEngine
    private let calls: CallDirectory
    private let patience: Duration
    private let logger: Logger
    private var taps: [UInt32: Tap] = [:]
    private var questions: [Question] = []
    private var lastIdentifier: UInt32 = 0
    /// Most programs that wait to be allowed at once.
    private static let mostQuestions = 8
    /// Of one program, so that none keeps all others out.
    private static let mostQuestionsPerClient = 2
    private static let mostTapsPerClient = 4

    /// - Parameter patience: for somebody to allow it.
    package init(
        graph: AudioGraph, calls: CallDirectory, consent: RecordingConsent, patience: Duration, logger: Logger
    ) {
        engine = graph.engine
        self.calls = calls
        self.consent = consent
        self.patience = patience
        self.logger = logger
        calls.endings.subscribe(self) { $0.ended($1) }
        graph.events.subscribe(self) { taps, event in
            if case .tapEnded(let tap) = event { taps.ended(tap) }
        }
    }

    package func tap(_ identifier: UInt32) -> Tap? { taps[identifier] }

    /// Opens a copy of a call, when somebody has allowed it if that is asked for.
    ///
    /// - Parameters:
    ///   - path: of the call.
    ///   - busName: who asks.
    /// - Throws: `noSuchCall`; `accessDenied` when it may not; `wrongState` when there are too many, of all or of this
    ///   program.
    package func open(
        _ path: String, _ options: TapOptions, of busName: String
    ) async throws(APIError) -> PassedDescriptor {
        let call = try call(path)
        switch consent {
        case .allow: break
        case .deny:
            throw denied(
                call, busName, "calls may not be recorded here: [privacy] recording = allow or ask would let them be")
        case .ask:
            // Nobody is asked in vain.
            try checkShare(busName)
            switch try await ask(call, busName) {
            case .allowed:
                // Recording may have been denied to everybody since.
                guard consent != .deny else {
                    throw denied(call, busName, "recording the call is not allowed any more")
                }
            case .callOver: throw APIError(.noSuchCall, "the call ended before somebody allowed to record it")
            case .denied: throw denied(call, busName, "recording the call was not allowed")
            case .unanswered:
                throw denied(call, busName, "nobody allowed to record the call within \(patience): see AllowRecording")
            }
        }
        return try attach(call, options, busName)
    }

    /// Answers everybody who asks to record a call.
    ///
    /// - Parameter busName: who answers: a program does not allow itself, unless the call is its own.
    /// - Throws: `noSuchCall`; `wrongState` when nobody asks; `accessDenied`.
    package func allow(_ path: String, _ isAllowed: Bool, from busName: String) throws(APIError) {
        let call = try call(path)
        let asked = questions.filter { $0.call === call }
        guard !asked.isEmpty else {
            throw APIError(.wrongState, "nobody asks to record this call; RecordingRequested says when somebody does")
        }
        let others = asked.filter { $0.busName != busName || call.provider.busName == busName }
        guard !others.isEmpty || !isAllowed else {
            throw APIError(
                .accessDenied, "you ask for it yourself: the call's application or another program allows it")
        }
        for question in isAllowed ? others : asked { answer(question, isAllowed ? .allowed : .denied) }
    }

    /// The call is over, and so are its taps.
    private func ended(_ call: CallRecord) {
        for question in questions where question.call === call { answer(question, .callOver) }
        for (identifier, tap) in taps where tap.call === call { engine.detachTap(identifier) }
    }

    /// The engine has closed it.
    private func ended(_ identifier: UInt32) {
        guard let tap = taps.removeValue(forKey: identifier) else { return }
        logger.notice("call \(tap.call.uuid): \(tap.owner) records it no more")
        note(tap.call)
    }

    private func call(_ path: String) throws(APIError) -> CallRecord {
        guard let call = calls.record(at: path) else {
            throw APIError(.noSuchCall, "there is no call at \(path), or it has ended")
        }
        return call
    }

    private func checkShare(_ busName: String) throws(APIError) {
        guard taps.values.count(where: { $0.owner == busName }) < Self.mostTapsPerClient else {
            throw APIError(
                .wrongState,
                "you record \(Self.mostTapsPerClient) times already, the most for one program: close one first")
        }
    }

    private func denied(_ call: CallRecord, _ busName: String, _ message: String) -> APIError {
        logger.notice("call \(call.uuid): \(busName) may not record it")
        events.send(.denied(call, busName: busName))
        return APIError(.accessDenied, message)
    }

    private func ask(_ call: CallRecord, _ busName: String) async throws(APIError) -> Outcome {
        guard questions.count(where: { $0.busName == busName }) < Self.mostQuestionsPerClient else {
            throw APIError(
                .wrongState,
                "\(Self.mostQuestionsPerClient) of your requests to record wait already, the most for one program: "
                    + "wait for an answer")
        }
        guard questions.count < Self.mostQuestions else {
            throw APIError(.wrongState, "\(questions.count) programs wait to be allowed to record: try again")
        }
        let question = Question(call, busName)
        questions.append(question)
        question.timer = ControlLoop.shared.schedule(after: patience) { [weak self] in
            self?.answer(question, .unanswered)
        }
        logger.notice("call \(call.uuid): \(busName) asks to record it")
        return await withCheckedContinuation { continuation in
            question.answer = continuation
            events.send(.requested(call, busName: busName))
        }
    }

    private func answer(_ question: Question, _ outcome: Outcome) {
        questions.removeAll { $0 === question }
        question.timer?.cancel()
        question.answer?.resume(returning: outcome)
        question.answer = nil
    }

    private func attach(
        _ call: CallRecord, _ options: TapOptions, _ busName: String
    ) throws(APIError) -> PassedDescriptor {
        // It may have ended since it was allowed.
        _ = try self.call(call.path)
        try checkShare(busName)
        let pair: PassedSocketPair
        do throws(SystemError) {
            pair = try PassedSocketPair(isStream: options.isStream)
        } catch {
            throw APIError(.fault, "no socket for the audio: \(error); see LimitNOFILE of the daemon")
        }
        let identifier = lastIdentifier &+ 1
        let format = options.format
        do throws(AudioEngineError) {
            try engine.attachTap(
                identifier, ofCall: call.audioIdentifier, Self.side(options), descriptor: pair.ours, rate: format.rate,
                layout: format.layout, isStream: options.isStream)
        } catch {
            guard case .tooMany(let limit) = error else { throw APIError(.fault, "the audio engine: \(error)") }
            throw APIError(.wrongState, "\(limit) programs record already, which is the most there can be")
        }
        lastIdentifier = identifier
        taps[identifier] = Tap(call: call, owner: busName, options: options)
        logger.notice("call \(call.uuid): \(busName) records it")
        note(call)
        return pair.theirs
    }

    private func note(_ call: CallRecord) {
        let isRecorded = taps.values.contains { $0.call === call }
        guard isRecorded != call.isRecorded else { return }
        call.isRecorded = isRecorded
        events.send(.changed(call))
    }

    private static func side(_ options: TapOptions) -> TapSide {
        guard options.format.channels == 1 else { return .stereo }
        return switch options.side {
        case .both: .both
        case .local: .local
        case .remote: .remote
        }
    }
}
