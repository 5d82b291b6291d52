import AudioDSP
import BTCallAPI
import Configuration
import ControlLoop
package import DBus

// What is done to the microphone.
extension AudioObject {
    package func voiceProperties() -> [ExportedInterface.Property] {
        typealias Name = BTCallName.Audio
        let voice = voice
        return [
            flag(
                Name.voiceProcessing, get: { voice.isEnabled },
                set: { isOn throws(APIError) in try voice.setEnabled(isOn) }),
            flag(
                Name.voiceProcessingBypassed, get: { voice.isBypassed },
                set: { isOn throws(APIError) in voice.setBypassed(isOn) }),
            .init(Name.voiceProcessor, "s", get: { .string(voice.kind.rawValue) }),
            setting(Name.echoCancellation, "audio.echoCancellation", \.takesEcho),
            setting(Name.noiseSuppression, "audio.noiseSuppression", \.takesNoise),
            setting(Name.automaticGain, "audio.automaticGain", \.adjustsGain),
            setting(Name.highPass, "audio.highPass", \.takesHum),
        ]
    }

    package func speakingWhileMuted() {
        bus.emit(
            path: BTCallPath.audio, interface: BTCallName.Interface.audio,
            member: BTCallName.Audio.speakingWhileMuted)
    }

    /// A key of the configuration, set as `Manager1.SetSetting` sets it.
    private func setting(
        _ name: String, _ key: String, _ value: KeyPath<Configuration, Bool>
    ) -> ExportedInterface.Property {
        let settings = settings
        return flag(
            name, get: { settings.configuration[keyPath: value] },
            set: { isOn throws(APIError) in try settings.set(key, isOn ? "yes" : "no") })
    }

    /// Who sets it says by `VoiceControl.onChange` that it has changed.
    private func flag(
        _ name: String, get: @escaping @ControlPlane () -> Bool,
        set: @escaping @ControlPlane (Bool) throws(APIError) -> Void
    ) -> ExportedInterface.Property {
        .init(
            name, "b", get: { .bool(get()) },
            set: { value throws(BusError) in
                do throws(APIError) {
                    try set(value.boolValue ?? false)
                } catch {
                    throw error.busError
                }
            })
    }
}
