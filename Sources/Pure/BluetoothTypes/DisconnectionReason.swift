/// Reason for the end of a device's radio link, if BlueZ reports it (the signal `Disconnected`, BlueZ 5.82 and later).
package enum DisconnectionReason: String, Equatable, Sendable {
    case unknown
    /// The supervision time-out: out of range, or a flat battery.
    case timeout
    /// This machine ended it.
    case local
    /// The device ended it: switched off, put into its case, disconnected by its owner.
    case remote
    case authentication
    /// This machine was about to sleep.
    case suspend
}
