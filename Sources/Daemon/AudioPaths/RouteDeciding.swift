package import BluetoothTypes
package import ControlLoop
package import Diagnostics
package import Routing

/// Who takes the selections of programs: the route controller, or a test.
@ControlPlane
package protocol SelectionTaking: AnyObject {
    /// The number that the policy gave the last choice, whoever made it; nil: there is none.
    var choiceSequence: Int? { get }
    func handle(_ event: RoutingEvent)
}

/// Who decides on the route: is told what happens, and tells what it has decided. The route controller, or a test.
@ControlPlane
package protocol RouteDeciding: SelectionTaking {
    var policy: RoutingPolicy { get }
    /// What the policy was fed with, for questions about the past.
    var recorder: FlightRecorder { get }
    /// Sent once the audio has been moved.
    var notices: Signal<RouteNotice> { get }
    /// How the policy wants it to ring from now on.
    var ringing: Signal<Ringing> { get }
    /// The policy gives a headset back to its music.
    var musicReturns: Signal<BluetoothAddress> { get }
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
