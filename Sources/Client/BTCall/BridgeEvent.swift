/// Something that happened in the bridge.
public enum BridgeEvent: Hashable, Sendable {
    /// btcalld came to the bus, or was there when the stream began.
    case daemonAppeared
    /// btcalld left the bus, or was not there when the stream began; what was known about it is void.
    case daemonVanished
    case routeChanged(old: DeviceChoice, new: DeviceChoice, reason: String)
    /// All attempts to open this device's link failed.
    case activationFailed(device: DeviceChoice)
    /// Comes before any change of the call's state. A stream begins with the calls that are up, as if they were added then.
    case callAdded(Call)
    /// Once for each incoming call, after ``callAdded(_:)``; of those that are up when a stream begins, for the ringing ones.
    case incomingCall(Call)
    /// What the camera of a video call gives.
    case cameraSettingsChanged(Call.ID, CameraSettings)
    case callStateChanged(Call.ID, Call.State, reason: String?)
    /// The figure 0…100 of the last seconds; nil before the call has audio.
    case callQualityChanged(Call.ID, Int?)
    /// Comes after the state `ended`.
    case callRemoved(Call.ID, reason: String?)
    case mutedChanged(Bool)
    /// Incoming calls are refused from here on, or no more.
    case doNotDisturbChanged(Bool)
    /// Somebody speaks into the muted microphone (``BridgeAudio/MuteMode/voiceProcessing``); at most one in 5 s.
    case speakingWhileMuted
    /// Whether programs have a copy of the call.
    case callRecordedChanged(Call.ID, Bool)
    /// A program wanted to record the call, and may not.
    /// - client: its unique name on the bus.
    case recordingDenied(Call.ID, client: String)
    /// A program asks to record the call: ``BridgeAudio/allowRecording(of:_:)`` answers it.
    case recordingRequested(Call.ID, client: String)
    /// The application that owns the call wants its media to go these ways: ``Calls/answerMediaChange(of:_:)`` answers it.
    case mediaChangeRequested(Call.ID, CallMedia)
    /// - address: the headset's.
    case buttonPressed(address: String, button: String)
    case devicesChanged([AudioDevice])
    case problemsChanged([BridgeProblem])
    case stateChanged(BridgeStatus.State)
    /// A property of the audio device manager: `started` (`true` or `false`); `preferred`, `default`, `selected`, `pending`
    /// (device words); `mode`, `codec` (nil without a link); `interruptions` (words with commas between, nil for none).
    /// Of the session: `sessionManual`, `sessionActive`. Of what is done to the microphone: `voiceProcessing`,
    /// `voiceProcessingBypassed`, `voiceProcessor`, `echoCancellation`, `noiseSuppression`, `automaticGain`, `highPass`.
    case settingChanged(name: String, value: String?)
}
