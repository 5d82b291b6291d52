package import ControlLoop
package import Logging

/// What the service manager is told of the daemon: that it is ready, that it is alive, one line of status, that it ends.
@ControlPlane
package final class ServiceLife {
    /// Turns of the watchdog in the time after which the service manager acts: one that is withheld or late does no harm.
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
    ///   - progress: what the real-time thread has done, now.
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

    /// The daemon serves: says so, and begins with the watchdog where the service manager watches.
    package func ready() {
        isReady = true
        notifier.ready()
        statusChanged()
        if notifier.watchdogInterval != nil { turn() }
    }

    /// Says the status when it is another one than the last time.
    package func statusChanged() {
        guard isReady, notifier.isActive else { return }
        let line = status()
        guard line != said else { return }
        said = line
        notifier.status(line)
    }

    /// The daemon begins to end.
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
            if isStalled { logger.notice("the audio thread goes on") }
            isStalled = false
            notifier.watchdog()
        case .stalled:
            if !isStalled {
                logger.error(
                    """
                    the audio thread stands still in a call: the service manager is not told that all is well, and starts \
                    btcalld anew when that lasts \(interval)
                    """)
            }
            isStalled = true
        }
        timer = ControlLoop.shared.schedule(after: interval / Self.turns) { [weak self] in self?.turn() }
    }
}
