package import BluetoothTypes
import JSONText
package import Routing

/// Runs one scenario through the daemon's policy on a virtual clock.
public struct ScenarioRunner {
    /// Longest permitted silence of a call (docs/inside/Routing.md §12, I2).
    private static let silenceLimit = Duration.milliseconds(2000)
    /// Most events in one instant: more mean that the policy does not settle.
    private static let instantLimit = 10_000
    /// Most events between two steps.
    private static let stepLimit = 1_000_000

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
    private var isRestless = false
    /// Whether links and timers are modelled: the steps of a recording contain their effects.
    private var isPlaying = true
    private var trace: [ScenarioTraceLine] = []
    private let isTracing: Bool
    private let isObserving: Bool
    /// Called after every event with the policy and its effects.
    package var onHandled: ((RoutingEvent, [RoutingEffect], RoutingPolicy, Instant) -> Void)?

    /// - Parameters:
    ///   - isTracing: keep `ScenarioResult.traceLines`.
    ///   - isObserving: keep `ScenarioResult.observations`.
    public init(_ scenario: Scenario, isTracing: Bool = false, isObserving: Bool = false) {
        self.scenario = scenario
        self.isTracing = isTracing
        self.isObserving = isObserving
        policy =
            scenario.given.state
            ?? RoutingPolicy(configuration: scenario.given.configuration, localDevices: scenario.given.locals)
        links = ScenarioLinks(scenario.given.headsets)
        addresses = scenario.given.headsets.map(\.address)
    }

    /// Runs all steps, even after a failed expectation.
    public mutating func run() -> ScenarioResult {
        prepare()
        var result = ScenarioResult(id: scenario.id, title: scenario.title)
        var isSilenceReported = scenario.mayBeSilent
        for (index, step) in scenario.steps.enumerated() {
            advance(to: step.time)
            now = max(now, step.time)
            var problems: [String] = []
            switch step.action {
            case .event(let record):
                // The reader has already accepted the record, so that this cannot fail.
                guard let event = try? RoutingEvent(record, changing: policy.configuration) else { break }
                tell(event)
            case .mark: mark()
            case .expect(let expectations): problems = expectations.compactMap { mismatch($0) }
            }
            advance(to: now)
            if isObserving { result.observations.append(observation(after: step, index + 1)) }
            if !isSilenceReported, currentSilenceMax > Self.silenceLimit {
                isSilenceReported = true
                problems.append(
                    "I2: a call was without a path for \(currentSilenceMax.milliseconds) ms, at most 2000 expected")
            }
            if isRestless {
                problems.append("the policy does not come to rest at \(now.nanoseconds / 1_000_000) ms")
            }
            if !problems.isEmpty {
                result.failures.append(.init(step: index + 1, text: problems.joined(separator: "; ")))
            }
            if isRestless { break }
        }
        result.traceLines = trace
        return result
    }

    /// Brings the policy into the given state, long before the first step.
    private mutating func prepare() {
        let given = scenario.given
        guard given.state == nil else {
            isPlaying = false
            return
        }
        now = Instant(milliseconds: -86_400_000)
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
        now = Instant(milliseconds: -43_200_000)
        if given.jack != .empty { plug(given.jack) }
        advance(to: Instant(milliseconds: -1))
        now = .zero
        trace = []
        isPlaying = !scenario.isRecorded
    }

    /// Plugs without debounce, regardless of the configuration.
    private mutating func plug(_ jack: JackState) {
        let configuration = policy.configuration
        var eager = configuration
        eager.jackDebounce = .zero
        feed(.configure(eager))
        feed(.jackPlugged(microphone: jack == .headset))
        feed(.configure(configuration))
    }

    // MARK: Time

    /// Performs everything up to and including an instant: completions before timers.
    private mutating func advance(to end: Instant) {
        guard isPlaying else { return }
        var count = 0
        var total = 0
        while !isRestless {
            let completion = links.next ?? Instant(nanoseconds: .max)
            let timer = deadline ?? Instant(nanoseconds: .max)
            let next = min(completion, timer)
            guard next <= end else { return }
            count = next > now ? 0 : count + 1
            total += 1
            isRestless = count > Self.instantLimit || total > Self.stepLimit
            now = max(now, next)
            if completion <= timer {
                guard let (event, _) = links.removeNext() else { return }
                feed(event)
            } else {
                feed(.deadlineReached)
            }
        }
    }

    // MARK: Events

    /// Passes an event on to the headsets concerned and to the policy.
    private mutating func tell(_ event: RoutingEvent) {
        guard isPlaying else { return feed(event) }
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
        let wanted = policy.wanted
        if isTracing { note(.event, event.record.text) }
        let effects = policy.handle(event, at: now)
        if isTracing, policy.wanted != wanted {
            let target = policy.wanted.target?.description ?? "none"
            note(.decision, "\(target) because \(policy.wanted.reason.rawValue)")
        }
        for effect in effects {
            if isTracing { note(effect) }
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
            if isPlaying { links.open(address, mode, at: now) }
        case .closeLink(let address):
            if isPlaying { links.close(address, at: now) }
        case .setDeadline(let instant): deadline = instant
        case .restoreMedia(let address): restored.append(address)
        case .routeChanged(_, let new, _):
            if let new {
                switches += 1
                if !routes.contains(new.device) { routes.append(new.device) }
            }
        case .openPath, .closePath, .refreshPath, .startRinging, .stopRinging, .devicesChanged, .activationFailed,
            .selectionRefused:
            break
        }
    }

    private mutating func mark() {
        switches = 0
        routes = policy.current.map { [$0.device] } ?? []
    }

    private mutating func note(_ effect: RoutingEffect) {
        if case .routeChanged(_, let new, let reason) = effect {
            note(.route, "\(new.map(\.description) ?? "none"): \(reason.rawValue)")
        } else {
            note(.effect, effect.text)
        }
    }

    private mutating func note(_ kind: ScenarioTraceLine.Kind, _ text: String) {
        trace.append(
            ScenarioTraceLine(
                milliseconds: now.nanoseconds / 1_000_000, kind: kind,
                text: ScenarioAddress.abbreviated(text, addresses)))
    }

    // MARK: Observables

    private var currentSilenceMax: Duration {
        max(silenceMax, silentSince.map { $0.duration(to: now) } ?? .zero)
    }

    /// The expected and the actual value; nil when the expectation holds.
    private func mismatch(_ expectation: Scenario.Expectation) -> String? {
        let actual = observed(expectation.observable.source)
        guard !expectation.observable.holds(expectation.value, actual) else { return nil }
        return "\(expectation.observable.rawValue) expected \(expectation.value.shown), got \(actual.shown)"
    }

    /// One line of JSON with all observables after a step.
    private func observation(after step: Scenario.Step, _ number: Int) -> String {
        let all = ScenarioObservable.shown.map { ($0.rawValue, observed($0)) }
        let line: JSON = [
            "id": .string(scenario.id), "observed": .ordered(all), "step": JSON(number),
            "t": JSON(step.time.nanoseconds / 1_000_000),
        ]
        return line.text()
    }

    private func observed(_ observable: ScenarioObservable) -> JSON {
        func name(_ text: String) -> JSON { .string(ScenarioObservable.abbreviated(text)) }
        func device(_ device: AudioDevice?) -> JSON { name((device ?? .none).description) }
        switch observable {
        case .route, .routeIn: return device(policy.current?.device)
        case .pending: return device(policy.pending?.device)
        case .mode: return policy.mode.map { .string($0.rawValue) } ?? .null
        case .out: return name(policy.output.description)
        case .in: return name(policy.input.description)
        case .available: return .array(policy.availableDevices.map { device($0) })
        case .selected: return device(policy.selected(at: now))
        case .override: return policy.override.map { name($0) } ?? .null
        case .preferred: return device(policy.preferred)
        case .default: return device(policy.defaultDevice)
        case .started: return .bool(policy.started)
        case .muted: return .bool(muted)
        case .error: return policy.error.map { .string($0.rawValue) } ?? .null
        case .reason: return policy.reason.map { .string($0.rawValue) } ?? .null
        case .opens, .opensMax:
            return .ordered(addresses.map { (ScenarioAddress.name($0), JSON(opens[$0] ?? 0)) })
        case .switches, .switchesMax: return JSON(switches)
        case .silenceMaxMs: return .milliseconds(currentSilenceMax)
        case .ring:
            return [
                "headset": .string(policy.ringing.headset.rawValue), "local": .bool(policy.ringing.local),
            ]
        case .restored: return .array(restored.map { .string(ScenarioAddress.name($0)) })
        case .everRoute, .neverRoute: return .array(routes.map { device($0) })
        }
    }
}

/// Outcome of one scenario.
public struct ScenarioResult: Sendable {
    public struct Failure: Hashable, Sendable {
        /// Counted from 1.
        public let step: Int
        public let text: String
    }

    public let id: String
    public let title: String
    public internal(set) var failures: [Failure] = []
    /// One JSON object per step, with all observables after it.
    public internal(set) var observations: [String] = []
    /// Events in between, when requested.
    public internal(set) var traceLines: [ScenarioTraceLine] = []

    public var trace: [String] { traceLines.map(\.description) }

    public var hasPassed: Bool { failures.isEmpty }

    /// `ok R001`, or `not ok R001 step 4: route expected …, got …` with the first failure.
    public var line: String {
        guard let first = failures.first else { return "ok \(id)" }
        return "not ok \(id) step \(first.step): \(first.text)"
    }

    /// One JSON object with all failures.
    public var json: String {
        let failures = failures.map { ["step": JSON($0.step), "text": .string($0.text)] as JSON }
        let result: JSON = [
            "failures": .array(failures), "id": .string(id), "ok": .bool(hasPassed), "title": .string(title),
        ]
        return result.text()
    }
}
