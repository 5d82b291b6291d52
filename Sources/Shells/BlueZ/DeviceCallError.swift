package import DBus

/// Why bluetoothd did not carry out a request about a device (`org.bluez.Error.*` and the texts `br-connection-*`).
///
/// All are expected; each text says what to do.
package enum DeviceCallError: BlueZError, Equatable, Sendable {
    case serviceAbsent
    case unknownDevice
    case adapterOff
    /// It is connected already, or was not connected: the requested state exists.
    case alreadyDone
    /// Another request for this device is under way.
    case inProgress
    /// The device does not offer the profile, or its counterpart is not registered here.
    case profileUnavailable
    /// It did not answer: off, out of range, or asleep.
    case unreachable
    case refused
    /// The pairing was lost on one side.
    case notPaired
    case cancelled
    /// bluetoothd did not answer in time.
    case timedOut
    /// The bus does not let this process talk to bluetoothd.
    case notPermitted(BusError)
    case failed(BusError)

    package static let objectAbsent = DeviceCallError.unknownDevice

    package static func own(_ error: BusError) -> DeviceCallError? {
        byName(error.blueZName) ?? byText(error.message)
    }

    private static func byName(_ name: Substring?) -> DeviceCallError? {
        switch name {
        case "AlreadyConnected", "NotConnected": .alreadyDone
        case "InProgress": .inProgress
        case "NotReady": .adapterOff
        case "NotAvailable", "NotSupported", "InvalidArguments": .profileUnavailable
        case "DoesNotExist": .unknownDevice
        case "AuthenticationFailed", "AuthenticationRejected", "AuthenticationCanceled", "NotAuthorized": .notPaired
        default: nil
        }
    }

    /// BlueZ puts the reason of `org.bluez.Error.Failed` into the text; older versions use that of `strerror`.
    private static func byText(_ text: String) -> DeviceCallError? {
        switch text {
        case "br-connection-already-connected": .alreadyDone
        case "br-connection-busy", "Operation already in progress": .inProgress
        case "br-connection-adapter-not-powered": .adapterOff
        case "br-connection-profile-unavailable", "br-connection-not-supported", "Protocol not available":
            .profileUnavailable
        case "br-connection-page-timeout", "br-connection-timeout", "Host is down": .unreachable
        case "br-connection-refused", "br-connection-aborted-by-remote", "Connection refused": .refused
        case "br-connection-key-missing", "Permission denied": .notPaired
        case "br-connection-canceled", "br-connection-aborted-by-local": .cancelled
        default: nil
        }
    }
}

extension DeviceCallError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serviceAbsent: Self.serviceAbsentText
        case .unknownDevice: "bluetoothd does not know this device: pair it with `bluetoothctl pair ADDRESS`"
        case .adapterOff: Self.adapterOffText
        case .alreadyDone: "the device is in that state already"
        case .inProgress: "bluetoothd is connecting this device already: wait for the outcome"
        case .profileUnavailable:
            "the device does not offer the profile, or its counterpart is not registered here: see `bluetoothctl info`"
        case .unreachable: "the device does not answer: switch it on or bring it nearer"
        case .refused: "the device refused the connection: it may be busy with another machine"
        case .notPaired: "the pairing is not valid any more: remove the device here and there, then pair it again"
        case .cancelled: "the connection was given up"
        case .timedOut: "bluetoothd did not answer in time: see `journalctl -u bluetooth`"
        case .notPermitted(let error): Self.notPermittedText(error)
        case .failed(let error): "bluetoothd failed: \(error)"
        }
    }
}
