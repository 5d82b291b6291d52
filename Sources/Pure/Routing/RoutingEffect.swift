package import BluetoothTypes

/// What the shell has to do, in order; completions come back as events.
package enum RoutingEffect: Hashable, Sendable {
    /// Carry the call's audio here, cutting over from the path that is closed next, if one is.
    case openPath(Route)
    case closePath(Route)
    /// Set the hardware of the active path again: input, gain, jack. No route change.
    case refreshPath(Route)
    /// - Parameters:
    ///   - codecHint: the rung of the codec ladder to start from; nil is the best that was negotiated.
    ///   - attempt: counted from 1 since the last link that lived.
    case openLink(BluetoothAddress, LinkMode, codecHint: VoiceCodec?, attempt: Int)
    /// Close the link, or cancel its set-up; `.linkClosed` (or `.linkFailed`) is awaited.
    case closeLink(BluetoothAddress)
    /// Ring like this from now on; replaces an earlier one.
    case startRinging(Ringing)
    case stopRinging
    /// Hand the media profile back to the headset's music player.
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

/// How an incoming call is announced.
package struct Ringing: Hashable, Sendable {
    package enum HeadsetRing: String, Hashable, Sendable {
        case none
        /// RING and +CLIP only.
        case indication
        /// The ring tone goes through the headset's link.
        case inband
    }

    /// Whether the board's own ringer is on.
    package var local: Bool
    package var headset: HeadsetRing

    package init(local: Bool, headset: HeadsetRing) {
        self.local = local
        self.headset = headset
    }

    package static let none = Ringing(local: false, headset: .none)
}

/// What a client is told when a wish cannot be honoured.
package enum RoutingError: String, Error, Hashable, Sendable {
    /// Expected before `start` and after `stop`: start first.
    case notStarted
    /// Expected: the device is not there, or a foreground call does not support it.
    case unavailable
    /// Expected: the headset refused every attempt; it is tried again after a pause.
    case activationFailed
}
