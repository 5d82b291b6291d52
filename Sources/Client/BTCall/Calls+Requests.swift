import BTCallAPI
import DBus

extension Calls {
    /// Asks an application that can dial to begin a call.
    ///
    /// - Parameters:
    ///   - number: the number as dialled.
    ///   - audio: directions of audio; nil: as the daemon's configuration says.
    ///   - video: directions of video; nil: without video.
    ///   - provider: the name of the application; nil lets the daemon choose.
    /// - Returns: the call, once the application has begun it: it is `.dialing` or further.
    /// - Throws: `.noSuchProvider` when no application can dial, `.wrongState` when no call can be added, `.providerFailed`
    ///   or `.timedOut` (five seconds).
    public func place(
        _ number: String, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil,
        provider: String? = nil
    ) async throws(BridgeError) -> Call.ID {
        var options = mediaOptions(audio, video)
        options["provider"] = provider.map { .string($0) }
        let reply = try await connection.request(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.place, [.string(number), .vardict(options)])
        guard let call = reply.first?.stringValue else {
            throw BridgeError(.failed, "btcalld placed the call, but gave it no object")
        }
        return Call.ID(path: call)
    }

    /// Asks the application that owns the call to hold or resume it.
    ///
    /// Returns when it has done so. The daemon waits five seconds for it.
    /// - Throws: `.noSuchCall`, `.wrongState`, `.notSupported` when the application cannot hold, `.providerFailed` or
    ///   `.timedOut`.
    public func setHeld(_ call: Call.ID, _ held: Bool) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, BTCallName.Call.setHeld, [.bool(held)])
    }

    /// Asks the application that owns the call to send tones to the far end.
    ///
    /// - Parameter tones: any of `0123456789ABCD*#`.
    /// - Throws: as ``setHeld(_:_:)``; `.invalidArgument` for other characters.
    public func sendDTMF(_ call: Call.ID, tones: String) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, BTCallName.Call.sendDTMF, [.string(tones)])
    }
}
