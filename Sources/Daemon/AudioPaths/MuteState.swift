package import AudioEngine
package import BTCallAPI
package import ControlLoop

/// Whether the microphone of the call group is muted; the last call's end ends the muting.
@ControlPlane
package final class MuteState {
    package private(set) var isMuted = false
    /// Applies at once, also to calls that are muted already.
    package var mode = MuteMode.voiceProcessing {
        didSet { if mode != oldValue, isMuted { apply(muting) } }
    }
    /// The mute state has changed.
    package let changes = Signal<Void>()
    /// Mutes the audio to the far end.
    package var apply: @ControlPlane (Muting) -> Void

    package init(apply: @escaping @ControlPlane (Muting) -> Void = { _ in }) {
        self.apply = apply
    }

    package func set(_ muted: Bool) {
        guard muted != isMuted else { return }
        isMuted = muted
        apply(muting)
        changes.send()
    }

    /// The audio that is muted now.
    package var muting: Muting {
        guard isMuted else { return .off }
        return switch mode {
        case .voiceProcessing, .restart: .everything
        case .inputMixer: .microphone
        }
    }
}
