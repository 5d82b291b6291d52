package import BTCallAPI
import BluetoothTypes
import ControlLoop
import Logging
package import Telephony

// Reports of the applications that own calls.
extension CallDirectory {
    package func reportIncoming(
        busName: String, path: String, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: busName, path) else { throw Self.noSuchProvider(path) }
        return try reportIncoming(at: index, number, options)
    }

    package func reportOutgoing(
        busName: String, path: String, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: busName, path) else { throw Self.noSuchProvider(path) }
        return try reportOutgoing(at: index, number, options)
    }

    /// Reports an incoming call of a part of the daemon.
    package func reportIncoming(
        from owner: any CallOwner, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: owner) else { throw Self.refusal(.unknownProvider) }
        return try reportIncoming(at: index, number, options)
    }

    package func reportOutgoing(
        from owner: any CallOwner, number: String, options: ReportOptions
    ) throws(APIError) -> CallRecord {
        guard let index = index(of: owner) else { throw Self.refusal(.unknownProvider) }
        return try reportOutgoing(at: index, number, options)
    }

    /// Applies a state that the call's own provider reports.
    ///
    /// - Parameter time: time of the change in milliseconds of the monotonic clock (`CLOCK_MONOTONIC`); nil: now.
    package func update(
        _ record: CallRecord, _ state: CallState, from busName: String, at time: UInt64? = nil
    ) throws(APIError) {
        try checkOwner(of: record, busName)
        try update(record.identifier, state, from: record.call.provider, since: Self.instant(time))
    }

    package func checkOwner(of record: CallRecord, _ busName: String) throws(APIError) {
        guard record.provider.busName == busName else {
            throw APIError(.notProvider, "the call belongs to \(record.provider.name): only it may update the call")
        }
    }

    package func update(_ record: CallRecord, _ state: CallState, from owner: any CallOwner) throws(APIError) {
        guard record.provider === owner else { throw Self.refusal(.notOwner) }
        try update(record.identifier, state, from: record.call.provider)
    }

    private func reportIncoming(
        at index: Int, _ number: String, _ options: ReportOptions
    ) throws(APIError) -> CallRecord {
        let owner = providers[index].owner
        guard owner.options.hasCallState else {
            throw APIError(
                .notSupported,
                "\(owner.name) registered with callState=false, whose calls ring nowhere: report an outgoing call "
                    + "while there is audio, or register with callState=true")
        }
        let result: (id: CallID, actions: [CallTable.Action])
        finishFailures()
        let details = details(number, options, at: index)
        do throws(CallReportError) {
            result = try table.reportIncoming(details, from: providers[index].key)
        } catch {
            refused(error, details, owner)
            throw Self.refusal(error)
        }
        run(
            result.actions,
            CallContext(
                media: MediaState(reported: options), contact: options.contact, routes: options.routes,
                talk: options.talk))
        return try require(result.id)
    }

    private func reportOutgoing(
        at index: Int, _ number: String, _ options: ReportOptions
    ) throws(APIError) -> CallRecord {
        let key = providers[index].key
        let since = try Self.instant(options.time)
        let result: (id: CallID, actions: [CallTable.Action])
        finishFailures()
        do throws(CallReportError) {
            result = try table.reportOutgoing(details(number, options, at: index), from: key)
        } catch {
            throw Self.refusal(error)
        }
        run(
            result.actions,
            CallContext(media: MediaState(reported: options), routes: options.routes, talk: options.talk))
        if let since { record(result.id)?.appearedAt = .at(since) }
        switch options.state {
        case .alerting: try update(result.id, .alerting, from: key)
        case .active: try update(result.id, .active, from: key, since: since)
        case .dialing, .ringing, .waiting, .held, .ended: break
        }
        return try require(result.id)
    }

    private func update(
        _ id: CallID, _ state: CallState, from key: String, since: Instant? = nil
    ) throws(APIError) {
        let record = self.record(id)
        if try isFailing(id, state) {
            record?.endedAt = since.map { .at($0) }
            return
        }
        let actions: [CallTable.Action]
        do throws(CallReportError) {
            actions = try table.update(id, state, from: key)
        } catch {
            throw Self.refusal(error)
        }
        if case .ended = state { record?.endedAt = since.map { .at($0) } }
        run(actions, CallContext(answeredSince: since))
    }

    private func refused(_ error: CallReportError, _ details: CallDetails, _ owner: any CallOwner) {
        let reason: RefusedCall.Reason
        switch error {
        case .filtered: reason = .filtered
        case .busy: reason = .busy
        case .unknownProvider, .unknownCall, .notOwner, .illegalTransition, .tooManyCalls: return
        }
        logger.info("an incoming call of \(owner.name) is refused: \(reason.rawValue)")
        refusals.send(RefusedCall(details, provider: owner.name, reason))
    }

    private func require(_ id: CallID) throws(APIError) -> CallRecord {
        guard let record = record(id) else { throw APIError(.fault, "the call vanished while it was reported") }
        return record
    }

    private func details(_ number: String, _ options: ReportOptions, at index: Int) -> CallDetails {
        var details = CallDetails(
            number: CallAddress(number).number.nonEmpty, name: options.name, hasVideo: options.isVideo,
            capabilities: options.capabilities.map { providers[index].owner.options.limit($0) })
        details.remoteAddress = options.remoteAddress
        return details
    }
}
