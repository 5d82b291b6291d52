import BlueZ
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop

/// Source of the reasons why radio links end; replaced in tests.
@ControlPlane
package protocol RadioLinkEnds: AnyObject {
    /// Called with the device and the controller's reason.
    var onEnd: (@ControlPlane (BluetoothAddress, UInt8) -> Void)? { get set }
    /// Watches exactly these controllers (`hci0`); returns the error of each controller that cannot be watched.
    func follow(_ controllers: [String]) -> [String: SystemError]
    func stop()
}

extension RadioLinkMonitor: RadioLinkEnds {}

extension DisconnectionReason {
    /// - Parameter code: a controller error code (Bluetooth Core, Vol 1 Part F §1.3).
    package init(controllerError code: UInt8) {
        self =
            switch code {
            // Supervision time-out, LMP response time-out.
            case 0x08, 0x22: .timeout
            // Ended by the user of the other side, for its lack of resources, or because it was switched off.
            case 0x13, 0x14, 0x15: .remote
            case 0x16: .local
            // Authentication failed, missing key, pairing not allowed, encryption refused.
            case 0x05, 0x06, 0x18, 0x25: .authentication
            default: .unknown
            }
    }
}
