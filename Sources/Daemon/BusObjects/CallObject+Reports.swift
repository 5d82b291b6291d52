import BTCallAPI
import CallControl
import ControlLoop
import DBus
import TalkControl
import TalkWords
import Telephony

// Reports of the application that owns a call.
extension CallObject {
    func update(_ call: MethodCall) throws(APIError) {
        let options = try call.fields(1, .update)
        let word = try call.text(0, "state", .word)
        try check(options, with: word)
        let state = try callState(word, options)
        let ssrcs = try synchronisationSources(options)
        let routes = try CallDescription.Route.read(options)
        let talk = try options.optionalWord("talk", of: TalkMode.self)
        let revision = try CallRevision(options)
        if let state {
            try calls.update(record, state, from: call.sender, at: options.optionalInteger("time"))
        } else {
            try calls.checkOwner(of: record, call.sender)
        }
        try calls.revise(record, by: revision)
        if let routes { calls.setRoutes(routes, of: record) }
        if let talk { calls.setTalkMode(talk, of: record) }
        guard let ssrcs, record.setSynchronisationSources(ssrcs) else { return }
        bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, [BTCallName.Call.ssrcs])
    }

    func reportCamera(_ call: MethodCall) throws(APIError) {
        let settings = try CameraDescription(call.fields(0, .reportCamera))
        try calls.checkOwner(of: record, call.sender)
        record.camera = settings
        bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, [BTCallName.Call.camera])
        bus.emit(
            path: BTCallPath.calls, interface: BTCallName.Interface.calls,
            member: BTCallName.Calls.cameraSettingsChanged,
            [.objectPath(record.path), .vardict(settings.fields)])
    }

    func revokeTalk(_ call: MethodCall) throws(APIError) {
        try calls.checkOwner(of: record, call.sender)
        try talk.revoke(record)
    }

    func requestMediaChange(_ call: MethodCall) async throws(APIError) {
        let options = try MediaOptions(call.fields(0, .requestMediaChange))
        try await calls.requestMediaChange(of: record, options, from: call.sender)
    }
}

/// The RTP synchronisation sources that a provider reports; nil when it reports none.
private func synchronisationSources(_ options: Fields) throws(APIError) -> [UInt32]? {
    guard options.values["ssrcs"] != nil else { return nil }
    let numbers = try options.integers("ssrcs")
    let sources = numbers.compactMap { UInt32(exactly: $0) }
    guard sources.count == numbers.count, sources.count <= 16 else {
        throw APIError(.invalidArgument, "ssrcs is not accepted; accepted: at most 16 numbers of 32 bits")
    }
    return sources
}

/// Refuses options that do not belong to the reported state.
private func check(_ options: Fields, with state: String) throws(APIError) {
    if state != "ended", options.values["reason"] != nil {
        throw APIError(.invalidArgument, "reason in \(options.subject) goes with the state ended only")
    }
    if state != "ended", state != "active", options.values["time"] != nil {
        throw APIError(.invalidArgument, "time in \(options.subject) goes with the states active and ended only")
    }
}

extension CallRevision {
    fileprivate init(_ options: Fields) throws(APIError) {
        self.init(
            number: try options.optionalString("number", .name)?.nonEmpty,
            name: try options.optionalString("name", .name)?.nonEmpty,
            remoteAddress: try options.optionalString("remoteAddress", .address)?.nonEmpty,
            hasVideo: try options.optionalBool("video"), capabilities: try ProviderOptions.capabilities(options))
    }
}

/// The state for a word that a provider reports; nil for an empty word, which leaves it unchanged.
private func callState(_ word: String, _ options: Fields) throws(APIError) -> CallState? {
    switch word {
    case "": return nil
    case "alerting": return .alerting
    case "active": return .active
    case "held": return .held
    case "ended":
        let reason = try options.optionalString("reason", .word) ?? CallEndReason.remoteHangUp.rawValue
        guard let known = CallEndReason(rawValue: reason) else {
            let accepted = CallEndReason.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(.invalidArgument, "\"\(reason)\" is no reason; accepted: \(accepted)")
        }
        return .ended(known)
    default:
        throw APIError(.invalidArgument, "\"\(word)\" is no state to report; accepted: alerting, active, held, ended")
    }
}
