package import BluetoothTypes
package import Routing

/// Runs one scenario through the policy that the daemon uses, on a virtual clock.
public struct ScenarioRunner {
    private let scenario: Scenario
    private var policy: RoutingPolicy
    private var links: ScenarioLinks
    private let addresses: [BluetoothAddress]

    private var now = Instant.zero
    private var deadline: Instant?
    private var muted = false
    private var opens: [BluetoothAddress: Int] = [:]
    private var switches = 0
    private var routes: [AudioDevice] = []
    private var restored: [BluetoothAddress] = []
    private var silentSince: Instant?
    private var silenceMax = Duration.zero
    private var trace: [String] = []
    private let isTracing: Bool
    private let isObserving: Bool
    /// Sees the policy after every event, with what it asked for.
    package var onHandled: ((RoutingEvent, [RoutingEffect], RoutingPolicy, Instant) -> Void)?

    /// - Parameters:
    ///   - isTracing: keep the lines of `ScenarioResult.trace`.
    ///   - isObserving: keep `ScenarioResult.observations`.
    public init(_ scenario: Scenario, isTracing: Bool = false, isObserving: Bool = false) {
        self.scenario = scenario
        self.isTracing = isTracing
        self.isObserving = isObserving
        policy = RoutingPolicy(configuration: scenario.given.configuration, localDevices: scenario.given.locals)
        links = ScenarioLinks(scenario.given.headsets)
        addresses = scenario.given.headsets.map(\.address)
    }

    /// Runs all steps, also after a failed expectation.
    public mutating func run() -> ScenarioResult {
        prepare()
        var result = ScenarioResult(id: scenario.id, title: scenario.title)
        for (index, step) in scenario.steps.enumerated() {
            advance(to: step.time)
            now = max(now, step.time)
            var mismatches: [String] = []
            switch step.action {
            case .event(let record): perform(record)
            case .mark: mark()
            case .expect(let expectations):
                let observed = observables()
                mismatches = expectations.compactMap { ScenarioObservables.mismatch($0, in: observed) }
            }
            advance(to: now)
            if isObserving {
                let observed = ScenarioValue.object([
                    "t": .number(Double(step.time.nanoseconds / 1_000_000)), "step": .number(Double(index + 1)),
                    "observed": .object(observables()),
                ])
                result.observations.append(observed.json)
            }
            if !mismatches.isEmpty {
                result.failures.append(.init(step: index + 1, text: mismatches.joined(separator: "; ")))
            }
        }
        if !scenario.mayBeSilent, currentSilenceMax > .milliseconds(2000) {
            let text = "I2: a call was without a path for \(currentSilenceMax.milliseconds) ms, at most 2000 expected"
            result.failures.append(.init(step: scenario.steps.count, text: text))
        }
        result.trace = trace
        return result
    }

    /// Brings the policy into the state that is given, an hour before the first step.
    private mutating func prepare() {
        let given = scenario.given
        now = Instant(milliseconds: -3_600_000)
        for headset in given.headsets {
            feed(.headsetDescribed(headset.address, category: headset.category, inbandRing: headset.inband))
        }
        if given.preferred != .none { feed(.setPreferred(given.preferred)) }
        if given.defaultDevice != .none { feed(.setDefault(given.defaultDevice)) }
        if given.started { feed(.start) }
        for address in given.connected {
            now = now.advanced(by: .milliseconds(1000))
            let profiles = given.headsets.first { $0.address == address }?.profiles ?? []
            tell(.headsetConnected(address, profiles: profiles))
        }
        now = Instant(milliseconds: -1_800_000)
        switch given.jack {
        case .empty: break
        case .headset: feed(.jackPlugged(microphone: true))
        case .headphones: feed(.jackPlugged(microphone: false))
        }
        advance(to: Instant(milliseconds: -1))
        now = .zero
        trace = []
    }

    // MARK: Time

    /// Lets everything happen up to and including an instant: completions before timers.
    private mutating func advance(to end: Instant) {
        var turns = 0
        while turns < 100_000 {
            turns += 1
            let completion = links.next ?? Instant(nanoseconds: .max)
            let timer = deadline ?? Instant(nanoseconds: .max)
            guard min(completion, timer) <= end else { return }
            if completion <= timer {
                guard let next = links.takeNext() else { continue }
                now = max(now, next.time)
                feed(next.event)
            } else {
                now = max(now, timer)
                feed(.deadlineReached)
            }
        }
    }

    // MARK: Events

    private mutating func perform(_ record: EventRecord) {
        // The reader has accepted the record, so that this does not fail.
        guard let event = try? RoutingEvent(record, changing: policy.configuration) else { return }
        tell(event)
    }

    /// Passes an event on, through the headsets that it concerns.
    private mutating func tell(_ event: RoutingEvent) {
        guard !scenario.isRecorded else { return feed(event) }
        switch event {
        case .headsetConnected(let address, _), .headsetDisconnected(let address), .headsetProfile(let address, _, _),
            .linkClosed(let address, _), .linkSilent(let address), .linkResumed(let address),
            .codecChanged(let address, _):
            guard links.knows(address) else { return }
            links.note(event)
            feed(event)
        case .linkOpenedByHeadset(let address, let mode):
            let used = mode ?? policy.usableMode(of: address) ?? .hfp
            guard links.openedByHeadset(address, used) else { return }
            feed(.linkOpenedByHeadset(address, mode: used))
        default:
            links.note(event)
            feed(event)
        }
    }

    private mutating func feed(_ event: RoutingEvent) {
        if case .mute(let isOn) = event { muted = isOn }
        let hadCalls = policy.hasCalls
        if isTracing { note("event", event.record.text) }
        let effects = policy.handle(event, at: now)
        for effect in effects {
            if isTracing { note("effect", "\(effect)") }
            perform(effect)
        }
        onHandled?(event, effects, policy, now)
        if hadCalls, !policy.hasCalls { muted = false }
        if policy.current == nil, policy.isPathDue(at: now) {
            silentSince = silentSince ?? now
        } else {
            silenceMax = currentSilenceMax
            silentSince = nil
        }
    }

    private mutating func perform(_ effect: RoutingEffect) {
        switch effect {
        case .openLink(let address, let mode, _, _):
            opens[address, default: 0] += 1
            if !scenario.isRecorded { links.open(address, mode, at: now) }
        case .closeLink(let address):
            if !scenario.isRecorded { links.close(address, at: now) }
        case .setDeadline(let instant): deadline = instant
        case .restoreMedia(let address): restored.append(address)
        case .routeChanged(_, let new, let reason):
            if let new {
                switches += 1
                if !routes.contains(new.device) { routes.append(new.device) }
            }
            if isTracing { note("route", "\(new.map(\.description) ?? "none"): \(reason.rawValue)") }
        case .openPath, .closePath, .refreshPath, .startRinging, .stopRinging, .devicesChanged, .activationFailed,
            .selectionRefused:
            break
        }
    }

    private mutating func mark() {
        switches = 0
        routes = policy.current.map { [$0.device] } ?? []
    }

    private mutating func note(_ kind: String, _ text: String) {
        let line = "\(now.nanoseconds / 1_000_000) \(kind) \(text)"
        trace.append(ScenarioAddress.abbreviated(line, addresses))
    }

    // MARK: Observables

    private var currentSilenceMax: Duration {
        max(silenceMax, silentSince.map { $0.duration(to: now) } ?? .zero)
    }

    private func observables() -> [String: ScenarioValue] {
        func name(_ text: String) -> ScenarioValue { .text(ScenarioObservables.abbreviated(text)) }
        func device(_ device: AudioDevice?) -> ScenarioValue { name((device ?? .none).description) }
        var counts: [String: ScenarioValue] = [:]
        for address in addresses {
            counts[ScenarioAddress.name(address)] = .number(Double(opens[address] ?? 0))
        }
        return [
            "route": device(policy.current?.device),
            "pending": device(policy.pending?.device),
            "mode": policy.mode.map { .text($0.rawValue) } ?? .null,
            "out": name(policy.output.description),
            "in": name(policy.input.description),
            "available": .list(policy.availableDevices.map { device($0) }),
            "selected": device(policy.selected(at: now)),
            "override": policy.override.map { name($0) } ?? .null,
            "preferred": device(policy.preferred),
            "default": device(policy.defaultDevice),
            "started": .flag(policy.started),
            "muted": .flag(muted),
            "error": policy.error.map { .text($0.rawValue) } ?? .null,
            "reason": policy.reason.map { .text($0.rawValue) } ?? .null,
            "opens": .object(counts),
            "switches": .number(Double(switches)),
            "silenceMaxMs": .milliseconds(currentSilenceMax),
            "ring": .object([
                "local": .flag(policy.ringing.local), "headset": .text(policy.ringing.headset.rawValue),
            ]),
            "restored": .list(restored.map { .text(ScenarioAddress.name($0)) }),
            "everRoute": .list(routes.map { device($0) }),
        ]
    }
}

/// What became of one scenario.
public struct ScenarioResult: Sendable {
    public struct Failure: Hashable, Sendable {
        /// Counted from 1.
        public let step: Int
        public let text: String
    }

    public let id: String
    public let title: String
    public internal(set) var failures: [Failure] = []
    /// One JSON object a step, with all observables after it.
    public internal(set) var observations: [String] = []
    /// Events, effects and decisions, when asked for.
    public internal(set) var trace: [String] = []

    public var hasPassed: Bool { failures.isEmpty }

    /// `ok R001`, or `not ok R001 step 4: route expected …, got …` with the first failure.
    public var line: String {
        guard let first = failures.first else { return "ok \(id)" }
        return "not ok \(id) step \(first.step): \(first.text)"
    }
}

extension EventRecord {
    /// One line for a trace.
    var text: String {
        var text = word
        for argument in arguments {
            switch argument.value {
            case .text(let value): text += " \(argument.name)=\(value)"
            case .flag(let value): text += " \(argument.name)=\(value)"
            case .list(let value): text += " \(argument.name)=\(value.joined(separator: ","))"
            }
        }
        return text
    }
}
