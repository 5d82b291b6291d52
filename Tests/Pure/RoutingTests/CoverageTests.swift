import BTCallSimulator
import Foundation
import Routing
import Spelling
import Testing

/// The scenarios use every word of the format (docs/inside/Routing.md §15).
@Suite struct CoverageTests {
    /// One scenario's JSON before it is parsed.
    private struct Words {
        var keys: Set<String> = []
        var events: Set<String> = []
        var expectations: Set<String> = []
        var reasons: Set<String> = []
    }

    private static let words: Words = {
        var words = Words()
        for scenario in NamedScenario.objects {
            let given = scenario["given"] as? [String: Any] ?? [:]
            words.keys.formUnion((given["config"] as? [String: Any] ?? [:]).keys)
            for step in scenario["steps"] as? [[String: Any]] ?? [] {
                if let event = step["do"] as? String {
                    words.events.insert(event)
                    if event == "api.config" { words.keys.formUnion(step.keys) }
                }
                if let expected = step["expect"] as? [String: Any] {
                    words.expectations.formUnion(expected.keys)
                    if let reason = expected["reason"] as? String { words.reasons.insert(reason) }
                }
            }
        }
        return words
    }()

    @Test(arguments: RoutingKey.allCases)
    func `some scenario changes the key`(_ key: RoutingKey) {
        // By its present name, or with the unit in an earlier version's spelling.
        #expect(Self.words.keys.contains { $0 == key.rawValue || UnitSpelling.current(of: $0) == key.rawValue })
    }

    @Test(arguments: EventRecord.scenarioWords + ["mark"])
    func `some scenario uses the word`(_ word: String) {
        #expect(Self.words.events.contains(word))
    }

    @Test(arguments: ScenarioFile.expectationWords)
    func `some scenario expects the observable`(_ word: String) {
        #expect(Self.words.expectations.contains(word))
    }

    @Test(arguments: RouteChangeReason.allCases)
    func `some scenario expects the reason`(_ reason: RouteChangeReason) {
        #expect(Self.words.reasons.contains(reason.rawValue))
    }

    @Test func `identifiers of scenarios are unique`() {
        let identifiers = NamedScenario.all.map(\.scenario.id)
        #expect(Set(identifiers).count == identifiers.count)
        #expect(identifiers.count >= 180)
    }
}
