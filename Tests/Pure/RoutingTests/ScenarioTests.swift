import BTCallSimulator
import Foundation
import Testing

/// A scenario of a fixture file, with a name for failures.
struct NamedScenario: Sendable, CustomTestStringConvertible {
    let file: String
    let scenario: Scenario

    var testDescription: String { "\(file) \(scenario.id): \(scenario.title)" }

    /// The files beside this test, in order.
    static let files: [URL] = {
        let folder = Bundle.module.bundleURL.appending(path: "Scenarios")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }()

    /// Every scenario as in its file, for tests of the words used.
    static var objects: [[String: Any]] {
        files.flatMap { url -> [[String: Any]] in
            do {
                let file = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any]
                return file?["scenarios"] as? [[String: Any]] ?? []
            } catch {
                Issue.record("\(url.lastPathComponent): \(error)")
                return []
            }
        }
    }

    /// Every scenario, ordered by file.
    static let all: [NamedScenario] = {
        files.flatMap { url -> [NamedScenario] in
            do {
                let file = try ScenarioFile(Data(contentsOf: url))
                return file.scenarios.map { NamedScenario(file: url.lastPathComponent, scenario: $0) }
            } catch {
                Issue.record("\(url.lastPathComponent): \(error)")
                return []
            }
        }
    }()
}

@Suite struct ScenarioTests {
    @Test(arguments: NamedScenario.all)
    func `a scenario holds`(_ named: NamedScenario) {
        var runner = ScenarioRunner(named.scenario, isTracing: true)
        let result = runner.run()
        #expect(result.hasPassed, "\(result.failures)\n\(result.trace.joined(separator: "\n"))")
    }

    @Test func `all seventeen core scenarios exist`() {
        #expect(NamedScenario.all.filter { $0.file == "core.json" }.count == 17)
    }
}
