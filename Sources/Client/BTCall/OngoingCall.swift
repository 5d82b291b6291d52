import BTCallAPI
import DBus

/// One call of the box, to act on and to follow, under the names that telephony kits use.
///
/// It is a handle, not the call itself: ``Calls/subscript(_:)`` makes one without asking the daemon, several may refer to
/// the same call, and dropping one ends nothing. Once the call has ended, every request throws `.noSuchCall`. It may be used
/// from any thread or actor.
public struct OngoingCall: Sendable, Identifiable {
    /// Mute state of the microphone, in the words of the kits.
    public enum Mute: String, Hashable, Sendable, CaseIterable {
        case on, off

        init(_ isMuted: Bool) { self = isMuted ? .on : .off }
    }

    public let id: Call.ID
    private let calls: Calls

    init(_ id: Call.ID, of calls: Calls) {
        self.id = id
        self.calls = calls
    }

    /// The call as it is now.
    ///
    /// - Throws: `.noSuchCall` when it has ended.
    public func current() async throws(BridgeError) -> Call { try await calls.call(id) }

    // MARK: Answering and ending

    /// Answers the call; audio and video go as the daemon's configuration says. Otherwise as ``Calls/answer(_:)``.
    public func answer() async throws(BridgeError) { try await calls.answer(id) }

    /// Answers the call with these directions of audio and video; nil video goes as the daemon's configuration says.
    ///
    /// - Throws: as ``Calls/answer(_:audio:video:)``.
    public func answer(
        withAudio audio: CallMedia.Direction, andVideo video: CallMedia.Direction? = nil
    ) async throws(BridgeError) {
        try await calls.answer(id, audio: audio, video: video)
    }

    /// Ends or rejects the call: ``Calls/hangup(_:)``.
    public func hangup() async throws(BridgeError) { try await calls.hangup(id) }

    /// As ``Calls/end(_:)``.
    public func end() async -> CallActionResult { await calls.end(id) }

    // MARK: While it is up

    /// As ``Calls/hold(_:)``.
    public func hold() async -> CallActionResult { await calls.hold(id) }

    /// As ``Calls/resume(_:)``.
    public func resume() async -> CallActionResult { await calls.resume(id) }

    /// As ``Calls/sendDTMF(_:tones:)``.
    public func sendDTMF(tones: String) async throws(BridgeError) { try await calls.sendDTMF(id, tones: tones) }

    /// Whether the microphone is muted: one mute for all calls, the same as ``Calls/isMuted()``.
    ///
    /// - Throws: `.noSuchCall` when this call has ended.
    public var muted: Mute {
        get async throws(BridgeError) { Mute(try await current().isMuted) }
    }

    /// Sets ``muted``, for all calls, until it is set again or the last call ends.
    ///
    /// - Throws: `.noSuchCall` when this call has ended; `.accessDenied` for `.off` while the microphone is not allowed.
    public func muted(_ mute: Mute) async throws(BridgeError) {
        try await calls.connection.setProperty(
            id.path, BTCallName.Interface.call, BTCallName.Call.muted, .bool(mute == .on))
    }

    /// Whether this call alone is muted: its far end hears nobody, while other calls continue.
    ///
    /// - Throws: `.noSuchCall` when this call has ended.
    public var isMutedAlone: Bool {
        get async throws(BridgeError) { try await !current().isLocalAudioEnabled }
    }

    /// Mutes this call alone, or unmutes it: the opposite of ``enableLocalAudio(_:)``. An application with the capability
    /// `mute` is told.
    public func mute(_ isOn: Bool) async throws(BridgeError) { try await enableLocalAudio(!isOn) }

    /// Sets whether this call's far end hears the person: ``Calls/setLocalAudioEnabled(_:_:)``.
    public func enableLocalAudio(_ isEnabled: Bool) async throws(BridgeError) {
        try await calls.setLocalAudioEnabled(id, isEnabled)
    }

    /// Sets whether this call's far end sees the person: ``Calls/setLocalVideoEnabled(_:_:)``.
    public func enableLocalVideo(_ isEnabled: Bool) async throws(BridgeError) {
        try await calls.setLocalVideoEnabled(id, isEnabled)
    }

    /// As ``Calls/setMedia(of:audio:video:)``.
    public func setMedia(
        audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil
    ) async throws(BridgeError) {
        try await calls.setMedia(of: id, audio: audio, video: video)
    }

    /// As ``Calls/answerMediaChange(of:_:)``.
    public func answerMediaChange(_ isAccepted: Bool) async throws(BridgeError) {
        try await calls.answerMediaChange(of: id, isAccepted)
    }

    // MARK: Following it

    /// Events of the call: ``Calls/events(of:)``.
    public func events() async -> AsyncStream<BridgeEvent> { await calls.events(of: id) }

    /// States of the call, up to `ended`.
    public func states() async -> CallValues<Call.State> {
        CallValues(await events()) { event in
            switch event {
            case .callAdded(let call): call.state
            case .callStateChanged(_, let state, _): state
            default: nil
            }
        }
    }

    /// Progress of the call in the words of the kits, up to its outcome.
    ///
    /// `mediaPending` comes when no device has carried an answered call for 0.1 s, also when its device is lost.
    public func statuses() async -> CallValues<CallStatus> {
        CallValues(await events()) { event in
            switch event {
            case .callAdded(let call): call.status
            case .callStatusChanged(_, let status, _): status
            default: nil
            }
        }
    }

    /// Audio quality over the last five seconds, 0…100; nil before the call has audio.
    public func qualityScores() async -> CallValues<Int?> {
        CallValues(await events()) { event in
            switch event {
            case .callAdded(let call): .some(call.quality?.score)
            case .callQualityChanged(_, let score): .some(score)
            default: nil
            }
        }
    }

    /// Whether the microphone is muted.
    public func mutes() async -> CallValues<Mute> {
        CallValues(await events()) { event in
            switch event {
            case .callAdded(let call): Mute(call.isMuted)
            case .mutedChanged(let isMuted): Mute(isMuted)
            default: nil
            }
        }
    }
}
