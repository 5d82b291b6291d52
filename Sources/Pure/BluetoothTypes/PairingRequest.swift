/// What bluetoothd wants to know of a device.
package enum PairingRequest: Equatable, Sendable {
    /// The PIN of a device without Secure Simple Pairing.
    case pin
    /// Six digits that the device shows.
    case passkey
    /// Whether both sides show these six digits.
    case confirmation(UInt32)
    /// What somebody is to type at the device.
    case display(String)
    /// Whether it may pair at all.
    case authorization
    /// Whether a paired device that is not trusted may use a service.
    case service(ServiceUUID)
}

/// What it is told.
package enum PairingAnswer: Equatable, Sendable {
    case accept
    /// To `pin`: 1 to 16 bytes. Accepts everything else.
    case pin(String)
    /// For the device it is `org.bluez.Error.Rejected`.
    case reject(reason: String)
}
