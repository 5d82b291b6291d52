package import Configuration
package import ControlLoop
package import Diagnostics
import Routing

/// Reports why rings, tones or announcements beside the calls are not audible.
@ControlPlane
package final class OutputProblems {
    private static let problem = "ring.device"
    private let settings: Settings
    private let problems: ProblemList
    private var failure: AudioGraph.OutputFailure?

    package init(graph: AudioGraph, settings: Settings, problems: ProblemList) {
        self.settings = settings
        self.problems = problems
        graph.events.subscribe(self) { outputs, event in
            guard case .outputFailed(let failure) = event else { return }
            outputs.failure = failure
            outputs.follow()
        }
        follow()
    }

    /// Checks again: the configuration may name another ring device.
    package func follow() {
        if let failure {
            problems.begin(
                Self.problem, what: "nothing is played on \(failure.device): \(failure.error.what)",
                remedy: failure.error.remedy)
        } else if let (key, device) = settings.configuration.silentRingDevice {
            problems.begin(
                Self.problem,
                what: "[ring] \(key) is \(device.rawValue), which has no section with playback: nothing is heard there",
                remedy: "name another device or none, or write [device \(device.rawValue)] with playback = hw:0,0")
        } else {
            problems.end(Self.problem)
        }
    }
}
