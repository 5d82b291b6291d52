package import BluetoothTypes

/// Decides which device carries the call, and the next step (docs/inside/Routing.md).
///
/// Level-triggered: each event updates facts, the target is determined from all facts, and the actuation takes one step
/// towards it. An event that arrives twice, late or out of order therefore cannot leave the policy in a state that the next
/// event does not repair. Same events and times give the same effects.
///
/// A value without clock, log or I/O. The caller passes one event at a time, performs all effects in order, and passes
/// `.deadlineReached` at the instant of the last `.setDeadline`.
package struct RoutingPolicy: Hashable, Sendable {
    /// Target of the last recomputation, and the reason of the event that changed it.
    struct Decision: Hashable, Sendable {
        var target: Route?
        var reason: RouteChangeReason
    }

    /// A raw jack edge that is not yet believed.
    struct JackEdge: Hashable, Sendable {
        let state: JackState
        let deadline: Instant
    }

    struct MediaRestore: Hashable, Sendable {
        let addresses: [BluetoothAddress]
        let deadline: Instant
    }

    enum Interruption: String, Hashable, Sendable {
        case none, begun
        /// Ended, but the call did not get its audio back.
        case notResumed
    }

    /// More steps than one event can need: each of them rules a device out.
    private static let stepLimit = 4

    // Lifecycle and intent.
    package internal(set) var configuration: RoutingConfiguration
    package internal(set) var started = false
    package internal(set) var preferred = AudioDevice.none
    /// Device used when neither a choice nor the preference can be.
    package internal(set) var defaultDevice = AudioDevice.none
    var choice: DeviceChoice?
    /// Sequence number of the plug that counts as a gesture; choices and plugs share one numbering.
    var plugGesture: Int?
    var gestures = 0

    // Facts.
    var locals: Set<LocalDevice>
    package internal(set) var jack = JackState.empty
    var jackEdge: JackEdge?
    var wiredAttachedAt: Instant?
    /// A wired headset that is not on the jack.
    var hasDetachedWired = false
    /// The plugged wired headset cannot be opened.
    var isWiredLost = false
    /// Ordered by address.
    var headsets: [Headset] = []
    var isAdapterPowered = true
    var refusesWideband = false
    var calls: [RoutingCall] = []
    var isSessionActive = false
    var interruption = Interruption.none
    /// The headset closed its link while every call was held.
    var isParked = false

    // Actuation.
    /// The device whose path is open.
    package internal(set) var current: Route?
    var currentSince = Instant.zero
    /// Since when some path has been open without a gap.
    var pathSince = Instant.zero
    /// The headset whose link is being set up, including back-off and waiting for another link to close.
    package internal(set) var pending: Route?
    var decision = Decision(target: nil, reason: .started)
    /// Reason for the last change of route, including one to none; nil before the first change.
    package internal(set) var reason: RouteChangeReason?
    /// When the route last changed.
    package internal(set) var changedAt: Instant?
    /// Runs while a path is due and none is open.
    var pathlessSince: Instant?
    /// Value of that clock before the present path, for a path that is too short to count.
    var pathlessBefore: Instant?
    /// When the lost link closed that is now being reopened.
    var reopeningSince: Instant?
    /// The current local path stands in for a headset that took too long.
    var isBridging = false
    var mediaRestore: MediaRestore?
    /// Present announcement of an incoming call.
    package internal(set) var ringing = Ringing.none
    /// Result of a client's last request, or a later failure to reach a headset.
    package internal(set) var error: RoutingError?

    // Last reports to the shell.
    var announcedDeadline: Instant?
    var announcedDevices: [AudioDevice] = []
    var announcedEndpoints: Endpoints?
    var latest = Instant(nanoseconds: .min)
    var effects: [RoutingEffect] = []

    /// - Parameter localDevices: built-in transducers that are present from the beginning; a wired headset is reported by
    ///   the jack or by `.localFound`.
    package init(
        configuration: RoutingConfiguration = RoutingConfiguration(),
        localDevices: Set<LocalDevice> = [.speakerphone, .earpiece]
    ) {
        self.configuration = configuration
        locals = localDevices.subtracting([.wiredHeadset])
        hasDetachedWired = localDevices.contains(.wiredHeadset)
        wiredAttachedAt = hasDetachedWired ? latest : nil
        announcedDevices = availableDevices
    }

    /// Handles one event and returns the actions to perform, in order.
    ///
    /// - Parameter now: never before an earlier one; a clock that goes back is held.
    package mutating func handle(_ event: RoutingEvent, at now: Instant) -> [RoutingEffect] {
        let now = max(now, latest)
        latest = now
        let old = current
        // A report about a link at this very instant precedes the deadline: the timer is left for its own event.
        let isDueNow = announcedDeadline == now && event.isLinkReport
        if !isDueNow, let announcedDeadline, announcedDeadline <= now {
            step(because: expireFacts(at: now) ?? .newDeviceAvailable, at: now)
        }
        if let cause = apply(event, at: now) { step(because: cause, at: now) }
        // A wait of zero length ends as soon as it begins.
        for _ in 0..<Self.stepLimit {
            guard !isDueNow, let cause = expireFacts(at: now) else { break }
            step(because: cause, at: now)
        }
        announce(since: old, at: now, keepingDeadline: isDueNow)
        defer { effects = [] }
        return effects
    }

    /// Recomputes the target and takes one step towards it.
    private mutating func step(because cause: RouteChangeReason, at now: Instant) {
        updateAttachments(because: cause, at: now)
        updatePathlessClock(at: now)
        leaveDeadPath(because: cause, at: now)
        var target = findTarget(at: now)
        // A step can make a better device eligible: once the audio has left a headset, that headset's dwell no longer
        // applies.
        for _ in 0..<Self.stepLimit {
            if target != decision.target {
                decision = Decision(target: target, reason: cause)
            }
            actuate(because: cause, at: now)
            target = findTarget(at: now)
            if target == decision.target { break }
        }
        updatePathlessClock(at: now)
        for index in headsets.indices where headsets[index].limitWaived {
            headsets[index].limitWaived = pending?.address == headsets[index].address
        }
    }

    /// Reports every difference from the last report.
    private mutating func announce(since old: Route?, at now: Instant, keepingDeadline isDueNow: Bool) {
        if old != current, let reason {
            effects.append(.routeChanged(old: old, new: current, reason))
        }
        let endpoints = current.map { self.endpoints(of: $0) }
        if old == current, let current, endpoints != announcedEndpoints {
            effects.append(.refreshPath(current))
        }
        announcedEndpoints = endpoints
        let devices = availableDevices
        if devices != announcedDevices {
            announcedDevices = devices
            effects.append(.devicesChanged)
        }
        announceRinging(at: now)
        guard !isDueNow else { return }
        let deadline = nextDeadline(after: now)
        if deadline != announcedDeadline {
            announcedDeadline = deadline
            effects.append(.setDeadline(deadline))
        }
    }
}
