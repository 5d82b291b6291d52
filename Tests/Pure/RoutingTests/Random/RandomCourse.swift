import BTCallSimulator
import BluetoothTypes
import Routing

/// A random scenario: initial state, and events with the pause before each.
struct RandomCourse: Sendable {
    struct Step: Sendable {
        /// In milliseconds.
        let pause: Int64
        let record: EventRecord
    }

    let seed: UInt64
    var given: Scenario.Given
    var steps: [Step]

    /// After the last event, an hour must be enough to settle, whatever the headsets refuse.
    static let rest: Int64 = 3_600_000

    /// The address that scenarios call `H1`, `H2`, …
    static func address(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(value: 0x0200_0000_0000 + UInt64(number))
    }

    var duration: Int64 { steps.reduce(0) { $0 + $1.pause } + Self.rest }

    func scenario() -> Scenario {
        var time: Int64 = 0
        var events = steps.map { step in
            time += step.pause
            return (time: Instant(milliseconds: time), record: step.record)
        }
        // An unknown call is ignored: only time passes.
        events.append((Instant(milliseconds: duration), EventRecord.ended("nobody")))
        return .course(id: "random-\(seed)", title: "Random course \(seed)", given: given, events: events)
    }

    /// The first broken invariant; nil when all hold.
    func problem(isThorough: Bool = false) -> String? {
        InvariantChecker.problem(along: scenario(), isThorough: isThorough)
    }

    /// Removes ever smaller parts, halves first, as long as some invariant stays broken.
    func shrunk() -> RandomCourse {
        var course = self
        var size = max(steps.count / 2, 1)
        while true {
            var start = 0
            while start < course.steps.count {
                var shorter = course
                shorter.steps.removeSubrange(start..<min(start + size, course.steps.count))
                if shorter.problem(isThorough: true) != nil {
                    course = shorter
                } else {
                    start += size
                }
            }
            if size == 1 { return course }
            size /= 2
        }
    }

    /// Report of a failing course; nil when all invariants hold.
    func report() -> String? {
        guard let problem = problem() else { return nil }
        let short = shrunk()
        let shortProblem = short.problem(isThorough: true) ?? ""
        return "seed \(seed): \(problem)\nshortest: \(shortProblem)\n\(ScenarioText.file(short.scenario()))"
    }
}

extension RandomCourse {
    /// The events of a scenario, each pause up to three tenths longer or shorter.
    init(jittering scenario: Scenario, seed: UInt64) {
        var random = CourseNumbers(seed: seed)
        var last = Instant.zero
        let steps = scenario.events.map { event in
            let pause = last.duration(to: event.time).milliseconds
            last = event.time
            let factor = Int64(70 + random.below(61))
            return Step(pause: pause * factor / 100 + Int64(random.below(30)), record: event.record)
        }
        self.init(seed: seed, given: scenario.given, steps: steps)
    }
}
