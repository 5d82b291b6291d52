package import AudioPaths
import BTCallAPI
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import HeadsetControl

/// `org.btcall.Audio1` at `/org/btcall/audio`: programs' audio, the microphone, voice processing and counters.
@ControlPlane
package final class AudioObject {
    let graph: AudioGraph
    let audio: CallAudio
    let bus: BusConnection
    let voice: VoiceControl
    let settings: Settings
    let applications: ApplicationAudio
    let announcements: Announcements
    private let mute: MuteState
    let microphone: MicrophoneControl
    let manual: ManualRendering
    let taps: CallTaps
    let access: AudioAccess
    /// Called when a value that is kept over restarts has been set.
    private let onPreference: @ControlPlane () -> Void

    package init(
        bus: BusConnection, audio parts: AudioParts, calls: CallParts, mixer: PCMMixer, settings: Settings,
        onPreference: @escaping @ControlPlane () -> Void
    ) {
        self.bus = bus
        self.settings = settings
        self.onPreference = onPreference
        manual = parts.manual
        taps = calls.taps
        access = calls.access
        graph = parts.graph
        audio = calls.audio
        applications = parts.applications
        announcements = parts.sounds.announcements
        mute = parts.mute
        voice = parts.voice
        microphone = parts.microphone
        bus.export([interface], at: BTCallPath.audio)
        voice.changes.subscribe(self) { $0.changed($1) }
        microphone.changes.subscribe(self) { $0.changed($1) }
        mixer.microphoneTurns.subscribe(self) { $0.changed(BTCallName.Audio.micVolume) }
        access.manualChanges.subscribe(self) { $0.changed(BTCallName.Audio.manualRendering) }
        graph.events.subscribe(self) { object, event in
            if case .speakingWhileMuted = event { object.emit(BTCallName.Audio.speakingWhileMuted) }
        }
        taps.events.subscribe(self) { object, event in
            switch event {
            case .denied(let call, let busName):
                object.emitRecording(BTCallName.Audio.recordingDenied, call, busName)
            case .requested(let call, let busName):
                object.emitRecording(BTCallName.Audio.recordingRequested, call, busName)
            case .changed: break
            }
        }
    }

    private var interface: ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.audio, methods: methods, signals: signals,
            properties: voiceProperties + volumeProperties + microphoneProperties)
    }

    private var methods: [ExportedInterface.Method] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.openInjection, in: [("options", "a{sv}")], out: [("audio", "h")], by: openInjection),
            .init(Name.openPlayback, in: [("options", "a{sv}")], out: [("audio", "h")], by: openPlayback),
            .init(Name.allowMicrophone, in: [("allowed", "b")], by: allowMicrophone),
            .init(
                Name.openManual, in: [("options", "a{sv}")], out: [("uplink", "h"), ("downlink", "h")],
                by: openManual),
            .init(Name.acquireManual, in: [("options", "a{sv}")], out: [("handle", "h")], by: acquireManual),
            .init(Name.openTap, in: [("call", "o"), ("options", "a{sv}")], out: [("audio", "h")], by: openTap),
            .init(Name.allowRecording, in: [("call", "o"), ("allowed", "b")], by: allowRecording),
            .init(Name.levels, out: [("levels", "a{sv}")], isReading: true, by: levels),
        ]
    }

    private var signals: [ExportedInterface.SignalDescription] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.speakingWhileMuted, []),
            .init(Name.recordingDenied, [("call", "o"), ("client", "s")]),
            .init(Name.recordingRequested, [("call", "o"), ("client", "s")]),
        ]
    }

    private var voiceProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.voiceProcessing, "b", get: voiceProcessingValue, by: setVoiceProcessing),
            .init(Name.voiceProcessingBypassed, "b", get: bypassedValue, by: setBypassed),
            .init(Name.voiceProcessor, "s", get: voiceProcessorValue),
            setting(Name.echoCancellation, "audio.echoCancellation", \.takesEcho),
            setting(Name.noiseSuppression, "audio.noiseSuppression", \.takesNoise),
            setting(Name.automaticGain, "audio.automaticGain", \.adjustsGain),
            setting(Name.highPass, "audio.highPass", \.takesHum),
        ]
    }

    private var volumeProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.statistics, "a{sv}", changes: .silent, get: statisticsValue),
            .init(Name.micVolume, "d", get: microphoneVolumeValue, by: setMicrophoneVolume),
            .init(Name.appVolume, "d", get: applicationVolumeValue, by: setApplicationVolume),
            .init(Name.muteMode, "s", get: muteModeValue, by: setMuteMode),
            .init(Name.manualRendering, "b", get: manualRenderingValue),
        ]
    }

    private var microphoneProperties: [ExportedInterface.Property] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.microphoneEnabled, "b", get: microphoneEnabledValue, by: setMicrophoneEnabled),
            .init(Name.recordingAlwaysPrepared, "b", get: alwaysPreparedValue, by: setAlwaysPrepared),
            .init(Name.prepared, "b", get: preparedValue),
            .init(Name.microphoneAccess, "s", get: microphoneAccessValue),
            .init(Name.microphoneInUse, "b", get: microphoneInUseValue),
            .init(Name.privacyOutput, "s", get: privacyOutputValue),
            .init(Name.automaticConfiguration, "b", changes: .silent, get: automaticConfigurationValue),
        ]
    }

    // MARK: Volumes and mute

    private func microphoneVolumeValue() -> Value { .double(applications.microphoneVolume) }

    private func setMicrophoneVolume(_ value: Value) throws(APIError) {
        try applications.setMicrophoneVolume(value.doubleValue ?? -1)
        preferenceSet(BTCallName.Audio.micVolume)
    }

    private func applicationVolumeValue() -> Value { .double(applications.applicationVolume) }

    private func setApplicationVolume(_ value: Value) throws(APIError) {
        try applications.setApplicationVolume(value.doubleValue ?? -1)
        preferenceSet(BTCallName.Audio.appVolume)
    }

    private func muteModeValue() -> Value { .string(mute.mode.rawValue) }

    private func setMuteMode(_ value: Value) throws(APIError) {
        let word = try TextLimit.word.check(value.stringValue ?? "", BTCallName.Audio.muteMode)
        guard let mode = MuteMode(rawValue: word) else {
            let accepted = MuteMode.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(.invalidArgument, "the mute mode \"\(word)\" is not accepted; accepted: \(accepted)")
        }
        mute.mode = mode
        preferenceSet(BTCallName.Audio.muteMode)
    }

    /// Reports a changed property that is kept over restarts.
    private func preferenceSet(_ property: String) {
        changed(property)
        onPreference()
    }

    private func changed(_ property: String) { changed([property]) }

    private func changed(_ properties: [String]) {
        bus.propertiesChanged(path: BTCallPath.audio, interface: BTCallName.Interface.audio, properties)
    }

    func emit(_ member: String, _ arguments: [Value] = []) {
        bus.emit(path: BTCallPath.audio, interface: BTCallName.Interface.audio, member: member, arguments)
    }
}
