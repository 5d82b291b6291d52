import BTCallAPI
import DBus

extension CallBridge {
    /// What btcalld has counted since it began, as text in the OpenMetrics format 1.0.0, for monitoring systems. It has no addresses,
    /// numbers or names.
    ///
    /// - Throws: `.notRunning` when there is no btcalld.
    public func metrics() async throws(BridgeError) -> String {
        let reply = try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.metrics)
        return reply.first?.stringValue ?? ""
    }
}
