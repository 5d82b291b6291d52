import BTCallAPI
import BluetoothTypes
import CallControl
import ControlLoop
import DBus
import TalkControl
import Telephony

/// The members of one `org.btcall.Call1`.
@ControlPlane
final class CallObject {
    let record: CallRecord
    let calls: CallDirectory
    let bus: BusConnection
    let talk: TalkControl
    private let muting: CallMuting

    init(
        _ record: CallRecord, _ calls: CallDirectory, _ bus: BusConnection, _ muting: CallMuting, _ talk: TalkControl
    ) {
        self.record = record
        self.calls = calls
        self.bus = bus
        self.muting = muting
        self.talk = talk
    }

    var interface: ExportedInterface {
        typealias Name = BTCallName.Call
        return ExportedInterface(
            BTCallName.Interface.call,
            methods: [
                .init(Name.answer, in: [("options", "a{sv}")], by: answer),
                .init(Name.end, by: end),
                .init(Name.setHeld, in: [("held", "b")], by: setHeld),
                .init(Name.sendDTMF, in: [("tones", "s")], by: sendDTMF),
                .init(Name.update, in: [("state", "s"), ("options", "a{sv}")], by: update),
                .init(Name.reportCamera, in: [("settings", "a{sv}")], by: reportCamera),
                .init(Name.setMedia, in: [("media", "a{sv}")], by: setMedia),
                .init(Name.requestMediaChange, in: [("media", "a{sv}")], by: requestMediaChange),
                .init(Name.revokeTalk, by: revokeTalk),
                .init(Name.answerMediaChange, in: [("accepted", "b")], by: answerMediaChange),
            ],
            signals: [
                .init(Name.stateChanged, [("state", "s"), ("reason", "s")]),
                .init(Name.statusChanged, [("status", "s"), ("reason", "s")]),
                .init(Name.mediaChangeRequested, [("media", "a{sv}")]),
            ],
            properties: identityProperties + stateProperties + mediaProperties)
    }

    private var identityProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Call
        return [
            shown(Name.id, "s", changes: .constant),
            shown(Name.direction, "s", changes: .constant),
            shown(Name.provider, "s", changes: .constant),
            shown(Name.index, "y", changes: .constant),
            shown(Name.number, "s", isConfidential: true),
            shown(Name.name, "s", isConfidential: true),
            shown(Name.contact, "a{sv}", isConfidential: true),
            shown(Name.handle, "s", isConfidential: true),
            shown(Name.remoteAddress, "s", isConfidential: true),
            shown(Name.account, "a{sv}", changes: .constant, isConfidential: true),
            shown(Name.icon, "s", changes: .constant),
        ]
    }

    private var stateProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Call
        return [
            shown(Name.state, "s"),
            shown(Name.status, "s"),
            shown(Name.startedAt, "t"),
            shown(Name.hasVideo, "b"),
            shown(Name.capabilities, "as"),
            shown(Name.ssrcs, "au"),
            shown(Name.link, "a{sv}"),
            shown(Name.quality, "i"),
            shown(Name.qualityParts, "a{sv}", changes: .silent),
            shown(Name.qualityTotal, "a{sv}", changes: .silent),
            shown(Name.routes, "as"),
            shown(Name.camera, "a{sv}"),
            shown(Name.audioProblem, "s"),
            shown(Name.recording, "b"),
            shown(Name.recordingRequestedBy, "s"),
        ]
    }

    private var mediaProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Call
        return [
            muting.property,
            shown(Name.audio, "s"),
            shown(Name.video, "s"),
            shown(Name.requestedMedia, "a{sv}"),
            .init(Name.localAudioEnabled, "b", get: localAudioValue, by: setLocalAudio),
            .init(Name.localVideoEnabled, "b", get: localVideoValue, by: setLocalVideo),
            shown(Name.talkMode, "s"),
            shown(Name.talking, "b"),
            shown(Name.talkState, "s"),
            shown(Name.talkHolder, "s"),
        ]
    }

    /// A read-only property with its value from `CallDescription`.
    private func shown(
        _ name: String, _ signature: String, changes: ExportedInterface.Property.Changes = .signalled,
        isConfidential: Bool = false
    ) -> ExportedInterface.Property {
        .init(
            name, signature, changes: changes, isConfidential: isConfidential,
            get: { [record] in record.description.properties[name] ?? "" })
    }

    // MARK: Requests

    private func answer(_ call: MethodCall) async throws(APIError) {
        let media = try MediaOptions(call.fields(0, .answer))
        do throws(APIError) {
            try await calls.answer(record, media)
        } catch {
            throw reworded(error, "only one that rings or waits can be answered")
        }
    }

    private func end(_: MethodCall) async throws(APIError) {
        let id = record.identifier
        try await perform(record.call.state.isRinging ? .reject(id) : .end(id), "it is about to end")
    }

    private func setHeld(_ call: MethodCall) async throws(APIError) {
        let isHeld = call.flag(0)
        try await perform(
            .setHeld(record.identifier, isHeld),
            "only \(isHeld ? "an active call can be held" : "a held call can be taken up again")", needs: .hold)
    }

    private func sendDTMF(_ call: MethodCall) async throws(APIError) {
        try await perform(
            .sendDTMF(Self.tones(call), to: record.identifier), "tones go to an active call", needs: .dtmf)
    }

    private static func tones(_ call: MethodCall) throws(APIError) -> String {
        let tones = try call.text(0, "tones", .word)
        guard !tones.isEmpty, tones.allSatisfy("0123456789*#ABCD".contains) else {
            throw APIError(.invalidArgument, "\"\(tones)\" is not made of DTMF tones: 0-9, *, #, A-D")
        }
        return tones
    }

    private func perform(
        _ request: CallRequest, _ right: String, needs capability: ProviderOptions.Capability? = nil
    ) async throws(APIError) {
        do throws(APIError) {
            try await calls.perform(request)
        } catch {
            if error.code == .notSupported, let capability { throw record.lacks(capability) }
            throw reworded(error, right)
        }
    }

    /// Words an error for a call that exists: its state does not allow the request.
    ///
    /// - Parameter right: the calls that accept the request.
    private func reworded(_ error: APIError, _ right: String) -> APIError {
        let isThere = calls.record(record.identifier) != nil
        switch error.code {
        case .noSuchCall where isThere: return record.refusal(right)
        case .wrongState where !isThere:
            return APIError(.noSuchCall, "the call ended while the request was under way")
        default: return error
        }
    }

    // MARK: Media

    private func setMedia(_ call: MethodCall) async throws(APIError) {
        try await calls.changeMedia(of: record, MediaOptions(call.fields(0, .setMedia)))
    }

    private func answerMediaChange(_ call: MethodCall) throws(APIError) {
        try calls.answerMediaChange(of: record, call.flag(0), from: call.sender)
    }

    private func localAudioValue() -> Value { .bool(record.media.isLocalAudioEnabled) }

    private func setLocalAudio(_ value: Value) { calls.setLocalAudio(value.boolValue ?? true, of: record) }

    private func localVideoValue() -> Value { .bool(record.media.isLocalVideoEnabled) }

    private func setLocalVideo(_ value: Value) throws(APIError) {
        try calls.setLocalVideo(value.boolValue ?? true, of: record)
    }
}
