package import DBus

/// Why bluetoothd did not pair a device, search for devices or register the agent. All are expected; each text says what to
/// do.
package enum PairingError: BlueZError, Equatable, Sendable {
    case serviceAbsent
    case unknownDevice
    case adapterOff
    /// A bond exists already.
    case alreadyPaired
    /// The device or its PIN did not match, or one side refused.
    case refused
    case cancelled
    /// The pairing began, and did not end in time.
    case timedOut
    /// The device did not answer: off, out of range, or in a call with another machine.
    case unreachable
    /// Another request is in progress.
    case inProgress
    /// The bus does not let this process talk to bluetoothd.
    case notPermitted(BusError)
    case failed(BusError)

    package static let objectAbsent = PairingError.unknownDevice

    package static func own(_ error: BusError) -> PairingError? {
        switch error.blueZName {
        case "AlreadyExists": .alreadyPaired
        case "AuthenticationFailed", "AuthenticationRejected", "Rejected": .refused
        case "AuthenticationCanceled": .cancelled
        case "AuthenticationTimeout": .timedOut
        case "ConnectionAttemptFailed": .unreachable
        case "DoesNotExist": .unknownDevice
        case "InProgress": .inProgress
        case "NotReady": .adapterOff
        default: nil
        }
    }
}

extension PairingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serviceAbsent: Self.serviceAbsentText
        case .unknownDevice: "bluetoothd does not know this device any more: have it searched for again"
        case .adapterOff: Self.adapterOffText
        case .alreadyPaired: "it is paired already: `btcall headset forget ADDRESS` first to pair it again"
        case .refused: "the device refused, or wants another PIN (--pin): put it into pairing mode again"
        case .cancelled: "the pairing was given up"
        case .timedOut: "the pairing did not end in time: put the device into pairing mode again"
        case .unreachable: "the device does not answer: put it into pairing mode and bring it nearer"
        case .inProgress: "bluetoothd has another request for it under way: wait for the outcome"
        case .notPermitted(let error): Self.notPermittedText(error)
        case .failed(let error): "bluetoothd failed: \(error)"
        }
    }
}
