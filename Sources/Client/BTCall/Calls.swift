import BTCallAPI
import ControlLoop
import DBus

/// The calls of the box, of all applications.
///
/// It is part of a ``CallBridge``. For events of calls, use ``CallBridge/events()``.
public final class Calls: Sendable {
    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// The present calls, in order of appearance.
    public func list() async throws(BridgeError) -> [Call] {
        try await connection.callList()
    }

    /// Asks the application that owns the call to answer it.
    ///
    /// Returns when it has done so. The daemon waits five seconds for it.
    ///
    /// - Throws: `.noSuchCall`; `.wrongState` for a call that does not ring; `.notSupported` when the active call cannot be
    ///   held; `.providerFailed` or `.timedOut`.
    public func answer(_ call: Call.ID) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, BTCallName.Call.answer, [.vardict([:])])
    }

    /// Ends or rejects the call.
    ///
    /// - Throws: `.noSuchCall`, `.wrongState` for a call that is about to end, `.providerFailed` or `.timedOut`.
    public func hangup(_ call: Call.ID) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, BTCallName.Call.end)
    }

    /// Whether the microphone is muted, for all calls.
    public func isMuted() async throws(BridgeError) -> Bool {
        let fields = try await connection.property(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.muted)
        return try decoding { () throws(APIError) in try fields.bool(BTCallName.Calls.muted) }
    }

    /// Mutes the microphone until it is unmuted or the last call ends.
    ///
    /// - Throws: `.wrongState` when it mutes without a call. When it unmutes: `.accessDenied` while the microphone is not
    ///   allowed; `.notConfigured` without an input, if `[audio] autoConfigure` is off.
    public func setMuted(_ muted: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.muted, .bool(muted))
    }
}
