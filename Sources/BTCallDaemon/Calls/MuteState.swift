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
    package var onChange: (@ControlPlane () -> Void)?
    private let apply: @ControlPlane (Muting) -> Void

    /// - Parameter apply: mutes what goes to the far end.
    package init(apply: @escaping @ControlPlane (Muting) -> Void) {
        self.apply = apply
    }

    package func set(_ muted: Bool) {
        guard muted != isMuted else { return }
        isMuted = muted
        apply(muting)
        onChange?()
    }

    private var muting: Muting {
        guard isMuted else { return .off }
        return switch mode {
        case .voiceProcessing: .everything
        case .inputMixer: .microphone
        }
    }
}
