import BTCallSimulator
import BluetoothTypes
import Routing

/// Observes one run and checks the invariants of docs/inside/Routing.md §12 after every event.
///
/// It follows the calls' requests and the permissions from the events alone, without asking the policy.
final class InvariantChecker {
    private struct Call {
        enum State { case ringing, dialing, active, held }

        let identifier: String
        var state: State
        var routes: [DeviceKind]?

        var isForeground: Bool { state == .dialing || state == .active }
    }

    private struct Link {
        enum State { case opening, open, closing }

        var state: State
        let mode: LinkMode?
    }

    private enum Interruption { case none, begun, notResumed }

    /// Longest time without a path that I2 allows.
    private static let silenceLimit = Duration.milliseconds(2000)
    private static let switchLimit = 6
    private static let switchWindow = Duration.seconds(30)

    private(set) var problem: String?
    /// Number of events between two checks of the explanation, which takes longer than all the rest.
    private let explanationStride: Int

    // Facts from the events.
    private var calls: [Call] = []
    private var interruption = Interruption.none
    private var isSessionActive = false
    private var isStarted = false

    // Facts from the effects.
    private var path: Route?
    private var links: [BluetoothAddress: Link] = [:]
    private var switchIns: [BluetoothAddress: [Instant]] = [:]
    private var everSilent: Set<BluetoothAddress> = []

    private var silentSince: Instant?
    private var quietSince = Instant(nanoseconds: .min)
    private var end = Instant(nanoseconds: .min)
    private var isAtTarget = true
    private var target: Route?
    private var handled: [(event: RoutingEvent, time: Instant, effects: [RoutingEffect])] = []

    /// Runs a scenario for its events only.
    ///
    /// - Parameter isThorough: check the explanation after every event.
    /// - Returns: the first broken invariant; nil when all hold.
    static func problem(along scenario: Scenario, isThorough: Bool = false) -> String? {
        let checker = InvariantChecker(explanationStride: isThorough ? 1 : 16)
        var runner = ScenarioRunner(scenario)
        runner.onHandled = { event, effects, policy, now in checker.check(event, effects, policy, now) }
        _ = runner.run()
        return checker.problem ?? checker.problemAtRest() ?? checker.problemOfRepetition(scenario.given)
    }

    private init(explanationStride: Int) {
        self.explanationStride = explanationStride
    }

    private func fail(_ text: String, _ event: RoutingEvent, _ now: Instant) {
        guard problem == nil else { return }
        problem = "\(now.nanoseconds / 1_000_000) ms, after \(event): \(text)"
    }

    private func check(_ event: RoutingEvent, _ effects: [RoutingEffect], _ policy: RoutingPolicy, _ now: Instant) {
        if let silentSince, silentSince.duration(to: now) > Self.silenceLimit {
            fail("I2: no path for \(silentSince.duration(to: now).milliseconds) ms", event, now)
        }
        let oldPath = path
        handled.append((event, now, effects))
        end = now
        follow(event)
        follow(effects, event, now)
        checkRoute(policy, since: oldPath, event, now)
        checkTarget(policy, event, now)
        checkRepeated(event, policy, now)
        if handled.count % explanationStride == 0 {
            checkExplanation(policy, event, now)
            checkStandIn(policy, event, now)
        }
    }

    // MARK: Events

    private func follow(_ event: RoutingEvent) {
        switch event {
        case .start: isStarted = true
        case .stop: isStarted = false
        case .sessionActivated: isSessionActive = true
        case .sessionDeactivated: isSessionActive = false
        case .interruptionBegan: interruption = .begun
        case .interruptionEnded(let resume):
            if interruption != .none { interruption = resume || calls.isEmpty ? .none : .notResumed }
        case .callOutgoing(let call, _, let routes, _): add(Call(identifier: call, state: .dialing, routes: routes))
        case .callIncoming(let call, _, let routes, _): add(Call(identifier: call, state: .ringing, routes: routes))
        case .callRoutes(let call, let routes):
            guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return }
            calls[index].routes = routes
        case .callAnswered(let call, _): activate(call, from: [.ringing, .dialing])
        case .callResumed(let call): activate(call, from: [.held])
        case .callHeld(let call):
            guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return }
            calls[index].state = .held
        case .callEnded(let call):
            let hadCalls = !calls.isEmpty
            calls.removeAll { $0.identifier == call }
            if hadCalls, calls.isEmpty, interruption == .notResumed { interruption = .none }
        case .headsetDisconnected(let address), .headsetForgotten(let address), .linkFailed(let address, _),
            .linkClosed(let address, _):
            links[address] = nil
        case .headsetProfile(let address, let profile, isUp: false):
            if links[address]?.mode == profile { links[address] = nil }
        case .adapterPowered(false): links = [:]
        case .linkOpened(let address):
            if links[address]?.state == .opening { links[address]?.state = .open }
        case .linkOpenedByHeadset(let address, let mode): links[address] = Link(state: .open, mode: mode)
        case .linkSilent(let address): everSilent.insert(address)
        // The wearer presses the talk key: that change is not an automatic one.
        case .headsetResting(let address, isResting: false): switchIns[address] = nil
        default: break
        }
    }

    private func add(_ call: Call) {
        if !calls.contains(where: { $0.identifier == call.identifier }) { calls.append(call) }
    }

    private func activate(_ identifier: String, from states: [Call.State]) {
        guard let index = calls.firstIndex(where: { $0.identifier == identifier }), states.contains(calls[index].state)
        else { return }
        for other in calls.indices where calls[other].state == .active { calls[other].state = .held }
        calls[index].state = .active
    }

    // MARK: Effects

    private func follow(_ effects: [RoutingEffect], _ event: RoutingEvent, _ now: Instant) {
        var opened: Route?
        var change: (old: Route?, new: Route?)?
        let oldPath = path
        for effect in effects {
            switch effect {
            case .openPath(let route):
                if opened != nil { fail("I1: two paths opened at once, \(route) is the second", event, now) }
                if path == route { fail("I8: \(route) opened again", event, now) }
                opened = route
                quietSince = now
            case .closePath(let route):
                if path == route {
                    path = nil
                } else {
                    fail("I1: \(route) closed, which is not open", event, now)
                }
                quietSince = now
            case .openLink(let address, let mode, _, _):
                if !links.isEmpty { fail("I4: a set-up for \(address) while \(links) is not down", event, now) }
                links[address] = Link(state: .opening, mode: mode)
                quietSince = now
            case .closeLink(let address):
                if links[address] == nil { fail("I4: the link of \(address) closed, which is closed", event, now) }
                links[address]?.state = .closing
            case .routeChanged(let old, let new, let reason):
                if change != nil { fail("I14: two changes of route at once", event, now) }
                change = (old, new)
                countSwitch(to: new, because: reason, event, now)
            case .setDeadline(let deadline):
                if let deadline, deadline <= now { fail("I9: a deadline that is over", event, now) }
            default: break
            }
        }
        if let opened {
            if let path { fail("I1: two paths, \(path) and \(opened)", event, now) }
            path = opened
        }
        if let change, change.old != oldPath || change.new != path {
            fail("I14: \(String(describing: change)) was reported, \(String(describing: path)) is open", event, now)
        } else if change == nil, oldPath != path {
            fail("I14: the route changed to \(String(describing: path)) without a report", event, now)
        }
    }

    private func countSwitch(to route: Route?, because reason: RouteChangeReason, _ event: RoutingEvent, _ now: Instant)
    {
        guard let address = route?.address, reason.isAutomatic else { return }
        var recent = switchIns[address] ?? []
        recent.removeAll { $0.advanced(by: Self.switchWindow) <= now }
        recent.append(now)
        switchIns[address] = recent
        if recent.count > Self.switchLimit { fail("I10: \(recent.count) automatic changes to \(address)", event, now) }
    }

    // MARK: State

    private func isPermitted(_ policy: RoutingPolicy) -> Bool {
        let configuration = policy.configuration
        return interruption == .none && !configuration.manualRendering
            && (!configuration.manualAudio || isSessionActive)
    }

    private func checkRoute(_ policy: RoutingPolicy, since oldPath: Route?, _ event: RoutingEvent, _ now: Instant) {
        if path != policy.current { fail("I1: path \(String(describing: path)), route differs", event, now) }
        let available = policy.availableDevices
        let foreground = calls.filter(\.isForeground)
        if let path {
            if !available.contains(path.device) { fail("I3: \(path) is not available", event, now) }
            if policy.configuration.exclude.contains(path.device) { fail("I3: \(path) is excluded", event, now) }
            if calls.isEmpty { fail("I5: a path without a call", event, now) }
            if !isPermitted(policy) { fail("I5: a path without permission", event, now) }
            if calls.allSatisfy({ $0.state == .ringing }), path.address == nil || !isStarted {
                fail("I5: a path while a call only rings", event, now)
            }
            if policy.reason == nil { fail("I14: no reason", event, now) }
            if let address = path.address {
                if !isStarted { fail("S11: a headset while stopped", event, now) }
                if links[address]?.state != .open { fail("I1: a path on a link that is not open", event, now) }
            }
        }
        if let pending = policy.pending {
            if !available.contains(pending.device) { fail("I3: pending \(pending) is not available", event, now) }
            if calls.isEmpty || !isPermitted(policy) || !isStarted { fail("I5: a set-up without need", event, now) }
        }
        // A device of the board can be used at once: with one, no call is silent for long.
        let isLocalPossible = available.contains { device in
            guard let kind = device.local?.kind else { return false }
            return !isStarted || foreground.allSatisfy { $0.routes?.contains(kind) ?? true }
        }
        let isDue = isPermitted(policy) && !foreground.isEmpty && isLocalPossible
        silentSince = isDue && isStarted && path == nil ? silentSince ?? now : nil
        if isDue, !isStarted, path == nil { fail("S5: silent while stopped", event, now) }
        if isDue, path == nil, let local = oldPath?.local, available.contains(AudioDevice(local)),
            foreground.allSatisfy({ $0.routes?.contains(local.kind) ?? true })
        {
            fail("I2: \(local) was left before anything else was open", event, now)
        }
    }

    /// After every event the policy is at its target, or on its way there by exactly one link.
    private func checkTarget(_ policy: RoutingPolicy, _ event: RoutingEvent, _ now: Instant) {
        target = policy.wanted.target
        isAtTarget = target == path
        if calls.isEmpty, target != nil { fail("I5: a target without a call", event, now) }
        switch target {
        case nil, .local:
            if !isAtTarget { fail("I1: \(String(describing: target)) is wanted and not open", event, now) }
            if policy.pending != nil { fail("I9: \(String(describing: policy.pending)) is not wanted", event, now) }
        case .headset(let address, _):
            if isAtTarget {
                if policy.pending != nil { fail("I9: pending though it is open", event, now) }
            } else if policy.pending != target, !everSilent.contains(address) || links[address]?.state != .open {
                fail("I9: \(address) is wanted and not pending", event, now)
            }
        }
        for (address, link) in links.sorted(by: { $0.key < $1.key })
        where link.state != .closing && address != target?.address {
            let rule = calls.isEmpty ? "I12" : "I4"
            fail("\(rule): the link of \(address) is \(link.state) without being wanted", event, now)
        }
    }

    private func checkRepeated(_ event: RoutingEvent, _ policy: RoutingPolicy, _ now: Instant) {
        switch event {
        // A link that opened and closed since is a different one; every refresh is performed.
        case .linkFailed, .linkClosed, .linkOpenedByHeadset, .refresh: return
        default: break
        }
        var copy = policy
        for effect in copy.handle(event, at: now) {
            if case .selectionRefused = effect { continue }
            fail("I8: repeated, it does \(effect)", event, now)
        }
    }

    /// I14: while the levels decide, they explain the target.
    private func checkExplanation(_ policy: RoutingPolicy, _ event: RoutingEvent, _ now: Instant) {
        let explanation = policy.explain(at: now)
        guard explanation.suspension == nil else { return }
        let chosen = explanation.levels.first { $0.level == explanation.chosen }
        if chosen?.candidate != policy.wanted.target {
            fail("I14: the levels give \(String(describing: chosen)), the target differs", event, now)
        }
    }

    /// The device that stands in for a headset is the one that carries the calls when the headset falls silent.
    private func checkStandIn(_ policy: RoutingPolicy, _ event: RoutingEvent, _ now: Instant) {
        var policy = policy
        // What is due at this instant is not of the silence.
        _ = policy.handle(.deadlineReached, at: now)
        let standIn = policy.standIn(at: now)
        guard let address = policy.current?.address else {
            if policy.current != nil, standIn != nil { fail("a stand-in for a device of the board", event, now) }
            return
        }
        _ = policy.handle(.linkSilent(address), at: now)
        let carrier = policy.current?.local
        if carrier != standIn {
            fail("\(String(describing: standIn)) stands in, \(String(describing: carrier)) has the call", event, now)
        }
    }

    /// I9: after the last event the policy settles at its target.
    private func problemAtRest() -> String? {
        if !isAtTarget { return "I9: at rest on \(String(describing: path)), target \(String(describing: target))" }
        if quietSince.advanced(by: .seconds(600)) > end { return "I9: still busy at the end" }
        return nil
    }

    /// I7: the same events and times give the same effects.
    private func problemOfRepetition(_ given: Scenario.Given) -> String? {
        var policy = RoutingPolicy(configuration: given.configuration, localDevices: given.locals)
        for step in handled where policy.handle(step.event, at: step.time) != step.effects {
            return "I7: other effects of \(step.event) at \(step.time.nanoseconds / 1_000_000) ms"
        }
        return nil
    }
}
