package import ControlLoop
package import Logging

/// Reports the daemon to the service manager: readiness, watchdog, one line of status, the end.
@ControlPlane
package final class ServiceReporter {
    /// Watchdog notifications per watchdog interval of the service manager: one that is missing or late does no harm.
    package nonisolated static let turns = 4

    private let notifier: ServiceNotifier
    private let progress: @ControlPlane () -> WatchdogKeeper.Progress
    private let status: @ControlPlane () -> String
    private let logger: Logger
    private var keeper = WatchdogKeeper()
    private var isStalled = false
    private var said: String?
    private var isReady = false
    private var timer: Timer?

    /// - Parameters:
    ///   - progress: the current progress of the real-time thread.
    ///   - status: the line that `systemctl status` shows.
    package init(
        notifier: ServiceNotifier, progress: @escaping @ControlPlane () -> WatchdogKeeper.Progress,
        status: @escaping @ControlPlane () -> String, logger: Logger
    ) {
        self.notifier = notifier
        self.progress = progress
        self.status = status
        self.logger = logger
    }

    /// Reports that the daemon serves, and starts the watchdog if the service manager asks for it.
    package func ready() {
        isReady = true
        notifier.ready()
        statusChanged()
        if notifier.watchdogInterval != nil { turn() }
    }

    /// Reports the status line if it has changed.
    package func statusChanged() {
        guard isReady, notifier.isActive else { return }
        let line = status()
        guard line != said else { return }
        said = line
        notifier.status(line)
    }

    /// Reports that the daemon is stopping.
    package func stopping() {
        isReady = false
        timer?.cancel()
        timer = nil
        notifier.stopping()
    }

    private func turn() {
        guard let interval = notifier.watchdogInterval else { return }
        switch keeper.look(progress()) {
        case .alive:
            if isStalled { logger.notice("the audio thread continues") }
            isStalled = false
            notifier.watchdog()
        case .stalled:
            if !isStalled {
                logger.error(
                    """
                    the audio thread stands still in a call: btcalld sends no WATCHDOG=1, and the service manager restarts \
                    btcalld if that lasts \(interval)
                    """)
            }
            isStalled = true
        }
        timer = ControlLoop.shared.schedule(after: interval / Self.turns) { [weak self] in self?.turn() }
    }
}
