import BTCallAPI
import ControlLoop
import DBus

/// The calls of the box, of all applications.
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
    /// - Throws: `.noSuchCall`, `.wrongState`, `.providerFailed` or `.timedOut`.
    public func answer(_ call: Call.ID) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, BTCallName.Call.answer, [.vardict([:])])
    }

    /// Ends or rejects the call.
    ///
    /// - Throws: `.noSuchCall`, `.providerFailed` or `.timedOut`.
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
    public func setMuted(_ muted: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.muted, .bool(muted))
    }
}
