import AudioEngine
import AudioPaths
import BlueZ
import BluetoothTypes
package import CallControl
import ControlLoop
import Diagnostics
import HeadsetControl
import Logging
import Routing
package import Telephony

// What is counted, and who may read it.
extension Daemon {
    package func joinMetrics() {
        admission.onOutcome = { [weak self] codec, failure in self?.metrics.linkSetUp(codec, failure) }
        metricsListener.text = { [weak self] in self?.metricsText ?? "" }
        if registry.isServicePresent { metrics.serviceAppeared() }
    }

    /// As OpenMetrics.
    package var metricsText: String {
        var present = Metrics.Present()
        present.version = Self.version
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

    package func count(_ record: CallRecord, _ reason: CallEndReason) {
        let answered = record.answeredAt.map { $0.duration(to: ControlLoop.now) }
        metrics.callEnded(reason, after: answered ?? .zero)
    }
}
