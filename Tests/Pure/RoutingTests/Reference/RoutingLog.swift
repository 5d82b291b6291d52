import BTCallSimulator
import BluetoothTypes
import Routing

/// What can be observed at one moment (docs/inside/Routing.md, section 15).
struct RoutingObservation: Equatable {
    var route: AudioDevice?
    var pending: AudioDevice?
    var mode: LinkMode?
    var output = AudioOutput.none
    var input = AudioInput.none
    var available: Set<AudioDevice> = []
    var selected: AudioDevice?
    var override: String?
    var preferred = AudioDevice.none
    var fallback = AudioDevice.none
    var isStarted = false
    var isMuted = false
    var error: RoutingError?
    var reason: RouteChangeReason?
    var opens: [BluetoothAddress: Int] = [:]
    var ringing = Ringing.none
    var restored: [BluetoothAddress] = []

    /// One line a key, in the words of scenarios.
    var lines: [String] {
        func text(_ value: (some CustomStringConvertible)?) -> String { value?.description ?? "none" }
        let counts = opens.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return [
            "route \(text(route))", "pending \(text(pending))", "mode \(text(mode?.rawValue))", "out \(output)",
            "in \(input)", "available \(available.map(\.description).sorted())", "selected \(text(selected))",
            "override \(text(override))", "preferred \(preferred)", "default \(fallback)", "started \(isStarted)",
            "muted \(isMuted)", "error \(text(error?.rawValue))", "reason \(text(reason?.rawValue))",
            "opens \(counts)", "ring local=\(ringing.local) headset=\(ringing.headset.rawValue)",
            "restored \(restored)",
        ]
    }
}

/// What was observed along a course: after every step, and at every instant at which something changed in between.
struct RoutingLog {
    struct Entry: Equatable {
        let time: Instant
        /// Whether it stands after a step, or a closing by the headset's script, which the policy is told likewise.
        let isStep: Bool
        var observation: RoutingObservation
    }

    private(set) var entries: [Entry] = []
    /// Before the first step.
    private var start = RoutingObservation()

    mutating func note(_ observation: RoutingObservation, after event: RoutingEvent?, at time: Instant) {
        guard time >= .zero else {
            start = observation
            return
        }
        if Self.isStep(event) {
            entries.append(Entry(time: time, isStep: true, observation: observation))
            return
        }
        // What is selected also depends on the time: it is asked for after steps only.
        var later = observation
        if let last = entries.last, last.time == time {
            if !last.isStep { later.selected = last.observation.selected }
            entries[entries.count - 1].observation = later
        } else {
            later.selected = (entries.last?.observation ?? start).selected
            entries.append(Entry(time: time, isStep: false, observation: later))
        }
    }

    private static func isStep(_ event: RoutingEvent?) -> Bool {
        switch event {
        case nil, .deadlineReached, .linkOpened, .linkFailed, .linkClosed(_, .requested): false
        default: true
        }
    }

    /// Without the instants at which nothing changed.
    var changes: [Entry] {
        var last = start
        return entries.filter { entry in
            defer { last = entry.observation }
            return entry.isStep || entry.observation != last
        }
    }

    /// The first difference before a time, in words; nil when there is none.
    static func difference(policy: RoutingLog, reference: RoutingLog, before end: Instant) -> String? {
        let (left, right) = (policy.changes, reference.changes)
        for index in 0..<max(left.count, right.count) {
            let one = index < left.count ? left[index] : nil
            let other = index < right.count ? right[index] : nil
            if one == other { continue }
            guard let time = [one?.time, other?.time].compactMap(\.self).min(), time < end else { return nil }
            let before = index > 0 ? left[index - 1].observation : policy.start
            let policyLines = (one?.time == time ? one?.observation ?? before : before).lines
            let referenceLines = (other?.time == time ? other?.observation ?? before : before).lines
            var changed = zip(policyLines, referenceLines).filter { $0 != $1 }.map { "policy \($0), reference \($1)" }
            if changed.isEmpty { changed = ["a link closes along one of the two only"] }
            return "\(time.nanoseconds / 1_000_000) ms: \(changed.joined(separator: "; "))"
        }
        return nil
    }
}

/// Runs a course through the policy.
final class PolicyRun {
    private(set) var log = RoutingLog()
    private var opens: [BluetoothAddress: Int] = [:]
    private var restored: [BluetoothAddress] = []
    private var isMuted = false
    private var hadCalls = false

    static func log(_ scenario: Scenario) -> RoutingLog {
        let run = PolicyRun()
        var runner = ScenarioRunner(scenario)
        runner.onHandled = { event, effects, policy, now in run.note(event, effects, policy, now) }
        _ = runner.run()
        return run.log
    }

    private func note(_ event: RoutingEvent, _ effects: [RoutingEffect], _ policy: RoutingPolicy, _ now: Instant) {
        if case .mute(let isOn) = event { isMuted = isOn }
        for effect in effects {
            switch effect {
            case .openLink(let address, _, _, _): opens[address, default: 0] += 1
            case .restoreMedia(let address): restored.append(address)
            default: break
            }
        }
        if hadCalls, !policy.hasCalls { isMuted = false }
        hadCalls = policy.hasCalls
        var observation = RoutingObservation()
        observation.route = policy.current?.device
        observation.pending = policy.pending?.device
        observation.mode = policy.mode
        observation.output = policy.output
        observation.input = policy.input
        observation.available = Set(policy.availableDevices)
        observation.selected = policy.selected(at: now)
        observation.override = policy.override
        observation.preferred = policy.preferred
        observation.fallback = policy.defaultDevice
        observation.isStarted = policy.started
        observation.isMuted = isMuted
        observation.error = policy.error
        observation.reason = policy.reason
        observation.opens = opens
        observation.ringing = policy.ringing
        observation.restored = restored
        log.note(RoutingLog.comparable(observation), after: event, at: now)
    }
}

extension RoutingLog {
    /// What the levels give is left open while they do not decide.
    static func comparable(_ observation: RoutingObservation) -> RoutingObservation {
        var result = observation
        if !result.isStarted || result.selected == AudioDevice.none { result.selected = nil }
        return result
    }
}
