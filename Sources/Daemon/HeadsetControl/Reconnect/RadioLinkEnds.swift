import BlueZ
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop

/// Who says why radio links end; a test says it itself.
@ControlPlane
package protocol RadioLinkEnds: AnyObject {
    /// Of a device, with the reason as the controller says it.
    var onEnd: (@ControlPlane (BluetoothAddress, UInt8) -> Void)? { get set }
    /// Watches these controllers (`hci0`) and no others; returns what keeps which from being watched.
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
            // The user of the other side, its resources, its being switched off.
            case 0x13, 0x14, 0x15: .remote
            case 0x16: .local
            // Authentication, a key that is missing, pairing that is not allowed, encryption that was refused.
            case 0x05, 0x06, 0x18, 0x25: .authentication
            default: .unknown
            }
    }
}
