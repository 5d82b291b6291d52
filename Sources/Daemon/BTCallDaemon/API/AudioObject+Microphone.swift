import BTCallAPI
import ControlLoop
package import DBus

// The microphone: whether it is used, allowed, prepared, and heard by somebody now.
extension AudioObject {
    /// The key `microphoneEnabled` of the routing policy, wherever it is kept.
    package struct MicrophoneSetting {
        let get: @ControlPlane () -> Bool
        let set: @ControlPlane (Bool) throws(APIError) -> Void
    }

    package func microphoneMethods(_ microphone: MicrophoneControl) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Audio.allowMicrophone, in: [("allowed", "b")]) { call async throws(BusError) in
                try reply { () throws(APIError) in
                    try microphone.allow(argument(call, 0).boolValue ?? false)
                    return []
                }
            }
        ]
    }

    package func microphoneProperties(
        _ microphone: MicrophoneControl, _ enabled: MicrophoneSetting
    ) -> [ExportedInterface.Property] {
        typealias Name = BTCallName.Audio
        return [
            .init(
                Name.microphoneEnabled, "b", get: { .bool(enabled.get()) },
                set: { value throws(BusError) in
                    do throws(APIError) {
                        try enabled.set(value.boolValue ?? false)
                    } catch {
                        throw error.busError
                    }
                }),
            .init(
                Name.recordingAlwaysPrepared, "b", get: { .bool(microphone.isAlwaysPrepared) },
                set: { value throws(BusError) in
                    do throws(APIError) {
                        try microphone.setAlwaysPrepared(value.boolValue ?? false)
                    } catch {
                        throw error.busError
                    }
                }),
            .init(Name.prepared, "b", get: { .bool(microphone.isPrepared) }),
            .init(Name.microphoneAccess, "s", get: { .string(microphone.access.rawValue) }),
            .init(Name.microphoneInUse, "b", get: { .bool(microphone.isLive) }),
            .init(Name.privacyOutput, "s", get: { .string(microphone.output.state.rawValue) }),
            .init(Name.automaticConfiguration, "b", changes: .silent, get: { .bool(microphone.isAutomatic) }),
        ]
    }
}
