package import BluetoothTypes
package import Logging

/// The subject of a log line, as fields of the journal: `BTCALL_CALL`, `BTCALL_HEADSET`, `BTCALL_ROUTE`.
extension Logger {
    package func about(headset address: BluetoothAddress) -> Logger { with("headset", "\(address)") }

    /// - Parameter call: the UUID, as in `btcall calls --json`.
    package func about(call: String) -> Logger { with("call", call) }

    /// - Parameter route: a device, as in `btcall status`, or `none`.
    package func about(route: String) -> Logger { with("route", route) }

    private func with(_ key: String, _ value: String) -> Logger {
        var logger = self
        logger[metadataKey: key] = "\(value)"
        return logger
    }
}
