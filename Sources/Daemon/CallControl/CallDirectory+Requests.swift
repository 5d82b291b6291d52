package import BTCallAPI
import ControlLoop
package import Routing
package import Telephony

// Requests of headsets and clients.
extension CallDirectory {
    /// - Parameters:
    ///   - via: how the person answered, when the request is an answer.
    ///   - completion: called once, possibly before this returns.
    package func request(
        _ request: CallRequest, via: AnsweredVia? = nil,
        completion: @escaping @ControlPlane (CallRequestOutcome) -> Void = { _ in }
    ) {
        begin(request, via: via) { completion($0.outcome) }
    }

    /// Carries out a request of a client on the bus, which gets an error instead of an outcome.
    ///
    /// - Parameter answerMedia: the media directions once the call is answered; nil: as configured.
    package func perform(
        _ request: CallRequest, via: AnsweredVia? = nil, answerMedia: MediaState? = nil
    ) async throws(APIError) {
        let result = await withCheckedContinuation { continuation in
            begin(request, via: via, answerMedia: answerMedia) { continuation.resume(returning: $0) }
        }
        try check(result)
    }

    /// Asks a provider to dial.
    ///
    /// - Parameters:
    ///   - provider: name of the provider to ask; nil lets the address's scheme and the table choose.
    ///   - options: media of the call; empty: the configuration's audio, and no video.
    package func place(
        _ number: String, provider: String?, _ options: MediaOptions = MediaOptions()
    ) async throws(APIError) -> CallRecord {
        let address = CallAddress(number)
        let provider = try dialer(of: address, provider)
        let context = CallContext(media: try mediaOfPlaced(options, by: provider))
        var placed: CallRecord?
        let result = await withCheckedContinuation { continuation in
            let id = begin(.dial(number: address.number, provider: provider), context) {
                continuation.resume(returning: $0)
            }
            placed = id.flatMap { record($0) }
        }
        if case .failed(.notSupported) = result.outcome { throw Self.cannotHold(.wrongState, whileAnotherIs: "begun") }
        try check(result, dialer: provider)
        guard let placed, record(placed.identifier) != nil else {
            throw APIError(.wrongState, "the call ended before it could be done")
        }
        return placed
    }

    /// - Parameters:
    ///   - context: details beside the number, for the call that a request to dial creates.
    ///   - completion: called once, possibly before this returns.
    /// - Returns: the call that a request to dial creates.
    @discardableResult
    private func begin(
        _ request: CallRequest, _ context: CallContext = CallContext(), via: AnsweredVia? = nil,
        answerMedia: MediaState? = nil, completion: @escaping @ControlPlane (CallRequestResult) -> Void
    ) -> CallID? {
        if endFailed(by: request) {
            completion(CallRequestResult(outcome: .done))
            return nil
        }
        var answered: CallRecord?
        if case .answer(let id) = request { answered = record(id) }
        answered?.answeredVia = via
        let open = OpenRequest(answerMedia: answerMedia) { [weak answered] result in
            // A later answer by the provider alone is not an answer by this request.
            if result.outcome != .done { answered?.answeredVia = nil }
            completion(result)
        }
        let begun = table.begin(request, id: self.open(open))
        run(begun.actions, context)
        return begun.call
    }

    /// Hangs up the calls that the headset is not shown, when the person at the headset ends the audio.
    package func hangUpUnshown() {
        for call in table.calls where !call.isShown && (call.state == .active || call.state.isOutgoingSetup) {
            request(.hangUp(call.id))
        }
    }
}
