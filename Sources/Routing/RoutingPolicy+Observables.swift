package import BluetoothTypes

/// What clients see of the policy (routing policy §15).
extension RoutingPolicy {
    /// One device as a user sees it.
    package struct Listing: Hashable, Sendable {
        package let device: AudioDevice
        package let isAvailable: Bool
        /// Why not, for a person; nil when it is available.
        package let unavailableBecause: String?
        /// Where a call on the device is heard and spoken; nil when it is not available.
        package let output: AudioOutput?
        package let input: AudioInput?
    }

    /// The mode of the current route; nil on local devices and without a path.
    package var mode: LinkMode? { current?.mode }

    package var output: AudioOutput { current.map { endpoints(of: $0).output } ?? .none }

    package var input: AudioInput { current.map { endpoints(of: $0).input } ?? .none }

    /// The explicit choice in force or dormant, as it was given; `local` after a transfer away from a headset.
    package var override: String? { choice?.text }

    /// How a headset would be used now; nil when it is unknown or not usable.
    package func usableMode(of address: BluetoothAddress) -> LinkMode? {
        headset(address).flatMap { mode(of: $0) }
    }

    /// Whether the policy knows any call.
    package var hasCalls: Bool { !calls.isEmpty }

    /// Devices that are there and may be used, settled or not, in a fixed order; headsets by address.
    package var availableDevices: [AudioDevice] {
        let locals = LocalDevice.allCases.filter { obstacle(for: $0, foreground: []) == nil }
        return locals.map { AudioDevice($0) } + headsets.filter { mode(of: $0) != nil }.map { .headset($0.address) }
    }

    /// The device that is, or would be, used: the choice unless it is `local`, else the preference as it was set, else
    /// what the levels give now.
    package func selected(at now: Instant) -> AudioDevice {
        if case .device(let device) = choice?.device { return device }
        if preferred != .none { return preferred }
        let found = started ? findDevice(Situation(foreground: foregroundCalls, now: now)) : findSystemDevice()
        return found?.device ?? .none
    }

    /// All devices that are known, available or not, in a fixed order.
    ///
    /// - Parameter now: decides nothing about availability; says how long a headset is still paused or settling.
    package func devices(at now: Instant) -> [Listing] {
        let locals = LocalDevice.allCases.map { local in
            listing(.local(local), because: obstacle(for: local, foreground: []))
        }
        return locals
            + headsets.map { headset in
                switch usability(of: headset) {
                case .usable(let mode): listing(.headset(headset.address, mode), because: nil)
                case .unusable(let obstacle): listing(.headset(headset.address, .hfp), because: obstacle)
                }
            }
    }

    private func listing(_ route: Route, because obstacle: Obstacle?) -> Listing {
        let endpoints = obstacle == nil ? endpoints(of: route) : nil
        return Listing(
            device: route.device, isAvailable: obstacle == nil, unavailableBecause: obstacle?.text,
            output: endpoints?.output, input: endpoints?.input)
    }

    // MARK: Explanation

    /// Every level's finding, and which of them decides: the same walk as the choice.
    package func explain(at now: Instant) -> Explanation {
        let situation = Situation(foreground: foregroundCalls, now: now)
        let levels = RoutingLevel.allCases.map { find($0, situation) }
        return Explanation(
            levels: levels, chosen: levels.first { $0.verdict == .eligible }?.level, suspension: suspension,
            target: decision.target, route: current, pending: pending, reason: reason,
            reasonAge: changedAt?.duration(to: now))
    }

    private var suspension: Explanation.Suspension? {
        if !started { return .stopped }
        if calls.isEmpty { return .noCall }
        if interruption != .none { return .interrupted }
        if configuration.manualRendering { return .manualRendering }
        if configuration.manualAudio, !isSessionActive { return .sessionInactive }
        switch demand {
        case .path: return nil
        case .ringing: return .ringing
        case .none: return isParked ? .parked : .held
        }
    }
}
