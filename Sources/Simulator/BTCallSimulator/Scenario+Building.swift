package import BluetoothTypes
package import Routing

/// Scenarios that are made by a program: tests that vary times, order and configuration.
extension Scenario {
    /// A scenario that expects nothing; the silence of its calls is not checked.
    ///
    /// - Parameter events: in the order of their times.
    package static func course(
        id: String, title: String, given: Given, events: [(time: Instant, record: EventRecord)]
    ) -> Scenario {
        Scenario(
            id: id, title: title, tags: [], source: nil, mayBeSilent: true, exactTiming: false, isRecorded: false,
            given: given, steps: events.map { Step(time: $0.time, action: .event($0.record)) })
    }

    /// The events of the scenario in their order, without marks and expectations.
    package var events: [(time: Instant, record: EventRecord)] {
        steps.compactMap { step in
            if case .event(let record) = step.action { (step.time, record) } else { nil }
        }
    }
}

extension ScenarioFile {
    /// What `expect` understands.
    package static var expectationWords: [String] { ScenarioObservable.names }
}

extension Scenario.Given {
    /// What holds where a scenario says nothing.
    package static var usual: Scenario.Given { Scenario.Given() }
}

extension Scenario.HeadsetModel {
    /// A headset as it is where a scenario says nothing.
    package static func usual(_ address: BluetoothAddress) -> Scenario.HeadsetModel {
        Scenario.HeadsetModel(address: address)
    }
}
