package import BluetoothTypes
package import ControlLoop
package import Diagnostics
package import Routing

/// Accepts programs' selections; implemented by the route controller, or by a test.
@ControlPlane
package protocol SelectionTaking: AnyObject {
    /// The policy's number of the last choice by any client; nil without a choice.
    var choiceSequence: Int? { get }
    func handle(_ event: RoutingEvent)
}

/// Decides on the route: receives events and sends its decisions. The route controller, or a test.
@ControlPlane
package protocol RouteDeciding: SelectionTaking {
    var policy: RoutingPolicy { get }
    /// Record of the policy's inputs, for questions about the past.
    var recorder: FlightRecorder { get }
    /// Sent once the audio has been moved.
    var notices: Signal<RouteNotice> { get }
    /// How the policy wants to ring from now on.
    var ringing: Signal<Ringing> { get }
    /// The policy returns a headset to its music.
    var musicReturns: Signal<BluetoothAddress> { get }
    /// Says why a selection would be refused, before it is made.
    func refusal(ofSelecting device: AudioDevice) -> RoutingError?
}

/// Notice about the route, sent once the audio has been moved.
package enum RouteNotice {
    case routeChanged(old: Route?, new: Route?, RouteChangeReason)
    case devicesChanged
    case activationFailed(BluetoothAddress)
    /// A client had everything read and set again (`Router1.Refresh`).
    case refreshed
    /// A property on the bus may have changed.
    case stateChanged
}
