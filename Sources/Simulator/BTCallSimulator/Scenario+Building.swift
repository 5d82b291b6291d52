package import BluetoothTypes
package import Routing

/// Scenarios built by a program: for tests that vary times, order and configuration.
extension Scenario {
    /// A scenario without expectations; the silence of its calls is not checked.
    ///
    /// - Parameter events: in the order of their times.
    package static func course(
        id: String, title: String, given: Given, events: [(time: Instant, record: EventRecord)]
    ) -> Scenario {
        Scenario(
            id: id, title: title, tags: [], source: nil, mayBeSilent: true, exactTiming: false, isRecorded: false,
            given: given, steps: events.map { Step(time: $0.time, action: .event($0.record)) })
    }

    /// The events of the scenario in order, without marks and expectations.
    package var events: [(time: Instant, record: EventRecord)] {
        steps.compactMap { step in
            if case .event(let record) = step.action { (step.time, record) } else { nil }
        }
    }
}

extension ScenarioFile {
    /// The words that `expect` accepts.
    package static var expectationWords: [String] { ScenarioObservable.names }
}

extension Scenario.Given {
    /// The defaults of a scenario.
    package static var usual: Scenario.Given { Scenario.Given() }
}

extension Scenario.HeadsetModel {
    /// The defaults of a headset.
    package static func usual(_ address: BluetoothAddress) -> Scenario.HeadsetModel {
        Scenario.HeadsetModel(address: address)
    }
}
