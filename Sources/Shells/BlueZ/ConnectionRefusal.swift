/// Why a connection that bluetoothd hands over is not taken; thrown by `ProfileRegistration.onConnection`. Expected:
/// bluetoothd is answered `org.bluez.Error.Rejected` and closes the connection.
package struct ConnectionRefusal: Error, Equatable, Sendable {
    /// For the log, what follows "refused: ".
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}
