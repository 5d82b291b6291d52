import BTCallSimulator
import BluetoothTypes
import Routing

/// Runs a course through the reference on a virtual clock: at equal times completions of links, then timers, then the
/// step (docs/inside/Routing.md, section 15).
struct ReferenceRun {
    private(set) var policy: ReferencePolicy
    private(set) var log = RoutingLog()
    private(set) var opens: [BluetoothAddress: Int] = [:]
    private(set) var restored: [BluetoothAddress] = []
    private(set) var switches = 0
    private(set) var routes: [AudioDevice] = []
    private var links: ReferenceLinks
    private var now = Instant(milliseconds: -86_400_000)
    private var silentSince: Instant?
    private var longestSilence = Duration.zero
    private let isLogging: Bool

    init(_ given: Scenario.Given, mistake: ReferencePolicy.Mistake? = nil, isLogging: Bool = true) {
        self.isLogging = isLogging
        policy = ReferencePolicy(
            configuration: given.configuration, transducers: given.locals, mistake: mistake)
        links = ReferenceLinks(given.headsets)
        prepare(given)
    }

    /// Everything that is given holds long before the first step.
    private mutating func prepare(_ given: Scenario.Given) {
        for model in given.headsets {
            feed(.headsetDescribed(model.address, category: model.category, inbandRing: model.inband))
        }
        if given.preferred != AudioDevice.none { feed(.setPreferred(given.preferred)) }
        if given.defaultDevice != AudioDevice.none { feed(.setDefault(given.defaultDevice)) }
        if given.started { feed(.start) }
        for address in given.connected {
            now = now.advanced(by: .seconds(1))
            let profiles = given.headsets.first { $0.address == address }?.profiles ?? []
            tell(.headsetConnected(address, profiles: profiles))
        }
        now = Instant(milliseconds: -43_200_000)
        if given.jack != .empty {
            var eager = given.configuration
            eager.jackDebounce = .zero
            feed(.configure(eager))
            feed(.jackPlugged(microphone: given.jack == .headset))
            feed(.configure(given.configuration))
        }
        advance(to: Instant(milliseconds: -1))
        now = .zero
    }

    /// Runs all events of a scenario.
    mutating func run(_ scenario: Scenario) {
        for (time, record) in scenario.events { step(record, at: time) }
    }

    mutating func step(_ record: EventRecord, at time: Instant) {
        advance(to: time)
        do {
            tell(try RoutingEvent(record, changing: policy.configuration))
        } catch {
            preconditionFailure("\(error)")
        }
        advance(to: time)
    }

    /// Lets everything happen up to and including an instant.
    mutating func advance(to end: Instant) {
        while true {
            let completion = links.next ?? Instant(nanoseconds: .max)
            let timer = policy.nextTimer ?? Instant(nanoseconds: .max)
            let next = min(completion, timer)
            guard next <= end else { break }
            now = max(now, next)
            if completion <= timer {
                if let event = links.takeNext() { feed(event) }
            } else {
                finish(policy.tick(at: now), after: nil)
            }
        }
        now = max(now, end)
    }

    private mutating func tell(_ event: RoutingEvent) {
        switch event {
        case .headsetConnected(let address, _), .headsetDisconnected(let address), .headsetProfile(let address, _, _),
            .linkClosed(let address, _), .linkSilent(let address), .linkResumed(let address),
            .codecChanged(let address, _):
            guard links.knows(address), links.follow(event) else { return }
            feed(event)
        case .linkOpenedByHeadset(let address, let mode):
            let used = RoutingEvent.linkOpenedByHeadset(address, mode: mode ?? policy.mode(of: address) ?? .hfp)
            if links.follow(used) { feed(used) }
        default:
            if links.follow(event) { feed(event) }
        }
    }

    private mutating func feed(_ event: RoutingEvent) {
        finish(policy.handle(event, at: now), after: event)
    }

    private mutating func finish(_ requests: [ReferencePolicy.Request], after event: RoutingEvent?) {
        for request in requests {
            switch request {
            case .open(let address, let mode):
                opens[address, default: 0] += 1
                links.open(address, mode, at: now)
            case .close(let address): links.close(address, at: now)
            case .restore(let address): restored.append(address)
            }
        }
        noteRoutes()
        if isLogging { log.note(RoutingLog.comparable(observation), after: event, at: now) }
    }

    // MARK: Observables

    private var lastRoute: Route?

    private mutating func noteRoutes() {
        if let route = policy.current, route != lastRoute {
            switches += 1
            if !routes.contains(route.device) { routes.append(route.device) }
        }
        lastRoute = policy.current
        let isDue = policy.isPathDue && policy.wanted != nil && policy.current == nil
        if isDue {
            silentSince = silentSince ?? now
        } else {
            longestSilence = silenceMax
            silentSince = nil
        }
    }

    var silenceMax: Duration { max(longestSilence, silentSince.map { $0.duration(to: now) } ?? .zero) }

    mutating func mark() {
        switches = 0
        routes = policy.current.map { [$0.device] } ?? []
    }

    var observation: RoutingObservation {
        var result = RoutingObservation()
        result.route = policy.current?.device
        result.pending = policy.pending?.device
        result.mode = policy.current?.mode
        result.output = policy.output
        result.input = policy.input
        result.available = policy.available
        result.selected = policy.selected
        result.override = policy.override
        result.preferred = policy.preferred
        result.fallback = policy.fallback
        result.isStarted = policy.isStarted
        result.isMuted = policy.isMuted
        result.error = policy.error
        result.reason = policy.reason
        result.opens = opens
        result.ringing = policy.ringing
        result.restored = restored
        return result
    }
}
