/// Progress of a pairing window (`Pairing1.State`).
package enum PairingState: String, Sendable, CaseIterable {
    case closed
    /// Waits for a device.
    case open
    /// A device is being paired, trusted and connected.
    case pairing
}

/// Result of a pairing window (`Pairing1.Finished`).
package enum PairingOutcome: String, Sendable, CaseIterable {
    /// A device is paired and trusted.
    case paired
    /// No device came, or none could be paired.
    case timedOut
    /// Somebody closed it.
    case cancelled
    /// It could not continue.
    case failed
}
