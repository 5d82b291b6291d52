import BTCallSimulator
package import Foundation

/// `btcall-lab replay`: runs scenario files and reports which hold (docs/inside/Routing.md §15).
package struct Replay {
    /// Additional output.
    package struct Options: Hashable, Sendable {
        /// One JSON object a line instead of text.
        package var isJSON = false
        /// Events, decisions, effects and routes.
        package var isTracing = false
        /// Only scenarios with one of these tags; empty for all.
        package var tags: [String] = []

        package init() {}
    }

    /// A file that is refused: no file is run then.
    package struct Refusal: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package private(set) var passed = 0
    package private(set) var failed = 0
    private let options: Options
    private var scenarios: [Scenario] = []

    package init(_ options: Options = Options()) {
        self.options = options
    }

    /// Reads the content of a file.
    ///
    /// - Parameter name: name of the file for messages.
    /// - Throws: `Refusal` for a file that cannot be read.
    package mutating func add(_ content: Data, name: String) throws(Refusal) {
        do throws(ScenarioError) {
            scenarios += try ScenarioFile(content).scenarios
        } catch {
            throw Refusal("\(name): \(error)")
        }
    }

    /// Runs the added scenarios in order.
    ///
    /// - Parameter write: receives text with its line feeds, at the end of each scenario and at the end of all.
    /// - Throws: `Refusal` when no scenario has any of the tags.
    package mutating func run(_ write: (String) -> Void) throws(Refusal) {
        let chosen = scenarios.filter { scenario in
            options.tags.isEmpty || scenario.tags.contains { options.tags.contains($0) }
        }
        if chosen.isEmpty, !options.tags.isEmpty {
            let tags = Set(scenarios.flatMap(\.tags)).sorted()
            throw Refusal(
                "no scenario has the tag \(options.tags.map { "'\($0)'" }.joined(separator: " or "))"
                    + "; tags are: \(tags.isEmpty ? "none" : tags.joined(separator: ", "))")
        }
        for scenario in chosen {
            var runner = ScenarioRunner(scenario, isTracing: options.isTracing, isObserving: options.isJSON)
            let result = runner.run()
            if result.hasPassed { passed += 1 } else { failed += 1 }
            write(options.isJSON ? lines(result) : text(result, of: scenario))
        }
        write(
            options.isJSON
                ? #"{"passed":\#(passed),"failed":\#(failed)}"# + "\n" : "\(passed) passed, \(failed) failed\n")
    }

    private func text(_ result: ScenarioResult, of scenario: Scenario) -> String {
        var text = ""
        for line in result.traceLines {
            let time = scenario.startedAt.map { start in
                start.addingTimeInterval(Double(line.milliseconds) / 1000)
                    .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            }
            text += "  \(time ?? String(line.milliseconds)) \(line.kind.rawValue) \(line.text)\n"
        }
        return text + result.line + "\n"
    }

    /// The observables of each step, then the trace, then the outcome.
    private func lines(_ result: ScenarioResult) -> String {
        (result.observations + result.traceLines.map { $0.json(id: result.id) } + [result.json])
            .map { $0 + "\n" }.joined()
    }
}
