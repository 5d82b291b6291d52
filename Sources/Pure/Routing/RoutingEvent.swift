package import BluetoothTypes

/// All inputs of the policy as plain data: recorded and replayed in the same form.
package enum RoutingEvent: Hashable, Sendable {
    // Requests of clients.
    case start
    case stop
    case setPreferred(AudioDevice)
    case setDefault(AudioDevice)
    case select(AudioDevice)
    case clearSelection
    case mute(Bool)
    case refresh
    /// Replaces the whole configuration, at start or at run time. Indirect, because it is ten times as large as any other
    /// event.
    indirect case configure(RoutingConfiguration)
    case sessionActivated
    case sessionDeactivated

    // Calls; an unknown identifier is ignored.
    /// - Parameters:
    ///   - routes: device kinds that the call supports; nil for all.
    ///   - audio: a call that sends nothing needs no microphone.
    case callOutgoing(call: String, video: Bool, routes: [DeviceKind]?, audio: MediaDirection = .sendReceive)
    case callIncoming(call: String, video: Bool, routes: [DeviceKind]?, audio: MediaDirection = .sendReceive)
    /// The directions of its media changed, whatever state it is in.
    case callMedia(call: String, audio: MediaDirection, video: MediaDirection)
    /// The device kinds that the call supports changed; nil for all.
    case callRoutes(call: String, routes: [DeviceKind]?)
    /// The user's side of a call is let through or muted; like `mute`, this changes no path.
    case callLocalMedia(call: String, audio: Bool, video: Bool)
    /// A talk key lets the user's side of a call through, or no longer; this changes no path.
    case callTalking(call: String, isTalking: Bool)
    case callAnswered(call: String, via: AnsweredVia?)
    case callHeld(call: String)
    case callResumed(call: String)
    case callEnded(call: String)

    // Headsets.
    /// Facts about a headset before it connects; without this it is a `headset` with in-band ring.
    case headsetDescribed(BluetoothAddress, category: ClassOfDevice.Category, inbandRing: Bool)
    /// Whether the headset accepts calls that its wearer did not send there; true by default.
    case headsetPreference(BluetoothAddress, takesCalls: Bool)
    /// Whether the headset has no link, because its link is open only while somebody talks; false by default, and when the
    /// headset opens its link.
    case headsetResting(BluetoothAddress, isResting: Bool)
    case headsetConnected(BluetoothAddress, profiles: [LinkMode])
    case headsetDisconnected(BluetoothAddress)
    /// The headset is no longer paired: it disconnects and is then unknown.
    case headsetForgotten(BluetoothAddress)
    case headsetProfile(BluetoothAddress, LinkMode, isUp: Bool)
    case adapterPowered(Bool)

    // Links. When a headset or adapter disappears, its link closes without a further report.
    /// The requested link is open.
    case linkOpened(BluetoothAddress)
    /// The requested link could not be opened, and is closed.
    case linkFailed(BluetoothAddress, LinkFailure)
    case linkClosed(BluetoothAddress, LinkCloseReason)
    /// The headset opened its link.
    /// - Parameter mode: nil for the mode in which the headset would be used.
    case linkOpenedByHeadset(BluetoothAddress, mode: LinkMode?)
    /// The silent limit has passed without a packet on the open link.
    case linkSilent(BluetoothAddress)
    case linkResumed(BluetoothAddress)
    case codecChanged(BluetoothAddress, VoiceCodec)

    // The board.
    /// A raw edge, before debouncing.
    case jackPlugged(microphone: Bool)
    case jackUnplugged
    /// A transducer disappeared, or its path could not be opened.
    case localLost(LocalDevice)
    case localFound(LocalDevice)
    case handsetOffHook
    case handsetOnHook
    case interruptionBegan(source: String)
    case interruptionEnded(resume: Bool)

    /// The instant of the last `.setDeadline` has been reached.
    case deadlineReached
}

extension RoutingEvent {
    /// Whether it reports that a link opened, did not open, or closed.
    var isLinkReport: Bool {
        switch self {
        case .linkOpened, .linkFailed, .linkClosed: true
        default: false
        }
    }
}

/// How the user answered.
package enum AnsweredVia: Hashable, Sendable {
    case headset(BluetoothAddress)
    case handset
}

/// Reason why a requested link did not open.
package enum LinkFailure: String, Hashable, Sendable, CaseIterable {
    case refused, timedOut, failed
    /// Another program has the headset's voice link.
    case busy
    /// The controller cannot carry a wideband codec (`EOPNOTSUPP`); CVSD is tried at once, and used from then on.
    case unsupportedCodec
}

/// Reason why an open link closed.
package enum LinkCloseReason: String, Hashable, Sendable, CaseIterable {
    /// Requested by `.closeLink`.
    case requested
    /// By the headset or its user.
    case remote
    case linkLoss
}

/// Content of the jack.
package enum JackState: String, Hashable, Sendable {
    case empty
    /// With microphone.
    case headset
    /// Without microphone: the board's is used.
    case headphones
}
