import AudioDSP
import AudioEngine
package import AudioPaths
package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
package import Logging

/// Copies of calls for programs that record them, and the consent to it (`[privacy] recording`).
///
/// A tap lasts as long as its call, through hold and resumption, unless its program closes it earlier.
@ControlPlane
package final class CallTaps {
    package enum Event {
        case denied(CallRecord, busName: String)
        /// A client has to allow or deny this program's request.
        case requested(CallRecord, busName: String)
        /// The first tap of the call has started, or its last one has ended.
        case changed(CallRecord)
    }

    /// An open tap, for the counters.
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
    /// A change to `deny` ends all recordings.
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
    private let consentTimeout: Duration
    private let logger: Logger
    private var taps: [UInt32: Tap] = [:]
    private var questions: [Question] = []
    private var lastIdentifier: UInt32 = 0
    /// The most requests that wait for consent at once.
    private static let mostQuestions = 8
    /// The most for one program, so that it does not keep all others out.
    private static let mostQuestionsPerClient = 2
    private static let mostTapsPerClient = 4

    /// - Parameter consentTimeout: how long a request waits for consent.
    package init(
        graph: AudioGraph, calls: CallDirectory, consent: RecordingConsent, consentTimeout: Duration, logger: Logger
    ) {
        engine = graph.engine
        self.calls = calls
        self.consent = consent
        self.consentTimeout = consentTimeout
        self.logger = logger
        calls.endings.subscribe(self) { $0.ended($1) }
        graph.events.subscribe(self) { taps, event in
            if case .tapEnded(let tap) = event { taps.ended(tap) }
        }
    }

    package func tap(_ identifier: UInt32) -> Tap? { taps[identifier] }

    /// Opens a copy of a call; with consent `ask`, waits until a client allows it.
    ///
    /// - Parameters:
    ///   - path: the call's object path.
    ///   - busName: bus name of the program that records.
    /// - Throws: `noSuchCall`; `accessDenied` without consent; `wrongState` when there are too many taps, in total or of
    ///   this program.
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
            // Checked first, so that clients are not asked in vain.
            try checkShare(busName)
            switch try await ask(call, busName) {
            case .allowed:
                // The setting may have changed to `deny` meanwhile.
                guard consent != .deny else {
                    throw denied(call, busName, "recording the call is no longer allowed")
                }
            case .callOver: throw APIError(.noSuchCall, "the call ended before somebody allowed to record it")
            case .denied: throw denied(call, busName, "recording the call was not allowed")
            case .unanswered:
                throw denied(
                    call, busName, "nobody allowed to record the call within \(consentTimeout): see AllowRecording")
            }
        }
        return try attach(call, options, busName)
    }

    /// Answers all open requests to record a call.
    ///
    /// - Parameter busName: bus name of the client that answers; a program cannot allow its own request, unless it owns the
    ///   call.
    /// - Throws: `noSuchCall`; `wrongState` when no request is open; `accessDenied`.
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

    /// The call has ended, and so do its taps.
    private func ended(_ call: CallRecord) {
        for question in questions where question.call === call { answer(question, .callOver) }
        for (identifier, tap) in taps where tap.call === call { engine.detachTap(identifier) }
    }

    /// The engine has closed the tap.
    private func ended(_ identifier: UInt32) {
        guard let tap = taps.removeValue(forKey: identifier) else { return }
        logger.notice("call \(tap.call.uuid): \(tap.owner) stopped recording it")
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
        question.timer = ControlLoop.shared.schedule(after: consentTimeout) { [weak self] in
            self?.answer(question, .unanswered)
        }
        logger.notice("call \(call.uuid): \(busName) asks to record it")
        noteQuestions(about: call)
        return await withCheckedContinuation { continuation in
            question.answer = continuation
            events.send(.requested(call, busName: busName))
        }
    }

    private func answer(_ question: Question, _ outcome: Outcome) {
        questions.removeAll { $0 === question }
        question.timer?.cancel()
        noteQuestions(about: question.call)
        question.answer?.resume(returning: outcome)
        question.answer = nil
    }

    private func noteQuestions(about call: CallRecord) {
        let first = questions.first { $0.call === call }?.busName
        guard first != call.recordingRequestedBy else { return }
        call.recordingRequestedBy = first
        calls.properties.send((call, [BTCallName.Call.recordingRequestedBy]))
    }

    private func attach(
        _ call: CallRecord, _ options: TapOptions, _ busName: String
    ) throws(APIError) -> PassedDescriptor {
        // The call may have ended since the request was allowed.
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
