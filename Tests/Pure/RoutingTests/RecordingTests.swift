import BTCallSimulator
import BluetoothTypes
import Foundation
import JSONText
import Routing
import Testing

/// The flight recorder: any moment of a recording can be restored, and its file replays to the same decisions.
@Suite struct RecordingTests {
    private struct Handled {
        let event: RoutingEvent
        let effects: [RoutingEffect]
        let policy: RoutingPolicy
        let time: Instant
    }

    /// All events of the policy along a scenario.
    private static func course(_ scenario: Scenario) -> [Handled] {
        final class Collector {
            var handled: [Handled] = []
        }
        let collector = Collector()
        var runner = ScenarioRunner(scenario)
        runner.onHandled = { event, effects, policy, now in
            collector.handled.append(Handled(event: event, effects: effects, policy: policy, time: now))
        }
        _ = runner.run()
        return collector.handled
    }

    private static func randomCourse(_ seed: UInt64) -> [Handled] { course(RandomCourse(seed: seed).scenario()) }

    /// A call whose headset loses its link, and then refuses all attempts.
    private static func badCall() throws -> [Handled] {
        let text = """
            {"format": "btcall-scenario/1", "scenarios": [{"id": "R900", "given": {"preferred": "bluetooth",
              "headsets": {"H1": {"script": ["ok", "ok", "fail", "fail", "fail"]}}, "connected": ["H1"]}, "steps": [
              {"t": 0, "do": "call.outgoing", "call": "c"},
              {"t": 5000, "do": "bt.audioClosed", "addr": "H1", "reason": "linkLoss"},
              {"t": 9000, "do": "bt.audioClosed", "addr": "H1", "reason": "linkLoss"},
              {"t": 20000, "expect": {"error": "activationFailed"}}]}]}
            """
        return course(try #require(try ScenarioFile(Data(text.utf8)).scenarios.first))
    }

    /// The recording of a course without its first event, which shows the policy before it.
    private static func recording(of course: [Handled], segments: Int, events: Int) -> RoutingRecording {
        var recording = RoutingRecording(segmentLimit: segments, eventLimit: events)
        for (before, handled) in zip(course, course.dropFirst()) {
            recording.willHandle(at: handled.time, before.policy)
            recording.didHandle(handled.event, at: handled.time, handled.policy)
        }
        return recording
    }

    private static let heading = RoutingRecording.Heading(id: "incident", title: "a \"test\"", version: "1.2.3")

    private static func file(_ recording: RoutingRecording, last segments: Int? = nil) throws -> Scenario {
        let text = try #require(
            recording.scenarioFile(heading, last: segments) { _ in "2025-03-01T17:04:05.678Z" })
        return try #require(try ScenarioFile(Data(text.utf8)).scenarios.first)
    }

    // MARK: State

    @Test(arguments: randomCourses(10))
    func `the state of a policy is restored unchanged, at any time of any course`(_ batch: Int) throws {
        for seed in UInt64(batch) * 10..<UInt64(batch + 1) * 10 {
            for (index, handled) in Self.randomCourse(seed).enumerated() {
                let zero = Instant(milliseconds: Int64(index) * 1234)
                let state = handled.policy.recordedState(from: zero)
                let copy = try RoutingPolicy(
                    recordedState: state, from: zero, configuration: handled.policy.configuration)
                #expect(copy == handled.policy, "seed \(seed), event \(index)")
            }
        }
    }

    @Test func `every stored property of the policy and of its headsets is in the state`() throws {
        func names(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }
        func part(_ name: String, of value: Any) -> Any? {
            Mirror(reflecting: value).children.first { $0.label == name }?.value
        }
        // Nil values are omitted: counts everything ever written.
        var written: [String: Set<String>] = [:]
        func collect(_ value: JSON, _ place: String) {
            guard case .object(let members) = value else { return }
            written[place, default: []].formUnion(members.map(\.name))
            for member in members {
                if case .array(let elements) = member.value {
                    for element in elements { collect(element, member.name) }
                }
            }
        }
        var policy: RoutingPolicy?
        for handled in try Self.badCall() + (0..<60).flatMap(Self.randomCourse) {
            collect(handled.policy.recordedState(from: .zero), "policy")
            policy = handled.policy
        }
        let last = try #require(policy)
        #expect(written["policy"] == names(last).subtracting(["configuration", "effects"]))
        let headset = try #require((part("headsets", of: last) as? [Any])?.first)
        #expect(written["headsets"] == names(headset))
    }

    @Test(arguments: [
        (JSON.string("x"), "the state is not an object"),
        (.object([.init("colour", .string("red"))]), "unknown key 'colour'; accepted: started, preferred, "),
        (.object([.init("started", .integer(1))]), "'started' is not understood"),
        (.object([.init("current", .string("hfp:left"))]), "'current' is not understood"),
        (.object([.init("currentSince", .integer(.min))]), "'currentSince' is not understood"),
        // One more of them would trap.
        (.object([.init("gestures", .integer(.max))]), "'gestures' is not understood"),
        (.object([.init("gestures", .integer(-1))]), "'gestures' is not understood"),
        (
            .object([.init("headsets", .array([.object([.init("address", .string("H1"))])]))]),
            "'headsets' is not understood"
        ),
    ])
    func `an invalid state is refused with the problem`(_ state: JSON, _ text: String) {
        do throws(RoutingPolicy.RecordedStateError) {
            _ = try RoutingPolicy(recordedState: state, from: .zero, configuration: RoutingConfiguration())
            Issue.record("\(state) was accepted")
        } catch {
            #expect(error.description.hasPrefix(text))
        }
    }

    // MARK: Recording

    @Test func `a full recording of 8,192 events takes less than a megabyte`() {
        #expect(MemoryLayout<RoutingEvent>.size <= 33)
        #expect(MemoryLayout<RoutingRecording.Entry>.stride == 48)
        #expect(MemoryLayout<RoutingRecording.Change>.stride <= 48)
        let event = MemoryLayout<RoutingRecording.Entry>.stride + MemoryLayout<RoutingRecording.Change>.stride
        #expect(16 * (512 * event + MemoryLayout<RoutingPolicy>.stride) < 1 << 20)
    }

    @Test func `the oldest segment is dropped as a whole, and the promised number of events is kept`() throws {
        let course = Self.randomCourse(3)
        let recording = Self.recording(of: course, segments: 3, events: 10)
        #expect(recording.count > 20 && recording.count <= 30)
        let kept = course.suffix(recording.count)
        #expect(recording.start == kept.first?.time)
        #expect(Self.recording(of: course, segments: 100, events: 10).count == course.count - 1)
        #expect(RoutingRecording().start == nil)
        #expect(RoutingRecording().scenarioFile(Self.heading) { _ in "" } == nil)
    }

    @Test(arguments: randomCourses(8))
    func `the policy can be restored at any recorded moment`(_ batch: Int) throws {
        for seed in UInt64(batch) * 5..<UInt64(batch + 1) * 5 {
            let course = Self.randomCourse(seed)
            let recording = Self.recording(of: course, segments: 4, events: 7)
            let kept = Array(course.suffix(recording.count))
            for (index, handled) in kept.enumerated() {
                // Of several events in one instant the last one counts.
                guard index + 1 == kept.count || kept[index + 1].time > handled.time else { continue }
                #expect(recording.policy(at: handled.time) == handled.policy)
                let later = handled.time.advanced(by: .milliseconds(1))
                if index + 1 == kept.count || kept[index + 1].time > later {
                    #expect(recording.policy(at: later) == handled.policy)
                }
            }
            let start = try #require(recording.start)
            #expect(recording.policy(at: start.advanced(by: .milliseconds(-1))) == nil)
        }
    }

    @Test(arguments: randomCourses(8))
    func `a recorded file replays to the same effects and decisions`(_ batch: Int) throws {
        for seed in UInt64(batch) * 5..<UInt64(batch + 1) * 5 {
            let course = Self.randomCourse(seed)
            for segments in [1, 3, 1000] {
                let recording = Self.recording(of: course, segments: segments, events: 9)
                let scenario = try Self.file(recording)
                var runner = ScenarioRunner(scenario)
                let result = runner.run()
                #expect(result.hasPassed, "seed \(seed): \(result.line)")
                let original = course.suffix(recording.count)
                let replayed = Self.course(scenario)
                #expect(replayed.map(\.event) == original.map(\.event), "seed \(seed)")
                let zero = try #require(recording.start)
                for (before, after) in zip(original, replayed) {
                    #expect(after.effects.map { Self.moved($0, by: zero) } == before.effects, "seed \(seed)")
                }
            }
        }
    }

    /// Converts a deadline to the clock's zero instead of the recording's.
    private static func moved(_ effect: RoutingEffect, by zero: Instant) -> RoutingEffect {
        guard case .setDeadline(let deadline?) = effect else { return effect }
        return .setDeadline(zero.advanced(by: Instant.zero.duration(to: deadline)))
    }

    @Test func `a decision that differs from the recorded one fails the replay`() throws {
        let recording = Self.recording(of: try Self.badCall(), segments: 100, events: 100)
        let text = try #require(recording.scenarioFile(Self.heading) { _ in "2025-03-01T17:04:05.678Z" })
        let wrong = text.replacing("\"reason\": \"callStarted\"", with: "\"reason\": \"callEnded\"")
        #expect(text != wrong)
        let scenario = try #require(try ScenarioFile(Data(wrong.utf8)).scenarios.first)
        var runner = ScenarioRunner(scenario)
        #expect(runner.run().line.contains("reason expected callEnded, got callStarted"))
    }

    @Test func `a file of the last segments begins with their state, and says when, by whom and what`() throws {
        let course = Self.randomCourse(5)
        let recording = Self.recording(of: course, segments: 10, events: 10)
        let scenario = try Self.file(recording, last: 2)
        #expect(scenario.id == "incident" && scenario.title == "a \"test\"" && scenario.isRecorded)
        #expect(scenario.startedAt == Date(timeIntervalSince1970: 1_740_848_645.678))
        let replayed = Self.course(scenario)
        #expect(replayed.count > 10 && replayed.count <= 20)
        #expect(replayed.map(\.event) == course.suffix(replayed.count).map(\.event))
        #expect(replayed.last.map { $0.policy.current } == course.last.map { $0.policy.current })
    }

    @Test func `a recorded configuration replaces all keys, also those set to their default`() throws {
        var changed = RoutingConfiguration()
        changed.exclude = [.earpiece, .headset(BluetoothAddress(value: 0x001B_DC08_0011))]
        changed.headsetOrder = [BluetoothAddress(value: 0x001B_DC08_0011)]
        changed.jackGesture = .latched
        changed.manualAudio = true
        changed.startGrace = .milliseconds(1)
        var policy = RoutingPolicy(configuration: changed)
        var recording = RoutingRecording()
        let events: [RoutingEvent] = [.configure(RoutingConfiguration()), .start, .configure(changed)]
        for (index, event) in events.enumerated() {
            let now = Instant(milliseconds: Int64(index))
            recording.willHandle(at: now, policy)
            _ = policy.handle(event, at: now)
            recording.didHandle(event, at: now, policy)
        }
        #expect(Self.course(try Self.file(recording)).map(\.event) == events)
    }
}
