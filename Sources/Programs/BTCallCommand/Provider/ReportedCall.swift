import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// The one call of `btcall call report`: accepts every request, and receives updates from `btcall call update`.
@ControlPlane
final class ReportedCall {
    private let output: Output
    private let isJSON: Bool
    private var state: Call.State?
    private var isInterrupted = false
    private var isReleased = false
    private var ends: CheckedContinuation<Void, Never>?

    init(_ output: Output, isJSON: Bool) {
        self.output = output
        self.isJSON = isJSON
    }

    /// Returns when the call has ended.
    ///
    /// - Throws: the daemon's refusal, or that the daemon has gone.
    func run(
        _ description: CallProviderDescription, _ audio: RawAudio?, on bridge: CallBridge,
        _ report: @ControlPlane (OwnedCalls) async throws -> Call.ID
    ) async throws {
        let calls = OwnedCalls(
            audio,
            onRequest: { [weak self] request, call throws(ProviderRefusal) in self?.asked(request, call) },
            onEvent: { [weak self] event in self?.told(event) })
        try await calls.register(description, on: bridge)
        var control: CallControl?
        do {
            let call = try await report(calls)
            say("call \(call)", ["event": "reported", "call": .string(call.description)])
            calls.reported()
            control = try CallControl(call) { message in
                guard case .update(let state, _, let reason) = message else {
                    throw CommandFailure("only updates are accepted")
                }
                try await calls.update(call, state, reason)
            }
            await untilEnded()
            if isInterrupted, state != .ended {
                let reason: Call.EndReason = state == .active || state == .held ? .remoteHangUp : .cancelled
                try await calls.update(call, .ended, reason)
            }
        } catch {
            await calls.unregister()
            throw error
        }
        // Answers the update that ended the call before this returns.
        await calls.unregister()
        withExtendedLifetime(control) {}
        if isReleased { throw CommandFailure("btcalld has ended, and the call with it") }
    }

    /// Ends the call as the other party's hang-up.
    func interrupt() {
        isInterrupted = true
        end()
    }

    private func untilEnded() async {
        guard !isInterrupted, !isReleased, state != .ended else { return }
        await withCheckedContinuation { ends = $0 }
    }

    private func end() {
        ends?.resume()
        ends = nil
    }

    private func asked(_ request: CallRequest, _ call: Call.ID) {
        var text = request.word
        var members: [(String, JSON)] = [
            ("event", .string(request.word)), ("call", .string(call.description)),
        ]
        switch request {
        case .tones(let tones):
            text += " \(tones)"
            members.append(("tones", .string(tones)))
        case .end(let reason):
            text += " (\(reason))"
            members.append(("reason", .string(reason)))
        case .start, .answer, .held, .muted, .talking, .swapped, .joined: break
        }
        say("asked: \(text)", JSON(members))
    }

    private func told(_ event: OwnedCalls.Event) {
        switch event {
        case .state(let call, let state, let reason):
            self.state = state
            let because = reason.map { " (\($0))" } ?? ""
            say(
                "state: \(state.rawValue)\(because)",
                [
                    "event": "state", "call": .string(call.description), "state": .string(state.rawValue),
                    "reason": JSON(reason),
                ])
            if state == .ended { end() }
        case .released:
            isReleased = true
            end()
        }
    }

    private func say(_ text: String, _ json: JSON) {
        if isJSON { output.printLine(json) } else { output.print(text) }
    }
}
