/// Decides when the service manager may hear that the daemon is alive (`WATCHDOG=1`, `sd_notify(3)`).
///
/// That the control loop turns is not enough while a call is heard: the audio is made by the real-time thread, and a caller
/// who hears nothing is not helped by a control loop that is well. So while a path plays, the steps that the thread has made
/// must have grown since the last look. It makes a hundred a second then, by the system's clock if no device gives one, so
/// that standing still for a whole interval has no innocent reason. Without a path the thread sleeps, and the loop's own
/// turn is the proof.
package struct WatchdogKeeper: Equatable, Sendable {
    /// What the real-time thread has done, at one moment.
    package struct Progress: Equatable, Sendable {
        /// The audio of calls is on a device.
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
        /// Not a single step since the last look.
        case stalled
    }

    private var last: Progress?

    package init() {}

    /// To be asked once in each turn of the watchdog. A path that began since the last look is given its first interval.
    package mutating func look(_ now: Progress) -> Verdict {
        defer { last = now }
        guard let last, last.isPlaying, now.isPlaying else { return .alive }
        return now.ticks == last.ticks ? .stalled : .alive
    }
}
