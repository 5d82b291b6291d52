/// Decides whether the daemon may report to the service manager that it is alive (`WATCHDOG=1`, `sd_notify(3)`).
///
/// During a call a running control loop is not enough: the real-time thread makes the audio. So while a path plays, the
/// thread's step counter must have grown since the last check. The thread makes 100 steps a second then (by the system's
/// clock if no device gives one), so a whole interval without a step is always a failure. Without a path the thread sleeps,
/// and the control loop's own turn is enough.
package struct WatchdogKeeper: Equatable, Sendable {
    /// Progress of the real-time thread at one moment.
    package struct Progress: Equatable, Sendable {
        /// Whether a device plays the audio of calls.
        package var isPlaying: Bool
        /// Steps of 10 ms since the daemon started; only grows.
        package var ticks: Int

        package init(isPlaying: Bool, ticks: Int) {
            self.isPlaying = isPlaying
            self.ticks = ticks
        }
    }

    package enum Verdict: Equatable, Sendable {
        case alive
        /// No step since the last check.
        case stalled
    }

    private var last: Progress?

    package init() {}

    /// Called once in each turn of the watchdog. A path that started since the last check passes its first one.
    package mutating func look(_ now: Progress) -> Verdict {
        defer { last = now }
        guard let last, last.isPlaying, now.isPlaying else { return .alive }
        return now.ticks == last.ticks ? .stalled : .alive
    }
}
