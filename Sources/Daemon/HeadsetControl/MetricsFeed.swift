import AudioEngine
package import AudioPaths
import BlueZ
import BluetoothTypes
package import CallControl
package import ControlLoop
package import Diagnostics
import Routing
import Telephony

/// Counters and present values for monitoring systems, as OpenMetrics.
@ControlPlane
package final class MetricsFeed {
    package let metrics = Metrics()
    private let version: String
    private let began = WallClock.now
    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let calls: CallDirectory
    private let graph: AudioGraph
    private let router: any RouteDeciding
    private let problems: ProblemList

    /// - Parameter version: of the daemon.
    package init(
        version: String, audio: AudioParts, calls: CallDirectory, headsets parts: HeadsetParts, commands: EventCommands,
        router: any RouteDeciding, problems: ProblemList
    ) {
        self.version = version
        registry = parts.registry
        headsets = parts.directory
        self.calls = calls
        graph = audio.graph
        self.router = router
        self.problems = problems
        if registry.isServicePresent { metrics.serviceAppeared() }
        registry.events.subscribe(self) { feed, event in
            if event == .serviceAppeared { feed.metrics.serviceAppeared() }
        }
        router.notices.subscribe(self) { feed, notice in
            if case .routeChanged(_, _, let reason) = notice { feed.metrics.routeChanged(reason) }
        }
        parts.admission.events.subscribe(self) { feed, event in
            if case .ended(let codec, let failure) = event { feed.metrics.linkSetUp(codec, failure) }
        }
        calls.refusals.subscribe(self) { feed, _ in feed.metrics.callRefused() }
        calls.changes.subscribe(self) { feed, change in
            guard case .ended(let record, let reason) = change else { return }
            let answered = record.answeredAt.map { $0.duration(to: ControlLoop.now) }
            feed.metrics.callEnded(reason, after: answered ?? .zero)
        }
        commands.ended.subscribe(self) { feed, end in
            feed.metrics.hookEnded(end.event, isFailure: end.isFailure)
        }
    }

    /// The metrics as OpenMetrics.
    package var text: String {
        var present = Metrics.Present()
        present.version = version
        present.calls = calls.calls.count
        present.headsets = headsets.connectedCount
        present.route = router.policy.current
        present.isServicePresent = registry.isServicePresent
        present.problems = problems.problems.count
        present.audio = graph.totals()
        present.lateWakeUps = graph.engine.counters().lateWakeUps
        present.process = .now(began: began)
        return metrics.text(present)
    }
}
