package import ControlLoop

/// Whether the microphone of the call group is muted; ends with the last call.
@ControlPlane
package final class MuteState {
    package private(set) var isMuted = false
    package var onChange: (@ControlPlane () -> Void)?
    private let apply: @ControlPlane (Bool) -> Void

    /// - Parameter apply: mutes what goes to the far end.
    package init(apply: @escaping @ControlPlane (Bool) -> Void) {
        self.apply = apply
    }

    package func set(_ muted: Bool) {
        guard muted != isMuted else { return }
        isMuted = muted
        apply(muted)
        onChange?()
    }
}
