import ControlLoop
import DBus
import Synchronization

extension CallBridge {
    /// Gets every log message: those of this library in this process, and those of the daemons that its bridges are connected to.
    ///
    /// - Parameters:
    ///   - module: who says it: `btcalld`, `btcall.dbus`, `btcall`.
    ///   - context: what it was said of, by name; often empty.
    public typealias LogMessageCallback =
        @Sendable (_ module: String, _ message: String, _ level: LogLevel, _ context: [String: String]) -> Void

    /// Who gets the log in place of the console; nil: nobody, which is how it begins.
    ///
    /// It is of the whole process and may be set at any time, also before the first bridge is made; what is logged before is not
    /// told. While it is set neither this library nor the daemon writes to standard error; the daemon's journal has everything all
    /// the same. It may be called from any thread and by several at once, and should return soon: of a program that is slow to
    /// take them the daemon loses the oldest messages, and says how many (a `warning` of `btcall.log` with `lost` in its context).
    /// The daemon gives its log to those only who may command it; to others a `warning` of `btcall` says so.
    public static var logMessageCallback: LogMessageCallback? {
        get { LogReceiver.callback }
        set { LogReceiver.set(newValue) }
    }
}

/// How grave a log message is; the greater the graver.
public enum LogLevel: String, Hashable, Sendable, CaseIterable, Comparable {
    case trace, debug, info, notice, warning, error, critical

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// What the process wants of the log, and who brings it.
enum LogReceiver {
    private struct Follower: Sendable {
        let identifier: ObjectIdentifier
        let bus: BridgeBus
        /// Looks again whether it has to follow the daemon's log.
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

    /// Of several bridges to one bus the eldest brings the lines: else they would come more than once.
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
