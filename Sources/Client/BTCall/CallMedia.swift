import BTCallAPI
import BluetoothTypes
import DBus

/// Directions of a call's audio and video, as seen from this box.
public struct CallMedia: Hashable, Sendable {
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case sendReceive, sendOnly, receiveOnly
        /// Neither direction: the medium is off.
        case off = "none"
    }

    public var audio: Direction
    /// `.off` for a call without video.
    public var video: Direction

    public init(audio: Direction = .sendReceive, video: Direction = .off) {
        self.audio = audio
        self.video = video
    }

    /// Directions that cannot be read get the usual value.
    init(_ fields: [String: Value]) {
        audio = fields["audio"]?.stringValue.flatMap(Direction.init(rawValue:)) ?? .sendReceive
        video = fields["video"]?.stringValue.flatMap(Direction.init(rawValue:)) ?? .off
    }

    init(_ audio: MediaDirection, _ video: MediaDirection) {
        self.init(audio: Direction(audio), video: Direction(video))
    }
}

extension CallMedia.Direction {
    init(_ direction: MediaDirection) {
        switch direction {
        case .sendReceive: self = .sendReceive
        case .sendOnly: self = .sendOnly
        case .receiveOnly: self = .receiveOnly
        case .off: self = .off
        }
    }
}

/// The options `audio` and `video`; a nil value is left out.
func mediaOptions(_ audio: CallMedia.Direction?, _ video: CallMedia.Direction?) -> [String: Value] {
    var options: [String: Value] = [:]
    options["audio"] = audio.map { .string($0.rawValue) }
    options["video"] = video.map { .string($0.rawValue) }
    return options
}

extension Calls {
    /// Answers the call with these directions of audio and video; nil means as the daemon's configuration says.
    ///
    /// - Throws: as ``answer(_:)``; `.notSupported` for video of a call without video.
    public func answer(
        _ call: Call.ID, audio: CallMedia.Direction?, video: CallMedia.Direction? = nil
    ) async throws(BridgeError) {
        try await connection.request(
            call.path, BTCallName.Interface.call, BTCallName.Call.answer, [.vardict(mediaOptions(audio, video))])
    }

    /// Asks the application that owns the call to change the directions of audio and video; nil leaves a direction
    /// unchanged.
    ///
    /// - Throws: `.wrongState` for a call that is not answered yet, `.notSupported` for video of a call without video,
    ///   `.noSuchCall`, `.providerFailed` or `.timedOut` (five seconds).
    public func setMedia(
        of call: Call.ID, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil
    ) async throws(BridgeError) {
        try await connection.request(
            call.path, BTCallName.Interface.call, BTCallName.Call.setMedia, [.vardict(mediaOptions(audio, video))])
    }

    /// Answers ``BridgeEvent/mediaChangeRequested(_:_:)``.
    ///
    /// - Throws: `.wrongState` when no request is pending.
    public func answerMediaChange(of call: Call.ID, _ accepted: Bool) async throws(BridgeError) {
        try await connection.request(
            call.path, BTCallName.Interface.call, BTCallName.Call.answerMediaChange, [.bool(accepted)])
    }

    /// Sets whether the call's far end hears the person; independent of hold and of the mute for all calls.
    public func setLocalAudioEnabled(_ call: Call.ID, _ enabled: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            call.path, BTCallName.Interface.call, BTCallName.Call.localAudioEnabled, .bool(enabled))
    }

    /// Sets whether the call's far end sees the person; btcalld notifies the call's application.
    ///
    /// - Throws: `.wrongState` for a call without video.
    public func setLocalVideoEnabled(_ call: Call.ID, _ enabled: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            call.path, BTCallName.Interface.call, BTCallName.Call.localVideoEnabled, .bool(enabled))
    }
}
