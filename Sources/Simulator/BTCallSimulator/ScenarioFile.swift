public import Foundation
import JSONText

/// A file of scenarios in the format `btcall-scenario/1` (docs/inside/Routing.md §15).
public struct ScenarioFile: Sendable {
    public let scenarios: [Scenario]

    /// Reads a file's content.
    ///
    /// - Throws: `ScenarioError` for an unknown key, event or device, or any other error.
    public init(_ data: Data) throws(ScenarioError) {
        let value: JSON
        do throws(JSONError) {
            value = try JSON(reading: Array(data))
        } catch {
            throw ScenarioError(scenario: nil, step: nil, text: "no valid JSON, line \(error.line): \(error.problem)")
        }
        scenarios = try ScenarioReader().read(value)
    }
}

/// Reason why a scenario was refused: an error in the file.
public struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The scenario's identifier; nil outside scenarios.
    public let scenario: String?
    /// The step, counted from 1; nil outside steps.
    public let step: Int?
    /// The error, and what is accepted.
    public let text: String

    /// For example `R001 step 4: unknown event …; accepted: …`.
    public var description: String {
        var place = scenario ?? ""
        if let step { place += place.isEmpty ? "step \(step)" : " step \(step)" }
        return place.isEmpty ? text : "\(place): \(text)"
    }
}
