package import Configuration

/// Where a playback is heard; stays the same while devices come and go.
package enum PlaybackPlace: Hashable, Sendable {
    /// With the calls on their route; silent without a route.
    case route
    /// On the device alone. If the device carries a call or cannot be opened: with the calls if `joins`, otherwise silent.
    case output(OutputDevice, joins: Bool)
    /// With the calls while they have a route, otherwise on the device alone.
    case routeOrOutput(OutputDevice)
}
