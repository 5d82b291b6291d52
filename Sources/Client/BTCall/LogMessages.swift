import ControlLoop
import DBus
import Synchronization

extension CallBridge {
    /// Receives every log message of this library in this process and of the daemons that its bridges are connected to.
    ///
    /// - Parameters:
    ///   - module: source of the message: `btcalld`, `btcall.dbus`, `btcall`.
    ///   - context: subjects of the message by name; often empty.
    public typealias LogMessageCallback =
        @Sendable (_ module: String, _ message: String, _ level: LogLevel, _ context: [String: String]) -> Void

    /// Callback that receives the log instead of the console; nil (the initial value) for none.
    ///
    /// It applies to the whole process and may be set at any time, also before the first bridge is made; earlier messages
    /// are not delivered. While it is set, neither this library nor the daemon writes to standard error; the daemon's
    /// journal still has everything. The callback may be called from any thread and by several at once, and should return
    /// soon: for a program that is slow to read, the daemon drops the oldest messages and reports how many (a `warning` of
    /// `btcall.log` with `lost` in its context). The daemon sends its log only to users who may command it; others get a
    /// `warning` of `btcall` that says so.
    public static var logMessageCallback: LogMessageCallback? {
        get { LogReceiver.callback }
        set { LogReceiver.set(newValue) }
    }
}

/// Severity of a log message; a greater level is more severe.
public enum LogLevel: String, Hashable, Sendable, CaseIterable, Comparable {
    case trace, debug, info, notice, warning, error, critical

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The process's log callback, and the followers that feed it.
enum LogReceiver {
    private struct Follower: Sendable {
        let identifier: ObjectIdentifier
        let bus: BridgeBus
        /// Checks again whether the follower has to follow the daemon's log.
        let update: @ControlPlane @Sendable () -> Void
    }

    private struct State {
        var callback: CallBridge.LogMessageCallback?
        var sink: LogSink?
        var followers: [Follower] = []
    }

    private static let state = Mutex(State())

    static var callback: CallBridge.LogMessageCallback? { state.withLock(\.callback) }

    static func set(_ callback: CallBridge.LogMessageCallback?) {
        let followers = state.withLock { state in
            state.callback = callback
            if callback != nil, state.sink == nil {
                state.sink = LogSinks.add { deliver($0) }
            } else if callback == nil {
                state.sink?.end()
                state.sink = nil
            }
            return state.followers
        }
        tell(followers)
    }

    static func deliver(_ line: LogLine) {
        callback?(line.module, line.message, LogLevel(rawValue: line.level) ?? .info, line.context)
    }

    static func add(_ follower: LogFollower, on bus: BridgeBus, update: @escaping @ControlPlane @Sendable () -> Void) {
        let new = Follower(identifier: ObjectIdentifier(follower), bus: bus, update: update)
        state.withLock { $0.followers.append(new) }
    }

    static func remove(_ follower: LogFollower) {
        let identifier = ObjectIdentifier(follower)
        tell(
            state.withLock { state in
                state.followers.removeAll { $0.identifier == identifier }
                return state.followers
            })
    }

    /// Of several bridges to one bus, only the eldest receives the lines: otherwise each line would arrive more than once.
    static func wants(_ follower: LogFollower, on bus: BridgeBus) -> Bool {
        let identifier = ObjectIdentifier(follower)
        return state.withLock { state in
            state.callback != nil && state.followers.first { $0.bus == bus }?.identifier == identifier
        }
    }

    private static func tell(_ followers: [Follower]) {
        guard !followers.isEmpty else { return }
        Task { @ControlPlane in
            for follower in followers { follower.update() }
        }
    }
}
