package import BluetoothTypes
package import ControlLoop
package import Logging
package import Routing

/// Notices what should not happen to a call, and keeps the recording of it in a file.
@ControlPlane
package final class IncidentMonitor {
    /// The longest silence that a call may have (routing policy §12, I2).
    private static let silenceLimit = Duration.seconds(2)
    /// At most one file in this time: a headset that fails again and again is one incident.
    private static let pause = Duration.seconds(60)
    /// Of the recording, in segments: what led to it, and little enough to be written at once.
    private static let segmentCount = 2

    private let recorder: FlightRecorder
    private let files: IncidentFiles?
    private let logger: Logger
    private let delay: Duration
    private var silence: Timer?
    private var writing: Timer?
    private var lastIncident: Instant?
    /// How many files were begun.
    package private(set) var count = 0

    /// - Parameters:
    ///   - files: where files are kept; nil keeps none.
    ///   - delay: before a file is written: what is done about an incident belongs to it, and is not to wait for it.
    package init(recorder: FlightRecorder, files: IncidentFiles?, delay: Duration, logger: Logger) {
        self.recorder = recorder
        self.files = files
        self.delay = delay
        self.logger = logger
    }

    // MARK: What happens

    /// To be told after each event.
    ///
    /// - Parameter old: the route before it.
    package func handled(_ event: RoutingEvent, old: Route?, _ policy: RoutingPolicy, at now: Instant) {
        if case .localLost(let kind) = event, old == .local(kind) {
            begin("\(kind.rawValue) failed while it carried the call")
        }
        watchSilence(policy, at: now)
    }

    /// All attempts to reach a headset failed.
    package func activationFailed(_ address: BluetoothAddress) {
        begin("all attempts to open the link of bluetooth:\(address) failed")
    }

    private func watchSilence(_ policy: RoutingPolicy, at now: Instant) {
        guard policy.current == nil, policy.isPathDue(at: now) else {
            silence?.cancel()
            silence = nil
            return
        }
        guard silence == nil else { return }
        silence = ControlLoop.shared.schedule(at: now.advanced(by: Self.silenceLimit)) { [weak self] in
            self?.begin("a call had no path for more than 2 s, though one was due")
        }
    }

    // MARK: Files

    private func begin(_ title: String) {
        guard let files, writing == nil else { return }
        let now = ControlLoop.now
        if let lastIncident, lastIncident.duration(to: now) < Self.pause { return }
        lastIncident = now
        count += 1
        writing = ControlLoop.shared.schedule(after: delay) { [weak self] in
            self?.writing = nil
            self?.write(title, files)
        }
    }

    private func write(_ title: String, _ files: IncidentFiles) {
        guard let text = recorder.incident(title: title, last: Self.segmentCount) else { return }
        do throws(SystemError) {
            let path = try files.add(text, at: WallClock.now)
            logger.warning("\(title): kept in \(path); `btcall-lab replay --trace \(path)` shows what happened")
        } catch {
            logger.warning("\(title), but the incident cannot be kept in \(files.directory): \(error)")
        }
    }
}
