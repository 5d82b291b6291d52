/// Something that happened in the bridge.
public enum BridgeEvent: Hashable, Sendable {
    /// btcalld appeared on the bus, or was present when the stream began.
    case daemonAppeared
    /// btcalld left the bus, or was absent when the stream began; everything known about it is void.
    case daemonVanished
    case routeChanged(old: DeviceChoice, new: DeviceChoice, reason: String)
    /// All attempts to open this device's link failed.
    case activationFailed(device: DeviceChoice)
    /// Precedes any change of the call's state. A stream begins with the present calls as if they had just been added.
    case callAdded(Call)
    /// Sent once for each incoming call, after ``callAdded(_:)``; at the beginning of a stream, for calls that ring then.
    case incomingCall(Call)
    /// The camera settings of a video call changed. A stream begins with those of the present calls that have any.
    case cameraSettingsChanged(Call.ID, CameraSettings)
    case callStateChanged(Call.ID, Call.State, reason: String?)
    /// The progress of the call in one value changed; follows the state. A `mediaPending` shorter than 0.1 s is left out.
    /// - reason: the raw value of a ``Call/EndReason`` with an outcome, otherwise nil.
    case callStatusChanged(Call.ID, CallStatus, reason: String?)
    /// Quality of the last seconds, 0…100; nil before the call has audio.
    case callQualityChanged(Call.ID, Int?)
    /// Follows the state `ended`.
    case callRemoved(Call.ID, reason: String?)
    case mutedChanged(Bool)
    /// Incoming calls are refused from now on, or no longer.
    case doNotDisturbChanged(Bool)
    /// Somebody speaks into the muted microphone (``BridgeAudio/MuteMode/voiceProcessing``); at most one in 5 s.
    case speakingWhileMuted
    /// The talk keys opened or closed the microphone for the call, or tried.
    /// - holder: the key, for people: `headset AA:BB:CC:DD:EE:FF`; nil without one.
    case callTalkChanged(Call.ID, TalkState, holder: String?)
    /// Whether a program has a copy of the call.
    case callRecordedChanged(Call.ID, Bool)
    /// A program asked to record the call and was refused.
    /// - client: the program's unique name on the bus.
    case recordingDenied(Call.ID, client: String)
    /// A program asks to record the call. Answer with ``BridgeAudio/allowRecording(of:_:)``. A stream begins with the open
    /// questions of the present calls, and so with those about media.
    case recordingRequested(Call.ID, client: String)
    /// The application that owns the call asks for these media directions. Answer with ``Calls/answerMediaChange(of:_:)``.
    case mediaChangeRequested(Call.ID, CallMedia)
    /// - address: the headset's.
    case buttonPressed(address: String, button: String)
    /// The headset sent a message of its maker (``AudioDevice`` has what btcalld understands).
    /// - event: a word such as `DON`.
    /// - values: its parameters, at most eight.
    case headsetEvent(address: String, event: String, values: [String])
    /// A headset's own state changed.
    /// - name: `microphoneMuted` (`true` or `false`), `powerSource` (`battery` or `external`), `enhancedSafety` (`on` or
    ///   `off`) or `talk` (`pressed` or `released`).
    /// - value: nil when the headset does not report it any more.
    case headsetChanged(address: String, name: String, value: String?)
    case devicesChanged([AudioDevice])
    case problemsChanged([BridgeProblem])
    case stateChanged(BridgeStatus.State)
    /// A property changed. Of the audio device manager: `started` (`true` or `false`); `preferred`, `default`, `selected`,
    /// `pending` (device words); `mode`, `codec` (nil without a link); `interruptions` (words separated by commas, nil when
    /// there are none). Of the session: `sessionManual`, `sessionActive`. Of voice processing: `voiceProcessing`,
    /// `voiceProcessingBypassed`, `voiceProcessor`, `echoCancellation`, `noiseSuppression`, `automaticGain`, `highPass`.
    case settingChanged(name: String, value: String?)
}

extension Call {
    /// The questions about the call that wait for an answer, as events.
    var openQuestions: [BridgeEvent] {
        [
            requestedMedia.map { .mediaChangeRequested(id, $0) },
            recordingRequestedBy.map { .recordingRequested(id, client: $0) },
        ].compactMap { $0 }
    }
}
