import BTCallAPI
import ControlLoop
import DBus

// Acceptance of incoming calls, and events of one call.
extension Calls {
    /// Events of one call: its states, its quality, whether it is recorded, and whether the microphone is muted.
    ///
    /// The stream begins with ``BridgeEvent/callAdded(_:)`` for the present call, and ends after
    /// ``BridgeEvent/callRemoved(_:reason:)`` or when the daemon goes. It is empty when there is no such call. A stream that
    /// is not read keeps the newest 1024.
    public func events(of call: Call.ID) async -> AsyncStream<BridgeEvent> {
        await connection.events(of: call)
    }

    /// Whether incoming calls are refused without ringing; present calls are not affected.
    public func isDoNotDisturb() async throws(BridgeError) -> Bool {
        let fields = try await connection.property(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.doNotDisturb)
        return try decoding { () throws(APIError) in try fields.bool(BTCallName.Calls.doNotDisturb) }
    }

    /// Sets ``isDoNotDisturb()``. Kept over restarts (the setting `calls.doNotDisturb`).
    ///
    /// An application that reports a call meanwhile gets `.filtered`; ``log(maximum:)`` lists the call.
    public func setDoNotDisturb(_ isOn: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.doNotDisturb, .bool(isOn))
    }
}
