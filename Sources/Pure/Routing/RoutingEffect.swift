package import BluetoothTypes

/// Action for the shell, in order; completions come back as events.
package enum RoutingEffect: Hashable, Sendable {
    /// Carry the call's audio here, switching over from the path that is closed next, if any.
    case openPath(Route)
    case closePath(Route)
    /// Reapply the hardware settings of the active path: input, gain, jack. No route change.
    case refreshPath(Route)
    /// - Parameters:
    ///   - codecHint: rung of the codec ladder to start from; nil for the best negotiated one.
    ///   - attempt: counted from 1 since the last link that lasted.
    case openLink(BluetoothAddress, LinkMode, codecHint: VoiceCodec?, attempt: Int)
    /// Close the link, or cancel its set-up; `.linkClosed` (or `.linkFailed`) is expected.
    case closeLink(BluetoothAddress)
    /// Ring like this from now on; replaces an earlier announcement.
    case startRinging(Ringing)
    case stopRinging
    /// Return the media profile to the headset's music player.
    case restoreMedia(BluetoothAddress)
    /// The one instant at which `.deadlineReached` is due; replaces an earlier one, nil cancels it.
    case setDeadline(Instant?)
    case routeChanged(old: Route?, new: Route?, RouteChangeReason)
    case devicesChanged
    /// All attempts to reach this headset failed.
    case activationFailed(BluetoothAddress)
    /// `.select` was refused and changed nothing.
    case selectionRefused(AudioDevice, RoutingError)
}

/// Announcement of an incoming call.
package struct Ringing: Hashable, Sendable {
    package enum HeadsetRing: String, Hashable, Sendable {
        case none
        /// RING and +CLIP only.
        case indication
        /// The ring tone is sent through the headset's link.
        case inband
    }

    /// The board's own ringer is on.
    package var local: Bool
    package var headset: HeadsetRing

    package init(local: Bool, headset: HeadsetRing) {
        self.local = local
        self.headset = headset
    }

    package static let none = Ringing(local: false, headset: .none)
}

/// Reason for refusing a client's request.
package enum RoutingError: String, Error, Hashable, Sendable {
    /// Expected before `start` and after `stop`: start first.
    case notStarted
    /// Expected: the device is not present, or a foreground call does not support it.
    case unavailable
    /// Expected: the headset refused every attempt; btcalld retries after a pause.
    case activationFailed
}
