import AudioPaths
import BTCallAPI
import CallControl
import ControlLoop
import DBus

/// The property `Muted` of `Calls1`, which each call's object has as well.
@ControlPlane
struct CallMuting {
    let mute: MuteState
    let microphone: MicrophoneControl
    let calls: CallDirectory

    var property: ExportedInterface.Property { .init(BTCallName.Calls.muted, "b", get: value, by: set) }

    private func value() -> Value { .bool(mute.isMuted) }

    /// - Throws: why the microphone cannot be muted or opened.
    private func set(_ value: Value) throws(APIError) {
        let isWanted = value.boolValue ?? false
        // Without a call, the end of the next one would reset it, or it would silently stay in force.
        guard !isWanted || !calls.calls.isEmpty else {
            throw APIError(.wrongState, "there is no call to mute: mute it during a call")
        }
        if !isWanted { try microphone.checkUnmuting() }
        mute.set(isWanted)
    }
}
