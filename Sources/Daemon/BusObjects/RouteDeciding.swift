package import BluetoothTypes
package import CallControl
package import ControlLoop
package import Diagnostics
package import Routing

/// What `Router1` needs of who decides on the route.
@ControlPlane
package protocol RouteDeciding: SelectionTaking {
    var policy: RoutingPolicy { get }
    /// What the policy was fed with, for questions about the past.
    var recorder: FlightRecorder { get }
    /// Says why a selection would be refused, before it is made.
    func refusal(ofSelecting device: AudioDevice) -> RoutingError?
}

/// What is told of the route once the audio has been moved.
package enum RouteNotice {
    case routeChanged(old: Route?, new: Route?, RouteChangeReason)
    case devicesChanged
    case activationFailed(BluetoothAddress)
    /// Something that the bus shows may have changed.
    case stateChanged
}
