package import DBus

/// Why bluetoothd did not pair a device, look for devices or take the agent. All are expected; each text says what to do.
package enum PairingError: Error, Equatable, Sendable {
    case serviceAbsent
    case unknownDevice
    case adapterOff
    /// There is a bond already.
    case alreadyPaired
    /// The device, or its PIN, did not fit, or one side said no.
    case refused
    case cancelled
    /// It began, and did not end in time.
    case timedOut
    /// It did not answer: off, out of range, or in a call with another machine.
    case unreachable
    /// Another request is under way.
    case inProgress
    /// The bus does not let this process talk to bluetoothd.
    case notPermitted(BusError)
    case failed(BusError)

    package init(_ error: BusError) {
        if let known = Self.byName(error.name) {
            self = known
        } else {
            self = error.hasName(BusError.Name.accessDenied) ? .notPermitted(error) : .failed(error)
        }
    }

    private static func byName(_ name: String) -> PairingError? {
        switch name {
        case BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner, BusError.Name.disconnected:
            return .serviceAbsent
        case BusError.Name.unknownObject, BusError.Name.unknownMethod: return .unknownDevice
        case BusError.Name.noReply: return .timedOut
        case BusError.Name.cancelled: return .cancelled
        default: break
        }
        guard name.hasPrefix(BlueZNames.errorPrefix) else { return nil }
        switch name.dropFirst(BlueZNames.errorPrefix.count) {
        case "AlreadyExists": return .alreadyPaired
        case "AuthenticationFailed", "AuthenticationRejected", "Rejected": return .refused
        case "AuthenticationCanceled": return .cancelled
        case "AuthenticationTimeout": return .timedOut
        case "ConnectionAttemptFailed": return .unreachable
        case "DoesNotExist": return .unknownDevice
        case "InProgress": return .inProgress
        case "NotReady": return .adapterOff
        default: return nil
        }
    }
}

extension PairingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serviceAbsent: "bluetoothd is not running: start it with `systemctl start bluetooth`"
        case .unknownDevice: "bluetoothd does not know this device any more: have it searched for again"
        case .adapterOff: "the Bluetooth adapter is off: switch it on with `bluetoothctl power on`"
        case .alreadyPaired: "it is paired already: `btcall forget ADDRESS` first to pair it anew"
        case .refused: "the device refused, or wants another PIN (--pin): put it into pairing mode again"
        case .cancelled: "the pairing was given up"
        case .timedOut: "the pairing did not end in time: put the device into pairing mode again"
        case .unreachable: "the device does not answer: put it into pairing mode and bring it nearer"
        case .inProgress: "bluetoothd has another request for it under way: wait for the outcome"
        case .notPermitted(let error):
            """
            the bus does not let this user talk to bluetoothd: add it to the group `bluetooth`, or install the policy \
            file of btcall (\(error))
            """
        case .failed(let error): "bluetoothd failed: \(error)"
        }
    }
}
