import BTCallAPI
import CallControl
import ControlLoop
import DBus
import Telephony

// Reports of the application that owns a call.
extension CallObject {
    func update(_ call: MethodCall) throws(APIError) {
        let options = try call.fields(1, .update)
        let state = try callState(call.text(0, "state", .word), options)
        let ssrcs = try synchronisationSources(options)
        let capabilities = try ProviderOptions.capabilities(options)
        try calls.update(record, state, from: call.sender, at: options.optionalInteger("time"))
        if let capabilities { try calls.setCapabilities(capabilities, of: record) }
        guard let ssrcs, record.setSynchronisationSources(ssrcs) else { return }
        bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, [BTCallName.Call.ssrcs])
    }

    func reportCamera(_ call: MethodCall) throws(APIError) {
        let settings = try CameraDescription(call.fields(0, .reportCamera))
        try calls.checkOwner(of: record, call.sender)
        bus.emit(
            path: BTCallPath.calls, interface: BTCallName.Interface.calls,
            member: BTCallName.Calls.cameraSettingsChanged,
            [.objectPath(record.path), .vardict(settings.fields)])
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

/// The state for a word that a provider reports.
private func callState(_ word: String, _ options: Fields) throws(APIError) -> CallState {
    switch word {
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
