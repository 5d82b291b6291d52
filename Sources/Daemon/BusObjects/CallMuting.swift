import AudioPaths
import BTCallAPI
import CallControl
import ControlLoop
import DBus

/// The property `Muted` of `Calls1`, which the object of each call shows as well.
@ControlPlane
struct CallMuting {
    let mute: MuteState
    let microphone: MicrophoneControl
    let calls: CallDirectory

    var property: ExportedInterface.Property { .init(BTCallName.Calls.muted, "b", get: value, by: set) }

    private func value() -> Value { .bool(mute.isMuted) }

    /// - Throws: why the microphone cannot be muted, or not be opened.
    private func set(_ value: Value) throws(APIError) {
        let isWanted = value.boolValue ?? false
        // It would be forgotten with the next call's end, or, worse, not be.
        guard !isWanted || !calls.calls.isEmpty else {
            throw APIError(.wrongState, "there is no call to mute; mute it when a call is there")
        }
        if !isWanted { try microphone.checkUnmuting() }
        mute.set(isWanted)
    }
}
