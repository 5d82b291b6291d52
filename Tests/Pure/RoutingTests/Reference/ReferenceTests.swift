import BTCallSimulator
import Foundation
import JSONText
import Routing
import Testing

/// Compares the policy with a second implementation of its rules (docs/inside/Routing.md). A difference prints its seed
/// and the shortest course that still has one, as a scenario file for `btcall-lab replay`.
@Suite struct ReferenceTests {
    @Test(arguments: randomCourses(3))
    func `the policy and the reference agree along a hundred random courses`(_ batch: Int) async {
        await check(UInt64(batch) * 100..<UInt64(batch + 1) * 100) { seed in
            ReferenceComparison().report(Self.course(seed))
        }
    }

    @Test(arguments: randomCourses(1))
    func `the policy and the reference agree along the scenarios with other times`(_ batch: Int) async {
        let scenarios = NamedScenario.all.map(\.scenario).filter { !$0.exactTiming }
        await check(UInt64(batch) * 500..<UInt64(batch + 1) * 500) { seed in
            let scenario = scenarios[Int(seed % UInt64(scenarios.count))]
            let course = ReferenceComparison.decided(RandomCourse(jittering: scenario, seed: seed).comparable)
            return ReferenceComparison().report(course).map { "\(scenario.id), \($0)" }
        }
    }

    @Test(arguments: ReferencePolicy.Mistake.allCases)
    func `a rule that is broken on purpose is found`(_ mistake: ReferencePolicy.Mistake) {
        let comparison = ReferenceComparison(mistake: mistake)
        let found = (0..<UInt64(2000)).lazy.map { Self.course($0) }.first {
            comparison.difference($0) != nil
        }
        #expect(found != nil, "\(mistake.rawValue)")
    }

    @Test func `a course along which the two differ is shortened to what they differ in`() throws {
        let comparison = ReferenceComparison(mistake: .transferIsIgnored)
        let course = try #require(
            (0..<UInt64(2000)).lazy.map { Self.course($0) }.first { course in
                ReferenceComparison().difference(course) == nil && comparison.difference(course) != nil
            })
        let short = comparison.shrunk(course)
        #expect(comparison.difference(short) != nil)
        #expect(short.steps.count <= 6)
        let text = ScenarioText.file(short.scenario())
        #expect(try ScenarioFile(Data(text.utf8)).scenarios.count == 1)
    }

    @Test(arguments: ReferenceScenario.all)
    func `a scenario holds for the reference`(_ named: ReferenceScenario) throws {
        let expectations = try #require(ReferenceExpectations(named.scenario, object: named.object))
        #expect(expectations.failures().isEmpty, "\(expectations.failures().joined(separator: "\n"))")
    }

    private static func course(_ seed: UInt64) -> RandomCourse {
        ReferenceComparison.decided(RandomCourse(seed: seed).comparable)
    }

    /// Spread over the processors, one small part of the seeds at a time.
    private func check(_ seeds: Range<UInt64>, _ report: @escaping @Sendable (UInt64) -> String?) async {
        await withTaskGroup(of: [String].self) { group in
            for start in stride(from: seeds.lowerBound, to: seeds.upperBound, by: 10) {
                group.addTask { (start..<min(start + 10, seeds.upperBound)).compactMap(report) }
            }
            for await reports in group {
                for report in reports { Issue.record("\(report)") }
            }
        }
    }
}

/// A scenario of a fixture file, also as it stands there.
struct ReferenceScenario: Sendable, CustomTestStringConvertible {
    let scenario: Scenario
    let object: JSON

    var testDescription: String { "\(scenario.id): \(scenario.title)" }

    static let all: [ReferenceScenario] = {
        // What a talk key means for the link of its headset is not among the rules.
        let files = NamedScenario.files.filter { $0.lastPathComponent != "talk.json" }
        return files.flatMap { url -> [ReferenceScenario] in
            do {
                let data = try Data(contentsOf: url)
                guard case .array(let objects) = try JSON(reading: Array(data))["scenarios"] else { return [] }
                let scenarios = try ScenarioFile(data).scenarios
                return zip(scenarios, objects).map { ReferenceScenario(scenario: $0, object: $1) }
            } catch {
                Issue.record("\(url.lastPathComponent): \(error)")
                return []
            }
        }
    }()
}
