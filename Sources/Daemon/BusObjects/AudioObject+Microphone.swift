import AudioPaths
import BTCallAPI
import Configuration
import ControlLoop
import DBus
import Routing

// The microphone: whether it is enabled, allowed, prepared and in use.
extension AudioObject {
    func allowMicrophone(_ call: MethodCall) throws(APIError) { try microphone.allow(call.flag(0)) }

    func microphoneEnabledValue() -> Value { .bool(settings.configuration.routing.microphoneEnabled) }

    /// Sets the key of the routing policy.
    func setMicrophoneEnabled(_ value: Value) throws(APIError) {
        let name = "\(ConfigurationSection.routing.settingPrefix).\(RoutingKey.microphoneEnabled.rawValue)"
        try settings.set(name, value.boolValue == true ? "true" : "false")
    }

    func alwaysPreparedValue() -> Value { .bool(microphone.isAlwaysPrepared) }

    func setAlwaysPrepared(_ value: Value) throws(APIError) {
        try microphone.setAlwaysPrepared(value.boolValue ?? false)
    }

    func preparedValue() -> Value { .bool(microphone.isPrepared) }

    func microphoneAccessValue() -> Value { .string(microphone.access.rawValue) }

    func microphoneInUseValue() -> Value { .bool(microphone.isLive) }

    func privacyOutputValue() -> Value { .string(microphone.output.state.rawValue) }

    func automaticConfigurationValue() -> Value { .bool(microphone.isAutomatic) }
}
