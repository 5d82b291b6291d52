/// Why a connection from bluetoothd is refused; thrown by `ProfileRegistration.onConnection`. Expected: bluetoothd receives
/// `org.bluez.Error.Rejected` and closes the connection.
package struct ConnectionRefusal: Error, Equatable, Sendable {
    /// Text for the log, after "refused: ".
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}
