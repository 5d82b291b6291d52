package import BluetoothTypes
package import ControlLoop
package import Logging
package import Routing

/// Notices failures of a call's audio, and saves the recording of them to a file.
@ControlPlane
package final class IncidentMonitor {
    /// The longest time that a call may have no audio path while one is due.
    private static let silenceLimit = Duration.seconds(2)
    /// The shortest time between two files: a headset that fails repeatedly is one incident.
    private static let pause = Duration.seconds(60)
    /// Newest segments of the recording to save: enough to show the cause, and few enough to write at once.
    private static let segmentCount = 2

    private let recorder: FlightRecorder
    private let files: IncidentFiles?
    private let logger: Logger
    private let delay: Duration
    private var silence: Timer?
    private var writing: Timer?
    private var lastIncident: Instant?
    /// Number of files started.
    package private(set) var count = 0

    /// - Parameters:
    ///   - files: where files are kept; nil keeps none.
    ///   - delay: time before a file is written, so that the reaction to the incident is part of it and is not held up by it.
    package init(recorder: FlightRecorder, files: IncidentFiles?, delay: Duration, logger: Logger) {
        self.recorder = recorder
        self.files = files
        self.delay = delay
        self.logger = logger
    }

    // MARK: Events

    /// Called after each event.
    ///
    /// - Parameter old: the route before the event.
    package func handled(_ event: RoutingEvent, old: Route?, _ policy: RoutingPolicy, at now: Instant) {
        if case .localLost(let kind) = event, old == .local(kind) {
            begin("\(kind.rawValue) failed while it carried the call")
        }
        watchSilence(policy, at: now)
    }

    /// Called when all attempts to reach a headset have failed.
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
