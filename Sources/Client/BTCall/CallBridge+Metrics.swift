import BTCallAPI
import DBus

extension CallBridge {
    /// Counters of btcalld since its start, as text in the OpenMetrics format 1.0.0, for monitoring systems. It contains no
    /// addresses, numbers or names.
    ///
    /// - Throws: `.notRunning` without btcalld.
    public func metrics() async throws(BridgeError) -> String {
        let reply = try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.metrics)
        return reply.first?.stringValue ?? ""
    }
}
