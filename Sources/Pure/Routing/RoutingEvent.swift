package import BluetoothTypes

/// Everything that the policy can be told, as plain data: what is recorded is what is replayed.
package enum RoutingEvent: Hashable, Sendable {
    // What a client asks.
    case start
    case stop
    case setPreferred(AudioDevice)
    case setDefault(AudioDevice)
    case select(AudioDevice)
    case clearSelection
    case mute(Bool)
    case refresh
    /// Replaces the whole configuration, at start or at run time. Indirect: it is ten times as large as any other event.
    indirect case configure(RoutingConfiguration)
    case sessionActivated
    case sessionDeactivated

    // Calls; an identifier of no known call is ignored.
    /// - Parameters:
    ///   - routes: the device kinds that the call supports; nil is all.
    ///   - audio: one that sends nothing needs no microphone.
    case callOutgoing(call: String, video: Bool, routes: [DeviceKind]?, audio: MediaDirection = .sendReceive)
    case callIncoming(call: String, video: Bool, routes: [DeviceKind]?, audio: MediaDirection = .sendReceive)
    /// Its media go other ways from now on, whatever state it is in.
    case callMedia(call: String, audio: MediaDirection, video: MediaDirection)
    /// The person's side of a call is let through or not; like `mute`, this changes no path.
    case callLocalMedia(call: String, audio: Bool, video: Bool)
    case callAnswered(call: String, via: AnsweredVia?)
    case callHeld(call: String)
    case callResumed(call: String)
    case callEnded(call: String)

    // Headsets.
    /// What is known of a headset before it connects; without this it is a `headset` with in-band ring.
    case headsetDescribed(BluetoothAddress, category: ClassOfDevice.Category, inbandRing: Bool)
    /// Whether the headset lets calls come to it that its wearer did not send there; true when it never said.
    case headsetWish(BluetoothAddress, takesCalls: Bool)
    case headsetConnected(BluetoothAddress, profiles: [LinkMode])
    case headsetDisconnected(BluetoothAddress)
    /// The headset is not paired any more: it disconnects and is then unknown.
    case headsetForgotten(BluetoothAddress)
    case headsetProfile(BluetoothAddress, LinkMode, isUp: Bool)
    case adapterPowered(Bool)

    // Links. After a headset or adapter went away its link is closed without a further report.
    /// The link that was asked for is open.
    case linkOpened(BluetoothAddress)
    /// The link that was asked for could not be opened, and is closed.
    case linkFailed(BluetoothAddress, LinkFailure)
    case linkClosed(BluetoothAddress, LinkCloseReason)
    /// The headset itself opened its link.
    /// - Parameter mode: nil is the mode that the headset would be used in.
    case linkOpenedByHeadset(BluetoothAddress, mode: LinkMode?)
    /// The silent limit has passed without a packet on the open link.
    case linkSilent(BluetoothAddress)
    case linkResumed(BluetoothAddress)
    case codecChanged(BluetoothAddress, VoiceCodec)

    // The board.
    /// A raw edge, before debouncing.
    case jackPlugged(microphone: Bool)
    case jackUnplugged
    /// A transducer is gone, or its path could not be opened.
    case localLost(LocalDevice)
    case localFound(LocalDevice)
    case handsetOffHook
    case handsetOnHook
    case interruptionBegan(source: String)
    case interruptionEnded(resume: Bool)

    /// The instant of the last `.setDeadline` has come.
    case deadlineReached
}

extension RoutingEvent {
    /// Whether it says that a link opened, did not open, or closed.
    var isLinkReport: Bool {
        switch self {
        case .linkOpened, .linkFailed, .linkClosed: true
        default: false
        }
    }
}

/// How a person answered.
package enum AnsweredVia: Hashable, Sendable {
    case headset(BluetoothAddress)
    case handset
}

/// Why a link that was asked for did not open.
package enum LinkFailure: String, Hashable, Sendable, CaseIterable {
    case refused, timedOut, failed
    /// The controller cannot carry a wideband codec (`EOPNOTSUPP`); CVSD is tried at once, and from then on.
    case unsupportedCodec
}

/// Why an open link closed.
package enum LinkCloseReason: String, Hashable, Sendable, CaseIterable {
    /// As asked by `.closeLink`.
    case requested
    /// By the headset or its user.
    case remote
    case linkLoss
}

/// What is plugged into the jack.
package enum JackState: String, Hashable, Sendable {
    case empty
    /// With microphone.
    case headset
    /// Without microphone: the board's is used.
    case headphones
}
