/// The names of the D-Bus interface that btcalld exports, as the interface files in `dbus/` have them.
///
/// A name is written here once; the daemon, the client library and the command line take it from here, and a test
/// compares it with the XML.
package enum BTCallName {
    /// The well-known name that the daemon owns.
    package static let bus = "org.btcall"

    package enum Interface {
        /// What the names of all of them begin with.
        package static let prefix = "org.btcall."
        package static let manager = "org.btcall.Manager1"
        package static let router = "org.btcall.Router1"
        package static let audio = "org.btcall.Audio1"
        package static let session = "org.btcall.Session1"
        package static let calls = "org.btcall.Calls1"
        package static let call = "org.btcall.Call1"
        package static let callProvider = "org.btcall.CallProvider1"
        package static let headset = "org.btcall.Headset1"
        package static let pairing = "org.btcall.Pairing1"
        package static let contactResolver = "org.btcall.ContactResolver1"
        package static let audioConfigurator = "org.btcall.AudioConfigurator1"
    }

    package enum AudioConfigurator {
        package static let configure = "Configure"
    }

    package enum ContactResolver {
        package static let resolve = "Resolve"
        package static let resolveContact = "ResolveContact"
    }

    package enum Manager {
        package static let activate = "Activate"
        package static let deactivate = "Deactivate"
        package static let version = "Version"
        package static let state = "State"
        package static let problems = "Problems"
        package static let boardBattery = "BoardBattery"
        package static let listSettings = "ListSettings"
        package static let setSetting = "SetSetting"
        package static let resetSetting = "ResetSetting"
        package static let listQuirks = "ListQuirks"
        package static let explainQuirks = "ExplainQuirks"
        package static let forgetCodecs = "ForgetCodecs"
        package static let subscribeLog = "SubscribeLog"
        package static let configuration = "Configuration"
        package static let logout = "Logout"
        package static let metrics = "Metrics"
    }

    package enum Pairing {
        package static let open = "Open"
        package static let close = "Close"
        package static let scan = "Scan"
        package static let trust = "Trust"
        package static let forget = "Forget"
        package static let state = "State"
        package static let secondsLeft = "SecondsLeft"
        package static let deviceFound = "DeviceFound"
        package static let finished = "Finished"
    }

    package enum Router {
        package static let start = "Start"
        package static let stop = "Stop"
        package static let select = "Select"
        package static let clearSelection = "ClearSelection"
        package static let refresh = "Refresh"
        package static let acquireSelection = "AcquireSelection"
        package static let interrupt = "Interrupt"
        package static let explain = "Explain"
        package static let incident = "Incident"
        package static let routeChanged = "RouteChanged"
        package static let activationFailed = "ActivationFailed"
        package static let started = "Started"
        package static let preferred = "Preferred"
        package static let defaultDevice = "Default"
        package static let selected = "Selected"
        package static let activeRoute = "ActiveRoute"
        package static let pending = "Pending"
        package static let mode = "Mode"
        package static let codec = "Codec"
        package static let reason = "Reason"
        package static let devices = "Devices"
        package static let interruptions = "Interruptions"
    }

    package enum Session {
        package static let activate = "Activate"
        package static let deactivate = "Deactivate"
        package static let manual = "Manual"
        package static let active = "Active"
        package static let opened = "Opened"
        package static let registerConfigurator = "RegisterConfigurator"
        package static let unregisterConfigurator = "UnregisterConfigurator"
    }

    package enum Audio {
        package static let statistics = "Statistics"
        package static let levels = "Levels"
        package static let openInjection = "OpenInjection"
        package static let openPlayback = "OpenPlayback"
        package static let micVolume = "MicVolume"
        package static let appVolume = "AppVolume"
        package static let muteMode = "MuteMode"
        package static let voiceProcessing = "VoiceProcessing"
        package static let voiceProcessingBypassed = "VoiceProcessingBypassed"
        package static let voiceProcessor = "VoiceProcessor"
        package static let echoCancellation = "EchoCancellation"
        package static let noiseSuppression = "NoiseSuppression"
        package static let automaticGain = "AutomaticGain"
        package static let highPass = "HighPass"
        package static let speakingWhileMuted = "SpeakingWhileMuted"
        package static let microphoneEnabled = "MicrophoneEnabled"
        package static let recordingAlwaysPrepared = "RecordingAlwaysPrepared"
        package static let prepared = "Prepared"
        package static let allowMicrophone = "AllowMicrophone"
        package static let microphoneAccess = "MicrophoneAccess"
        package static let microphoneInUse = "MicrophoneInUse"
        package static let privacyOutput = "PrivacyOutput"
        package static let automaticConfiguration = "AutomaticConfiguration"
        package static let openManual = "OpenManual"
        package static let openTap = "OpenTap"
        package static let allowRecording = "AllowRecording"
        package static let recordingDenied = "RecordingDenied"
        package static let recordingRequested = "RecordingRequested"
    }

    package enum Calls {
        package static let registerProvider = "RegisterProvider"
        package static let unregisterProvider = "UnregisterProvider"
        package static let reportIncoming = "ReportIncoming"
        package static let reportOutgoing = "ReportOutgoing"
        package static let place = "Place"
        package static let callAdded = "CallAdded"
        package static let callRemoved = "CallRemoved"
        package static let calls = "Calls"
        package static let swap = "Swap"
        package static let conference = "Conference"
        package static let muted = "Muted"
        package static let doNotDisturb = "DoNotDisturb"
        package static let log = "Log"
        package static let registerContactResolver = "RegisterContactResolver"
        package static let unregisterContactResolver = "UnregisterContactResolver"
        package static let incomingCall = "IncomingCall"
        package static let cameraSettingsChanged = "CameraSettingsChanged"
    }

    package enum Call {
        package static let answer = "Answer"
        package static let end = "End"
        package static let setHeld = "SetHeld"
        package static let sendDTMF = "SendDTMF"
        package static let update = "Update"
        package static let stateChanged = "StateChanged"
        package static let id = "Id"
        package static let state = "State"
        package static let direction = "Direction"
        package static let number = "Number"
        package static let name = "Name"
        package static let provider = "Provider"
        package static let index = "Index"
        package static let startedAt = "StartedAt"
        package static let ssrcs = "SSRCs"
        package static let link = "Link"
        package static let quality = "Quality"
        package static let qualityParts = "QualityParts"
        package static let qualityTotal = "QualityTotal"
        package static let audioProblem = "AudioProblem"
        package static let recording = "Recording"
        package static let handle = "Handle"
        package static let remoteAddress = "RemoteAddress"
        package static let hasVideo = "HasVideo"
        package static let reportCamera = "ReportCamera"
        package static let capabilities = "Capabilities"
        package static let muted = "Muted"
        package static let audio = "Audio"
        package static let video = "Video"
        package static let localAudioEnabled = "LocalAudioEnabled"
        package static let localVideoEnabled = "LocalVideoEnabled"
        package static let setMedia = "SetMedia"
        package static let requestMediaChange = "RequestMediaChange"
        package static let answerMediaChange = "AnswerMediaChange"
        package static let mediaChangeRequested = "MediaChangeRequested"
        package static let contact = "Contact"
    }

    package enum CallProvider {
        package static let performStart = "PerformStart"
        package static let performAnswer = "PerformAnswer"
        package static let performEnd = "PerformEnd"
        package static let performSetHeld = "PerformSetHeld"
        package static let performDTMF = "PerformDTMF"
        package static let performSetMuted = "PerformSetMuted"
        package static let performSwap = "PerformSwap"
        package static let performConference = "PerformConference"
        package static let performMediaChange = "PerformMediaChange"
        package static let audioReady = "AudioReady"
        package static let released = "Released"
    }

    package enum Headset {
        package static let connect = "Connect"
        package static let disconnect = "Disconnect"
        package static let buttonPressed = "ButtonPressed"
        package static let address = "Address"
        package static let name = "Name"
        package static let connected = "Connected"
        package static let codec = "Codec"
        package static let codecs = "Codecs"
        package static let codecReason = "CodecReason"
        package static let audioPolicy = "AudioPolicy"
        package static let battery = "Battery"
        package static let speakerVolume = "SpeakerVolume"
        package static let microphoneVolume = "MicrophoneVolume"
        package static let mediaVolume = "MediaVolume"
        package static let mediaCodec = "MediaCodec"
        package static let mediaState = "MediaState"
    }
}
