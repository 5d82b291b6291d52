package import AudioEngine
package import BTCallAPI
package import ControlLoop

/// Whether the microphone of the call group is muted; ends with the last call.
@ControlPlane
package final class MuteState {
    package private(set) var isMuted = false
    /// Acts at once, also on calls that are muted already.
    package var mode = MuteMode.voiceProcessing {
        didSet { if mode != oldValue, isMuted { apply(muting) } }
    }
    /// Muted, or not any more.
    package let changes = Signal<Void>()
    /// Mutes what goes to the far end.
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

    /// What is muted now.
    package var muting: Muting {
        guard isMuted else { return .off }
        return switch mode {
        case .voiceProcessing, .restart: .everything
        case .inputMixer: .microphone
        }
    }
}
