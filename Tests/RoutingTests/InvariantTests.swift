import BTCallSimulator
import BluetoothTypes
import Foundation
import Routing
import Testing

/// Random courses of events, checked after every event (routing policy §12). A failure prints its seed and the
/// shortest course that still fails, as the steps of a scenario.
@Suite struct InvariantTests {
    @Test(arguments: randomCourses(40))
    func `invariants hold along random courses of events`(_ batch: Int) throws {
        for seed in UInt64(batch) * 15..<UInt64(batch + 1) * 15 {
            var generator = SeededGenerator(seed: seed)
            let course = RandomCourse(using: &generator)
            guard let problem = try course.problem() else { continue }
            let short = try course.shrunk()
            Issue.record("seed \(seed): \(problem)\nshortest: \(try short.problem() ?? "")\n\(short.json)")
        }
    }

    @Test(arguments: randomCourses(10))
    func `invariants hold along a call with a headset that comes and goes`(_ batch: Int) throws {
        for seed in UInt64(batch) * 20..<UInt64(batch + 1) * 20 {
            var generator = SeededGenerator(seed: seed)
            let course = RandomCourse(flappingBy: &generator)
            guard let problem = try course.problem() else { continue }
            let short = try course.shrunk()
            Issue.record("seed \(seed): \(problem)\nshortest: \(try short.problem() ?? "")\n\(short.json)")
        }
    }

    @Test func `the same events and times give the same effects`() throws {
        for seed in 0..<UInt64(20) {
            var generator = SeededGenerator(seed: seed)
            let scenario = try RandomCourse(using: &generator).scenario()
            var first = ScenarioRunner(scenario, isTracing: true)
            var second = ScenarioRunner(scenario, isTracing: true)
            #expect(first.run().trace == second.run().trace, "seed \(seed)")
        }
    }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Scrambled, so that neighbouring seeds do not share a sequence.
    init(seed: UInt64) {
        state = seed
        state = next() ^ seed.byteSwapped
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

/// A random scenario, as JSON text.
struct RandomCourse {
    var given: String
    /// Pause in milliseconds before the step, and the step without its time.
    var steps: [(pause: Int, step: String)]

    init(using generator: inout SeededGenerator) {
        func one<Element>(_ elements: [Element]) -> Element {
            elements[Int(generator.next() % UInt64(elements.count))]
        }
        let devices = ["speakerphone", "wiredHeadset", "earpiece", "bluetooth", "bluetooth:H1", "bluetooth:H2", "none"]
        let headsets = (1...3).map { number in
            let script = (0..<one([0, 0, 3, 8])).map { _ in
                "\"" + one(["ok", "ok", "fail", "hang", "ok+300", "ok+2500"]) + "\""
            }
            let category = one(["headset", "headset", "headset", "watch", "speaker"])
            return "\"H\(number)\": {\"openMs\": \(one([50, 300, 1100])), \"category\": \"\(category)\","
                + " \"inband\": \(one([true, false])), \"script\": [\(script.joined(separator: ", "))]}"
        }
        let connected = one(["", "\"H1\"", "\"H2\", \"H1\""])
        let config = one([
            "", "", "\"newHeadset\": \"take\"", "\"jackGesture\": \"latched\"", "\"allowBluetoothA2DP\": true",
            "\"releaseOnHold\": true", "\"manualAudio\": true", "\"headsetOrder\": [\"H2\", \"H1\"]",
        ])
        given = """
            {"headsets": {\(headsets.joined(separator: ", "))}, "connected": [\(connected)], \
            "preferred": "\(one(devices))", "default": "\(one(devices))", "config": {\(config)}}
            """
        steps = (0..<60).map { _ in
            let pause = one([0, 0, 50, 100, 300, 700, 1500, 4000, 12_000])
            let address = one(["H1", "H1", "H2", "H3"])
            let call = one(["c1", "c2"])
            let step = one([
                "call.outgoing\", \"call\": \"\(call)\"", "call.incoming\", \"call\": \"\(call)\"",
                "call.answered\", \"call\": \"\(call)\"",
                "call.answered\", \"call\": \"\(call)\", \"via\": \"bluetooth:\(address)\"",
                "call.held\", \"call\": \"\(call)\"", "call.resumed\", \"call\": \"\(call)\"",
                "call.ended\", \"call\": \"\(call)\"", "bt.connected\", \"addr\": \"\(address)\"",
                "bt.connected\", \"addr\": \"\(address)\"", "bt.disconnected\", \"addr\": \"\(address)\"",
                "bt.profile\", \"addr\": \"\(address)\", \"profile\": \"\(one(["hfp", "a2dp"]))\", \"up\": \(one([true, false]))",
                "bt.adapter\", \"powered\": \(one([true, true, false]))", "bt.audioOpened\", \"addr\": \"\(address)\"",
                "bt.audioClosed\", \"addr\": \"\(address)\", \"reason\": \"\(one(["remote", "linkLoss"]))\"",
                "bt.audioSilent\", \"addr\": \"\(address)\"", "bt.audioResumed\", \"addr\": \"\(address)\"",
                "jack.plugged\", \"mic\": \(one([true, false]))", "jack.unplugged\"",
                "local.lost\", \"kind\": \"earpiece\"", "local.found\", \"kind\": \"earpiece\"",
                "handset.offHook\"", "handset.onHook\"", "interruption.begin\", \"source\": \"x\"",
                "interruption.end\", \"resume\": \(one([true, true, false]))", "session.activate\"",
                "session.deactivate\"", "api.start\"", "api.start\"", "api.stop\"",
                "api.setPreferred\", \"device\": \"\(one(devices))\"",
                "api.setDefault\", \"device\": \"\(one(devices))\"",
                "api.select\", \"device\": \"\(one(devices))\"", "api.select\", \"device\": \"\(one(devices))\"",
                "api.clearSelection\"", "api.config\", \"microphoneEnabled\": \(one([true, true, false]))",
                "api.config\", \"exclude\": [\(one(["", "", "\"bluetooth:H1\"", "\"earpiece\""]))]",
            ])
            return (pause, "\"do\": \"" + step)
        }
    }

    /// One call, and one headset that is lost in every way that there is.
    init(flappingBy generator: inout SeededGenerator) {
        func one<Element>(_ elements: [Element]) -> Element {
            elements[Int(generator.next() % UInt64(elements.count))]
        }
        given = #"{"headsets": {"H1": {"openMs": 100}}, "connected": ["H1"], "preferred": "bluetooth"}"#
        steps = [(0, #""do": "call.outgoing", "call": "c1""#)]
        for _ in 0..<60 {
            let step = one([
                #""do": "bt.audioClosed", "addr": "H1", "reason": "linkLoss""#,
                #""do": "bt.audioSilent", "addr": "H1""#,
                #""do": "bt.audioResumed", "addr": "H1""#, #""do": "bt.audioResumed", "addr": "H1""#,
                #""do": "bt.disconnected", "addr": "H1""#, #""do": "bt.connected", "addr": "H1""#,
                #""do": "bt.connected", "addr": "H1""#,
            ])
            steps.append((one([100, 300, 600, 1200, 2500]), step))
        }
    }

    var json: String {
        var time = 0
        let lines = steps.map { pause, step in
            time += pause
            return "{\"t\": \(time), \(step)}"
        }
        // When events stop, ten minutes must be enough to come to rest.
        let rest = "{\"t\": \(time + 600_000), \"expect\": {}}"
        return """
            {"format": "btcall-scenario/1", "scenarios": [{"id": "random", "given": \(given), "steps": [
            \((lines + [rest]).joined(separator: ",\n"))
            ]}]}
            """
    }

    func scenario() throws -> Scenario {
        try #require(try ScenarioFile(Data(json.utf8)).scenarios.first)
    }

    /// The first broken invariant; nil when all hold.
    func problem() throws -> String? {
        let checker = InvariantChecker()
        let scenario = try scenario()
        checker.end = Instant(milliseconds: Int64(steps.map(\.pause).reduce(0, +)) + 600_000)
        var runner = ScenarioRunner(scenario)
        runner.onHandled = { event, effects, policy, now in checker.check(event, effects, policy, now) }
        let result = runner.run()
        return checker.problem ?? result.failures.first?.text ?? checker.problemAtRest()
    }

    /// Leaves out ever smaller parts as long as some invariant stays broken.
    func shrunk() throws -> RandomCourse {
        var course = self
        var size = max(steps.count / 2, 1)
        while true {
            var start = 0
            while start < course.steps.count {
                var shorter = course
                shorter.steps.removeSubrange(start..<min(start + size, course.steps.count))
                if try shorter.problem() != nil {
                    course = shorter
                } else {
                    start += size
                }
            }
            if size == 1 { return course }
            size /= 2
        }
    }
}

/// Watches one run.
final class InvariantChecker {
    private(set) var problem: String?
    var end = Instant.zero
    private var paths: [Route] = []
    private var links: [BluetoothAddress: LinkMode] = [:]
    private var switchIns: [BluetoothAddress: [Instant]] = [:]
    private var quietSince = Instant.zero
    private var last: (policy: RoutingPolicy, time: Instant)?

    private func fail(_ text: String, _ event: RoutingEvent, _ now: Instant) {
        guard problem == nil else { return }
        problem = "\(now.nanoseconds / 1_000_000) ms, after \(event): \(text)"
    }

    func check(_ event: RoutingEvent, _ effects: [RoutingEffect], _ policy: RoutingPolicy, _ now: Instant) {
        follow(event)
        for effect in effects { follow(effect, event, now) }
        last = (policy, now)
        if paths.count > 1 { fail("I1: two paths: \(paths)", event, now) }
        if paths.first != policy.current {
            fail("I1: path \(paths), route \(String(describing: policy.current))", event, now)
        }
        if let current = policy.current {
            if !policy.availableDevices.contains(current.device) { fail("I3: \(current) is not available", event, now) }
            if !policy.hasCalls { fail("I5: a path without a call", event, now) }
            if !policy.isAudioPermitted { fail("I5: a path without permission", event, now) }
            if policy.reason == nil { fail("I14: no reason", event, now) }
        }
        checkRepetition(event, policy, now)
    }

    /// What the outside says about links, known before the policy reacts.
    private func follow(_ event: RoutingEvent) {
        switch event {
        case .headsetDisconnected(let address), .linkFailed(let address, _), .linkClosed(let address, _):
            links[address] = nil
        case .headsetProfile(let address, let profile, isUp: false) where links[address] == profile:
            links[address] = nil
        case .adapterPowered(false):
            links = [:]
        case .linkOpenedByHeadset(let address, let mode):
            links[address] = mode
        default: break
        }
    }

    private func follow(_ effect: RoutingEffect, _ event: RoutingEvent, _ now: Instant) {
        switch effect {
        case .openPath(let route):
            paths.append(route)
            if paths.count > 2 { fail("I1: three paths: \(paths)", event, now) }
            quietSince = now
        case .closePath(let route):
            paths.removeAll { $0 == route }
            quietSince = now
        case .openLink(let address, let mode, _, _):
            if !links.isEmpty { fail("I4: a set-up while \(links) is not down", event, now) }
            links[address] = mode
            quietSince = now
        case .routeChanged(_, .headset(let address, _)?, let reason) where reason.isAutomatic:
            let window = Duration.seconds(30)
            let recent = (switchIns[address] ?? []).filter { $0.advanced(by: window) > now } + [now]
            switchIns[address] = recent
            if recent.count > 6 { fail("I10: \(recent.count) automatic changes to \(address)", event, now) }
        default: break
        }
    }

    private func checkRepetition(_ event: RoutingEvent, _ policy: RoutingPolicy, _ now: Instant) {
        switch event {
        case .linkOpened, .linkFailed, .linkClosed, .linkOpenedByHeadset, .refresh, .select: return
        default: break
        }
        var copy = policy
        let again = copy.handle(event, at: now)
        if !again.isEmpty { fail("I8: repeated, it does \(again)", event, now) }
    }

    /// I9: after the last event the policy comes to rest at its target.
    func problemAtRest() -> String? {
        guard let last else { return nil }
        let explanation = last.policy.explain(at: end)
        if explanation.target != last.policy.current {
            return "I9: at rest on \(String(describing: last.policy.current)), target "
                + String(describing: explanation.target)
        }
        if quietSince.advanced(by: .seconds(300)) > end { return "I9: still busy at the end" }
        return nil
    }
}
