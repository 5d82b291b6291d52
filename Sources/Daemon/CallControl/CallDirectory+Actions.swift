package import BTCallAPI
import ControlLoop
import Logging
import Routing
import Telephony

// Requests of clients that headsets do not have.
extension CallDirectory {
    /// Holds the active call and resumes the held one; a waiting call stays waiting.
    ///
    /// - Throws: `wrongState` without an active and a held call; `notSupported`, `providerFailed`, `timedOut`.
    package func swap() async throws(APIError) {
        let snapshot = snapshot
        guard snapshot.first(.active) != nil, let held = snapshot.first(.held) else {
            throw APIError(.wrongState, "there is no active call with a held one beside it")
        }
        let isWaiting = snapshot.calls.contains(where: \.state.isRinging)
        try await performOnAll(
            isWaiting ? .setHeld(held.id, false) : .threeWay(.holdActiveAndAcceptOther), needs: .hold)
    }

    /// Joins the active and the held call into one conversation.
    ///
    /// - Throws: as `swap()`; `notSupported` also when the two calls do not belong to one application that can join them.
    package func conference() async throws(APIError) {
        try await performOnAll(.threeWay(.join), needs: .conference)
    }

    /// Answers the ringing call when the handset is lifted.
    package func handsetLifted() {
        guard let call = snapshot.ringing else { return }
        logger.info("the handset is lifted: it answers")
        request(.answer(call.id), via: .handset)
    }

    /// Sets the call's capabilities, limited to those that its application registered.
    package func setCapabilities(
        _ words: Set<ProviderOptions.Capability>, of record: CallRecord
    ) throws(APIError) {
        guard !record.call.state.isEnded else { return }
        var details = CallDetails(hasVideo: record.call.details.hasVideo)
        details.capabilities = record.provider.options.limit(words)
        let actions: [CallTable.Action]
        do throws(CallReportError) {
            actions = try table.update(record.identifier, details, from: record.call.provider)
        } catch {
            throw Self.refusal(error)
        }
        run(actions)
    }

    /// Performs a request that concerns two calls: `noSuchCall` becomes `wrongState`, since no single call is missing.
    private func performOnAll(
        _ request: CallRequest, needs capability: ProviderOptions.Capability
    ) async throws(APIError) {
        do throws(APIError) {
            try await perform(request)
        } catch {
            switch error.code {
            case .noSuchCall: throw APIError(.wrongState, "there is no active call with a held one beside it")
            case .notSupported:
                throw APIError(.notSupported, "\(error.message): \(capability.rawValue), for both calls")
            default: throw error
            }
        }
    }
}
