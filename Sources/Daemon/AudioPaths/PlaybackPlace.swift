package import Configuration

/// Where a playback is heard, whatever comes and goes meanwhile.
package enum PlaybackPlace: Hashable, Sendable {
    /// With the calls, where they are routed; not at all without a route.
    case route
    /// By itself. Where the device carries a call or cannot be opened, with the calls if it `joins` them.
    case output(OutputDevice, joins: Bool)
    /// With the calls where there is a route, else by itself.
    case routeOrOutput(OutputDevice)
}
