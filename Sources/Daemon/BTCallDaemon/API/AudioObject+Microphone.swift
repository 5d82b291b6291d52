import BTCallAPI
import ControlLoop
import DBus

// The microphone: whether it is used, allowed, prepared, and heard by somebody now.
extension AudioObject {
    /// The key `microphoneEnabled` of the routing policy, wherever it is kept.
    package struct MicrophoneSetting {
        let get: @ControlPlane () -> Bool
        let set: @ControlPlane (Bool) throws(APIError) -> Void
    }

    func allowMicrophone(_ call: MethodCall) throws(APIError) { try microphone.allow(call.flag(0)) }

    func microphoneEnabledValue() -> Value { .bool(enabled.get()) }

    func setMicrophoneEnabled(_ value: Value) throws(APIError) { try enabled.set(value.boolValue ?? false) }

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
