/// bluetoothd's question about a device.
package enum PairingRequest: Equatable, Sendable {
    /// The PIN of a device without Secure Simple Pairing.
    case pin
    /// Six digits that the device shows.
    case passkey
    /// Whether both sides show these six digits.
    case confirmation(UInt32)
    /// Digits to type at the device.
    case display(String)
    /// Whether it may pair at all.
    case authorization
    /// Whether a paired but untrusted device may use a service.
    case service(ServiceUUID)
}

/// Answer to bluetoothd.
package enum PairingAnswer: Equatable, Sendable {
    case accept
    /// To `pin`: 1 to 16 bytes. Accepts all other requests.
    case pin(String)
    /// The device receives `org.bluez.Error.Rejected`.
    case reject(reason: String)
}
