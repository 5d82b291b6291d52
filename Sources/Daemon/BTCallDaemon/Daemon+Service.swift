import AudioEngine
import AudioPaths
import BTCallAPI
package import ControlLoop
import Diagnostics

// The daemon's reports to a service manager.
extension Daemon {
    /// Whether the real-time thread plays, and how many steps it has made; read by the watchdog.
    package var audioProgress: WatchdogKeeper.Progress {
        .init(isPlaying: graph.routedTerminal != nil, ticks: graph.engine.counters().ticks)
    }

    /// One line for `systemctl status`: the state, the device that plays the calls, the number of problems.
    package var statusLine: String {
        var parts = [state.rawValue]
        if let endpoint = graph.routedTerminal.flatMap(graph.endpoint(ofTerminal:)) {
            parts.append("audio on \(endpoint)")
        }
        let count = problems.problems.count
        if count > 0 { parts.append("\(count) \(count == 1 ? "problem" : "problems"): see btcall status") }
        return parts.joined(separator: "; ")
    }

    /// Creates the object that reports this daemon to a service manager from now on.
    package func serviceReporter(_ notifier: ServiceNotifier) -> ServiceReporter {
        let service = ServiceReporter(
            notifier: notifier,
            progress: { [weak self] in self?.audioProgress ?? .init(isPlaying: false, ticks: 0) },
            status: { [weak self] in self?.statusLine ?? "" }, logger: logger)
        lifecycle.stateChanges.subscribe(service) { $0.statusChanged() }
        problems.changes.subscribe(service) { $0.statusChanged() }
        graph.events.subscribe(service) { service, event in
            if case .routed = event { service.statusChanged() }
        }
        return service
    }
}
