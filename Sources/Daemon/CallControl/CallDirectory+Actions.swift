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

    /// Ends or rejects every present call, all at once, and returns when their applications have done so.
    ///
    /// - Throws: the first error, when a call has not ended.
    package func removeAll() async throws(APIError) {
        let present = calls
        let ends = present.map { record in
            Task { @ControlPlane () -> APIError? in
                let id = record.identifier
                do throws(APIError) {
                    try await perform(record.call.state.isRinging ? .reject(id) : .end(id))
                    return nil
                } catch {
                    return error
                }
            }
        }
        var first: APIError?
        for end in ends {
            let error = await end.value
            first = first ?? error
        }
        let left = present.count { self.record($0.identifier) != nil }
        guard left > 0, let first else { return }
        throw APIError(first.code, "\(left) of \(present.count) calls did not end: \(first.message)")
    }

    /// Changes what an application says about its call; capabilities are limited to those that it registered.
    package func revise(_ record: CallRecord, by revision: CallRevision) throws(APIError) {
        guard revision != CallRevision(), !record.call.state.isEnded else { return }
        let old = record.call.details
        var details = CallDetails(
            number: revision.number.flatMap { CallAddress($0).number.nonEmpty }, name: revision.name,
            hasVideo: revision.hasVideo ?? old.hasVideo)
        details.remoteAddress = revision.remoteAddress
        details.capabilities = revision.capabilities.map { record.provider.options.limit($0) }
        // The contact belongs to the old number.
        if let number = details.number, number != old.number { record.contact = nil }
        let actions: [CallTable.Action]
        do throws(CallReportError) {
            actions = try table.update(record.identifier, details, from: record.call.provider)
        } catch {
            throw Self.refusal(error)
        }
        run(actions)
        guard let number = details.number, number != old.number else { return }
        ask(about: record)
    }

    /// Sets which kinds of device the call may use.
    package func setRoutes(_ routes: [CallDescription.Route], of record: CallRecord) {
        let new = routes == CallDescription.Route.allCases ? nil : routes
        guard new != record.routes, !record.call.state.isEnded else { return }
        record.routes = new
        if record.call.state != .setup {
            routing.send(.callRoutes(call: record.uuid, routes: record.deviceKinds))
        }
        properties.send((record, [BTCallName.Call.routes]))
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

/// What an application changes about its call; nil parts stay unchanged.
package struct CallRevision: Hashable, Sendable {
    package var number: String?
    package var name: String?
    package var remoteAddress: String?
    package var hasVideo: Bool?
    package var capabilities: Set<ProviderOptions.Capability>?

    package init(
        number: String? = nil, name: String? = nil, remoteAddress: String? = nil, hasVideo: Bool? = nil,
        capabilities: Set<ProviderOptions.Capability>? = nil
    ) {
        self.number = number
        self.name = name
        self.remoteAddress = remoteAddress
        self.hasVideo = hasVideo
        self.capabilities = capabilities
    }
}
