package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
import Telephony

/// `org.btcall.Calls1` at `/org/btcall/calls`, and one `org.btcall.Call1` object a call.
@ControlPlane
package final class CallsObject {
    package let bus: BusConnection
    package let calls: CallDirectory
    private let mute: MuteState
    package let settings: Settings
    package let log: CallLog
    private let checkUnmuting: @ControlPlane () throws(APIError) -> Void

    /// - Parameter checkUnmuting: throws why the microphone cannot be unmuted.
    package init(
        bus: BusConnection, calls: CallDirectory, mute: MuteState, settings: Settings, log: CallLog,
        checkUnmuting: @escaping @ControlPlane () throws(APIError) -> Void
    ) {
        self.bus = bus
        self.calls = calls
        self.mute = mute
        self.settings = settings
        self.log = log
        self.checkUnmuting = checkUnmuting
        bus.export([interface()], at: BTCallPath.calls)
        mute.onChange = { [weak self] in self?.muteChanged() }
        calls.onProperties = { [weak self] record, properties in self?.changed(record, properties) }
        calls.onMediaChangeRequested = { [weak self] record, media in self?.mediaChangeRequested(record, media) }
    }

    private func muteChanged() {
        changed(BTCallName.Calls.muted)
        for record in calls.calls { changed(record, [BTCallName.Call.muted]) }
        calls.setMuted(mute.isMuted)
    }

    /// - Throws: why the microphone cannot be muted, or not be opened.
    private func setMuted(_ isWanted: Bool) throws(APIError) {
        // It would be forgotten with the next call's end, or, worse, not be.
        guard !isWanted || !calls.calls.isEmpty else {
            throw APIError(.wrongState, "there is no call to mute; mute it when a call is there")
        }
        if !isWanted { try checkUnmuting() }
        mute.set(isWanted)
    }

    /// The mute of all calls, which the object of each call shows as well.
    private var mutedProperty: ExportedInterface.Property {
        .init(
            BTCallName.Calls.muted, "b", get: { [mute] in .bool(mute.isMuted) },
            set: { [weak self] value throws(BusError) in
                _ = try reply { () throws(APIError) in
                    try self?.setMuted(value.boolValue ?? false)
                    return []
                }
            })
    }

    /// Shows what became of a call.
    package func show(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record):
            bus.export([interface(of: record)], at: record.path)
            var description = record.description
            description.isMuted = mute.isMuted
            emit(BTCallName.Calls.callAdded, [.objectPath(record.path), .vardict(signalled(description))])
            record.shownState = record.call.state
            record.shownIdentity = Self.identity(of: description)
            changed(BTCallName.Calls.calls)
            announceIncoming(record)
        case .changed(let record): emitState(record, reason: "")
        case .ended(let record, let reason):
            emitState(record, reason: reason.rawValue)
            bus.unexport(path: record.path)
            emit(BTCallName.Calls.callRemoved, [.objectPath(record.path), .string(reason.rawValue)])
            changed(BTCallName.Calls.calls)
        }
    }

    /// Shows properties of a call that are other than before.
    package func changed(_ record: CallRecord, _ properties: [String]) {
        bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, properties)
    }

    /// What a signal that goes to everybody says of a call.
    package func signalled(_ description: CallDescription) -> [String: Value] {
        bus.readers == nil ? description.properties : description.publicProperties
    }

    private static func identity(of description: CallDescription) -> [String: Value] {
        description.properties.filter { CallDescription.identity.contains($0.key) }
    }

    private func emitState(_ record: CallRecord, reason: String) {
        let identity = Self.identity(of: record.description)
        // Where they come without their values, whoever may know them has to ask: only for those that are others.
        let shown = bus.readers == nil ? [:] : record.shownIdentity
        record.shownIdentity = identity
        bus.propertiesChanged(
            path: record.path, interface: BTCallName.Interface.call,
            [
                BTCallName.Call.state, BTCallName.Call.startedAt, BTCallName.Call.hasVideo,
                BTCallName.Call.capabilities,
            ] + identity.keys.sorted().filter { identity[$0] != shown[$0] })
        // A name that became known is no change of the state.
        guard record.shownState != record.call.state else { return }
        record.shownState = record.call.state
        bus.emit(
            path: record.path, interface: BTCallName.Interface.call, member: BTCallName.Call.stateChanged,
            [.string(record.description.state.rawValue), .string(reason)])
    }

    package func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.calls, interface: BTCallName.Interface.calls, member: member, arguments)
    }

    package func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.calls, interface: BTCallName.Interface.calls, [property])
    }

    private func interface() -> ExportedInterface {
        let calls = calls
        typealias Name = BTCallName.Calls
        return ExportedInterface(
            BTCallName.Interface.calls,
            methods: [
                .init(Name.registerProvider, in: [("provider", "o"), ("options", "a{sv}")]) {
                    call async throws(BusError) in
                    try reply { () throws(APIError) in
                        let options = try ProviderOptions(Fields(argument(call, 1), of: "options"))
                        try calls.register(
                            busName: call.sender, path: text(call, 0, "provider", .address), options: options)
                        return []
                    }
                },
                .init(Name.unregisterProvider, in: [("provider", "o")]) { call async throws(BusError) in
                    try reply { () throws(APIError) in
                        try calls.unregister(busName: call.sender, path: text(call, 0, "provider", .address))
                        return []
                    }
                },
                .init(
                    Name.reportIncoming, in: [("provider", "o"), ("number", "s"), ("options", "a{sv}")],
                    out: [("call", "o")]
                ) { call async throws(BusError) in
                    do throws(APIError) {
                        let given = try ReportOptions(Fields(argument(call, 2), of: "options"))
                        let path = try text(call, 0, "provider", .address)
                        let number = try text(call, 1, "number", .name)
                        let options = await calls.named(given, number, busName: call.sender, path: path)
                        let record = try calls.reportIncoming(
                            busName: call.sender, path: path, number: number, options: options)
                        return [.objectPath(record.path)]
                    } catch {
                        throw error.busError
                    }
                },
                .init(
                    Name.reportOutgoing, in: [("provider", "o"), ("number", "s"), ("options", "a{sv}")],
                    out: [("call", "o")]
                ) { call async throws(BusError) in
                    try reply { () throws(APIError) in
                        let options = try ReportOptions(Fields(argument(call, 2), of: "options"))
                        let record = try calls.reportOutgoing(
                            busName: call.sender, path: text(call, 0, "provider", .address),
                            number: text(call, 1, "number", .name), options: options)
                        return [.objectPath(record.path)]
                    }
                },
                .init(Name.place, in: [("number", "s"), ("options", "a{sv}")], out: [("call", "o")]) {
                    call async throws(BusError) in
                    do throws(APIError) {
                        let options = try Fields(argument(call, 1), of: "options")
                        let provider = try options.optionalString("provider", .provider)
                        let media = try MediaOptions(options)
                        let number = try text(call, 0, "number", .name)
                        return [.objectPath(try await calls.place(number, provider: provider, media).path)]
                    } catch {
                        throw error.busError
                    }
                },
            ] + logMethods + contactMethods + Self.actionMethods(calls),
            signals: [
                .init(Name.callAdded, [("call", "o"), ("properties", "a{sv}")]),
                .init(Name.callRemoved, [("call", "o"), ("reason", "s")]),
            ] + announcements,
            properties: [
                .init(Name.calls, "ao", get: { .objectPaths(calls.calls.map(\.path)) }),
                mutedProperty,
            ] + policyProperties)
    }

    private static func tones(_ call: MethodCall) throws(BusError) -> String {
        do throws(APIError) {
            let tones = try text(call, 0, "tones", .word)
            guard !tones.isEmpty, tones.allSatisfy("0123456789*#ABCD".contains) else {
                throw APIError(.invalidArgument, "\"\(tones)\" is not made of DTMF tones: 0-9, *, #, A-D")
            }
            return tones
        } catch {
            throw error.busError
        }
    }

    private func interface(of record: CallRecord) -> ExportedInterface {
        let (calls, bus) = (calls, bus)
        let id = record.identifier
        typealias Name = BTCallName.Call
        func perform(
            _ request: CallRequest, _ right: String, needs capability: ProviderOptions.Capability? = nil
        ) async throws(BusError) -> [Value] {
            do throws(APIError) {
                try await calls.perform(request)
                return []
            } catch {
                if error.code == .notSupported, let capability { throw record.lacks(capability).busError }
                throw reworded(error, right).busError
            }
        }
        func property(_ name: String) -> Value { record.description.properties[name] ?? .vardict([:]) }
        /// The call is there: what does not fit is its state.
        func reworded(_ error: APIError, _ right: String) -> APIError {
            switch error.code {
            case .noSuchCall where calls.record(id) != nil: record.refusal(right)
            case .wrongState where calls.record(id) == nil:
                APIError(.noSuchCall, "the call ended while the request was under way")
            default: error
            }
        }
        return ExportedInterface(
            BTCallName.Interface.call,
            methods: [
                .init(Name.answer, in: [("options", "a{sv}")]) { call async throws(BusError) in
                    do throws(APIError) {
                        let options = try MediaOptions(Fields(argument(call, 0), of: "options"))
                        try await calls.answer(record, options)
                        return []
                    } catch {
                        throw reworded(error, "only one that rings or waits can be answered").busError
                    }
                },
                .init(Name.end) { _ async throws(BusError) in
                    try await perform(
                        record.call.state.isRinging ? .reject(id) : .hangUp(id), "it is about to end by itself")
                },
                .init(Name.setHeld, in: [("held", "b")]) { call async throws(BusError) in
                    let isHeld = argument(call, 0).boolValue ?? false
                    let right = "only \(isHeld ? "an active call can be held" : "a held call can be taken up again")"
                    return try await perform(.setHeld(id, isHeld), right, needs: .hold)
                },
                .init(Name.sendDTMF, in: [("tones", "s")]) { call async throws(BusError) in
                    let tones = try Self.tones(call)
                    let right = "tones go to an active call"
                    for tone in tones {
                        guard record.call.state == .active else {
                            throw reworded(APIError(.noSuchCall, "the call has ended"), right).busError
                        }
                        _ = try await perform(.sendDTMF(tone, to: id), right, needs: .dtmf)
                    }
                    return []
                },
                .init(Name.update, in: [("state", "s"), ("options", "a{sv}")]) { call async throws(BusError) in
                    try reply { () throws(APIError) in
                        let options = try Fields(argument(call, 1), of: "options")
                        let state = try callState(text(call, 0, "state", .word), options)
                        let ssrcs = try synchronisationSources(options)
                        let capabilities = try ProviderOptions.capabilities(options)
                        try calls.update(record, state, from: call.sender, at: options.optionalInteger("time"))
                        if let capabilities { try calls.setCapabilities(capabilities, of: record) }
                        if let ssrcs, ssrcs != record.ssrcs, !record.call.state.isEnded {
                            record.ssrcs = ssrcs
                            bus.propertiesChanged(
                                path: record.path, interface: BTCallName.Interface.call, [Name.ssrcs])
                        }
                        return []
                    }
                },
                Self.cameraMethod(of: record, calls, bus),
            ] + Self.mediaMethods(of: record, calls),
            signals: [
                .init(Name.stateChanged, [("state", "s"), ("reason", "s")]),
                .init(Name.mediaChangeRequested, [("media", "a{sv}")]),
            ],
            properties: [
                .init(Name.id, "s", changes: .constant, get: { .string(record.uuid) }),
                .init(Name.state, "s", get: { .string(record.description.state.rawValue) }),
                .init(Name.direction, "s", changes: .constant, get: { .string(record.description.direction.rawValue) }),
                .init(Name.number, "s", isConfidential: true, get: { .string(record.description.number ?? "") }),
                .init(Name.name, "s", isConfidential: true, get: { .string(record.description.name ?? "") }),
                .init(Name.contact, "a{sv}", isConfidential: true, get: { property(Name.contact) }),
                .init(Name.provider, "s", changes: .constant, get: { .string(record.provider.name) }),
                .init(Name.index, "y", changes: .constant, get: { .byte(record.description.index) }),
                .init(Name.startedAt, "t", get: { .uint64(record.startedAt) }),
                .init(Name.ssrcs, "au", get: { property(Name.ssrcs) }),
                .init(Name.link, "a{sv}", get: { property(Name.link) }),
                .init(Name.quality, "i", get: { property(Name.quality) }),
                .init(Name.qualityParts, "a{sv}", changes: .silent, get: { property(Name.qualityParts) }),
                .init(Name.qualityTotal, "a{sv}", changes: .silent, get: { property(Name.qualityTotal) }),
                .init(Name.recording, "b", get: { .bool(record.isRecorded) }),
                .init(Name.handle, "s", isConfidential: true, get: { .string(record.description.handle) }),
                .init(
                    Name.remoteAddress, "s", isConfidential: true,
                    get: { .string(record.description.remoteAddress) }),
                .init(Name.hasVideo, "b", get: { .bool(record.description.hasVideo) }),
                .init(Name.capabilities, "as", get: { property(Name.capabilities) }),
                mutedProperty,
            ] + Self.mediaProperties(of: record, calls))
    }
}

/// What a provider tells of its RTP streams; nil when it tells nothing.
private func synchronisationSources(_ options: Fields) throws(APIError) -> [UInt32]? {
    guard options.values["ssrcs"] != nil else { return nil }
    let numbers = try options.integers("ssrcs")
    let sources = numbers.compactMap { UInt32(exactly: $0) }
    guard sources.count == numbers.count, sources.count <= 16 else {
        throw APIError(.invalidArgument, "ssrcs is not accepted; accepted: at most 16 numbers of 32 bits")
    }
    return sources
}

/// The words that a provider may report.
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
