/// How far a pairing window is (`Pairing1.State`).
package enum PairingState: String, Sendable, CaseIterable {
    case closed
    /// It waits for a device.
    case open
    /// One is being paired, trusted and connected.
    case pairing
}

/// How a pairing window ended (`Pairing1.Finished`).
package enum PairingOutcome: String, Sendable, CaseIterable {
    /// A device is paired and trusted.
    case paired
    /// None came, or none could be paired.
    case timedOut
    /// Somebody closed it.
    case cancelled
    /// It could not go on.
    case failed
}
