package import BTCallAPI
import ControlLoop
import Logging
import Routing
import Telephony

// What clients may ask beside the requests of headsets.
extension CallDirectory {
    /// Holds the active call and takes the held one up; a waiting call stays one.
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

    /// Makes one conversation of the active and the held call.
    ///
    /// - Throws: as `swap()`; `notSupported` also when the calls are not of one application that can do that.
    package func conference() async throws(APIError) {
        try await performOnAll(.threeWay(.join), needs: .conference)
    }

    /// Lifting the handset answers the call that rings.
    package func handsetLifted() {
        guard let call = snapshot.ringing else { return }
        logger.info("the handset is lifted: it answers")
        request(.answer(call.id), via: .handset)
    }

    /// What the call's application can do with it from now on; nothing that it cannot do at all.
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

    /// It is not one call that is not there.
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
