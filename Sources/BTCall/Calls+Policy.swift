import BTCallAPI
import ControlLoop
import DBus

// Which incoming calls are taken.
extension Calls {
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
