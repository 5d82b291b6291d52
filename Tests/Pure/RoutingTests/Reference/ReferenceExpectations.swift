import BTCallSimulator
import BluetoothTypes
import JSONText
import Routing

/// Runs a scenario file's steps through the reference and checks what they expect (docs/inside/Routing.md, section 15).
struct ReferenceExpectations {
    private let scenario: Scenario
    /// The steps as they stand in the file.
    private let steps: [JSON]

    /// - Parameter object: the scenario as it stands in its file.
    init?(_ scenario: Scenario, object: JSON) {
        guard case .array(let steps) = object["steps"], steps.count == scenario.steps.count else { return nil }
        self.scenario = scenario
        self.steps = steps
    }

    /// Every expectation that does not hold, in words.
    func failures() -> [String] {
        var run = ReferenceRun(scenario.given, isLogging: false)
        var failures: [String] = []
        for (index, step) in scenario.steps.enumerated() {
            run.advance(to: step.time)
            switch step.action {
            case .event(let record): run.step(record, at: step.time)
            case .mark: run.mark()
            case .expect:
                guard case .object(let members) = steps[index]["expect"] else { continue }
                for member in members where !holds(member, run) {
                    let value = actual(member.name, run).text()
                    failures.append(
                        "step \(index + 1): \(member.name) expected \(member.value.text()), got \(value)")
                }
            }
        }
        return failures
    }

    // MARK: Comparing

    private func holds(_ member: JSON.Member, _ run: ReferenceRun) -> Bool {
        let (expected, actual) = (member.value, actual(member.name, run))
        switch member.name {
        case "available": return Set(elements(expected)) == Set(elements(actual))
        case "everRoute": return elements(expected).allSatisfy { matches($0, elements(actual)) }
        case "neverRoute": return !elements(expected).contains { matches($0, elements(actual)) }
        case "routeIn": return elements(expected).contains { matches($0, [actual]) }
        case "opens", "opensMax":
            guard case .object(let counts) = expected else { return false }
            return counts.allSatisfy { count in
                let made = actual[count.name]?.integerValue ?? 0
                let bound = count.value.integerValue ?? -1
                return member.name == "opens" ? made == bound : made <= bound
            }
        case "ring":
            guard case .object(let members) = expected else { return false }
            return members.allSatisfy { actual[$0.name] == $0.value }
        case "switchesMax", "silenceMaxMs":
            return (actual.integerValue ?? .max) <= (expected.integerValue ?? -1)
        default: return actual == expected
        }
    }

    private func elements(_ value: JSON) -> [JSON] {
        if case .array(let elements) = value { elements } else { [value] }
    }

    /// `bluetooth` stands for any headset.
    private func matches(_ device: JSON, _ others: [JSON]) -> Bool {
        guard device == .string("bluetooth") else { return others.contains(device) }
        return others.contains { $0.stringValue?.hasPrefix("bluetooth") == true }
    }

    // MARK: Observables

    private func actual(_ name: String, _ run: ReferenceRun) -> JSON {
        let seen = run.observation
        return switch name {
        case "route", "routeIn": device(seen.route)
        case "pending": device(seen.pending)
        case "mode": JSON(seen.mode?.rawValue)
        case "out": .string(abbreviated(seen.output.description))
        case "in": .string(abbreviated(seen.input.description))
        case "available": .array(seen.available.map { device($0) })
        case "selected": device(seen.selected)
        case "override": JSON(seen.override.map { abbreviated($0) })
        case "preferred": device(seen.preferred)
        case "default": device(seen.fallback)
        case "started": .bool(seen.isStarted)
        case "muted": .bool(seen.isMuted)
        case "error": JSON(seen.error?.rawValue)
        case "reason": JSON(seen.reason?.rawValue)
        case "opens", "opensMax": JSON(seen.opens.map { (abbreviated($0.key.description), JSON($0.value)) })
        case "switches", "switchesMax": JSON(run.switches)
        case "silenceMaxMs": JSON(run.silenceMax.milliseconds)
        case "ring":
            ["local": .bool(seen.ringing.local), "headset": .string(seen.ringing.headset.rawValue)]
        case "restored": .array(seen.restored.map { .string(abbreviated($0.description)) })
        case "everRoute", "neverRoute": .array(run.routes.map { device($0) })
        default: .null
        }
    }

    private func device(_ device: AudioDevice?) -> JSON {
        .string(abbreviated((device ?? AudioDevice.none).description))
    }

    /// Puts the placeholders `H1`, `H2`, … in place of their addresses.
    private func abbreviated(_ text: String) -> String {
        (1...9).reduce(text) { $0.replacing(RandomCourse.address($1).description, with: "H\($1)") }
    }
}
