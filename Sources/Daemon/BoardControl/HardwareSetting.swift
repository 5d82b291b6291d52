package import ControlLoop
package import Routing

/// The hardware beside the audio paths, as far as the policy has it set; the board, or a test.
@ControlPlane
package protocol HardwareSetting: AnyObject {
    /// The device that carries the call has changed.
    func routeChanged(to route: Route?)
    /// Set the hardware of the active device again.
    func refreshPath()
    /// Read everything once more, as a client has asked for.
    func refresh()
}
