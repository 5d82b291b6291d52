import BTCallAPI
import ControlLoop
import DBus

// Which incoming calls are taken, and what becomes of one call.
extension Calls {
    /// What happens to one call: its states, how good it is, whether it is recorded, and whether the microphone is muted.
    ///
    /// It begins with ``BridgeEvent/callAdded(_:)`` for the call as it is, and ends after ``BridgeEvent/callRemoved(_:reason:)``, or
    /// when the daemon goes. Of a call that is not there nothing comes. A stream that is not read keeps the newest 1024.
    public func events(of call: Call.ID) async -> AsyncStream<BridgeEvent> {
        await connection.events(of: call)
    }

    /// Whether incoming calls are refused, so that nothing rings; calls that are up are not touched.
    public func isDoNotDisturb() async throws(BridgeError) -> Bool {
        let fields = try await connection.property(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.doNotDisturb)
        return try decoding { () throws(APIError) in try fields.bool(BTCallName.Calls.doNotDisturb) }
    }

    /// Sets ``isDoNotDisturb()``. It is kept over restarts (the setting `calls.doNotDisturb`).
    ///
    /// An application that reports a call meanwhile gets `.filtered`; ``log(maximum:)`` has the call.
    public func setDoNotDisturb(_ isOn: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.doNotDisturb, .bool(isOn))
    }
}
