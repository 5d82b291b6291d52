package import ControlLoop
package import Routing

/// Hardware settings beside the audio paths; implemented by the board, or by a test.
@ControlPlane
package protocol HardwareSetting: AnyObject {
    /// The device that carries the call has changed.
    func routeChanged(to route: Route?)
    /// Another device, or none, will carry the call without notice if the present one is lost.
    func standbyChanged(to device: LocalDevice?)
    /// Sets the hardware of the active device again.
    func refreshPath()
    /// Reads everything again, at a client's request.
    func refresh()
}
