import AudioDSP
import AudioPaths
import BTCallAPI
import Configuration
import ControlLoop
import DBus

// Voice processing of the microphone.
extension AudioObject {
    func voiceProcessingValue() -> Value { .bool(voice.isEnabled) }

    /// `VoiceControl.changes` reports the change.
    func setVoiceProcessing(_ value: Value) throws(APIError) { try voice.setEnabled(value.boolValue ?? false) }

    func bypassedValue() -> Value { .bool(voice.isBypassed) }

    func setBypassed(_ value: Value) { voice.setBypassed(value.boolValue ?? false) }

    func voiceProcessorValue() -> Value { .string(voice.kind.rawValue) }

    /// A Boolean key of the configuration as a property, set in the same way as by `Manager1.SetSetting`.
    func setting(
        _ name: String, _ key: String, _ value: KeyPath<Configuration, Bool>
    ) -> ExportedInterface.Property {
        .init(
            name, "b", get: { [settings] in .bool(settings.configuration[keyPath: value]) },
            by: { [settings] isOn throws(APIError) in try settings.set(key, isOn.boolValue == true ? "yes" : "no") })
    }
}
