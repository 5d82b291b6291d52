/// Reason for a change of route (docs/inside/Routing.md §3).
///
/// The reason belongs to the decision: it comes from the event that changed the target, and is kept until the requested path
/// is open.
package enum RouteChangeReason: String, Hashable, Sendable, CaseIterable {
    case newDeviceAvailable, oldDeviceUnavailable
    case userSelection, preferenceChanged, configurationChanged
    case linkSilent, linkLoss, headsetTransfer, activationFailed
    case callStarted, callEnded, callHeld
    /// The directions of a call's audio or video changed.
    case mediaChanged
    /// A local device stands in while a headset takes its time.
    case bridge
    /// The gap between two headsets, or between two modes of one.
    case switching
    case interruptionBegan, interruptionEnded
    case sessionActivated, sessionDeactivated
    case started, stopped

    /// Whether a change to a headset for this reason was not requested; only these count towards the switch limit.
    package var isAutomatic: Bool {
        switch self {
        case .newDeviceAvailable, .oldDeviceUnavailable, .linkSilent, .linkLoss, .activationFailed: true
        case .userSelection, .preferenceChanged, .configurationChanged, .headsetTransfer, .callStarted, .callEnded,
            .callHeld, .mediaChanged, .bridge, .switching, .interruptionBegan, .interruptionEnded, .sessionActivated,
            .sessionDeactivated, .started, .stopped:
            false
        }
    }
}
