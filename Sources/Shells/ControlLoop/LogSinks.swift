package import Logging
internal import Synchronization

/// Receivers of this process's log lines that replace its console.
package enum LogSinks {
    private struct State {
        var sinks: [(identifier: UInt64, receive: @Sendable (LogLine) -> Void)] = []
        var lastIdentifier: UInt64 = 0
    }

    private static let state = Mutex(State())

    package static var isEmpty: Bool { state.withLock(\.sinks.isEmpty) }

    /// - Parameter receive: called on the thread that logs; must neither block nor log.
    /// - Returns: a handle that ends it.
    package static func add(_ receive: @escaping @Sendable (LogLine) -> Void) -> LogSink {
        state.withLock { state in
            state.lastIdentifier += 1
            state.sinks.append((state.lastIdentifier, receive))
            return LogSink(identifier: state.lastIdentifier)
        }
    }

    static func remove(_ identifier: UInt64) {
        state.withLock { state in state.sinks.removeAll { $0.identifier == identifier } }
    }

    /// - Returns: whether there is a receiver; otherwise the line belongs on the console.
    static func send(level: Logger.Level, label: String, message: String, metadata: Logger.Metadata) -> Bool {
        let sinks = state.withLock(\.sinks)
        guard !sinks.isEmpty else { return false }
        let line = LogLine(
            level: level.rawValue, module: label, message: message, context: metadata.mapValues { "\($0)" })
        for sink in sinks { sink.receive(line) }
        return true
    }
}

/// One receiver of log lines.
package struct LogSink: Hashable, Sendable {
    fileprivate let identifier: UInt64

    package func end() { LogSinks.remove(identifier) }
}

extension Logger {
    /// A logger for a library inside a program: the program's own; while a sink exists, its lines from `debug` on go there.
    package static func ofLibrary(_ label: String) -> Logger {
        let own = Logger(label: label)
        // These handlers use the sinks already.
        if own.handler is StandardErrorLogHandler || own.handler is JournalLogHandler { return own }
        return Logger(label: label) { _ in LibraryLogHandler(label: label, own: own) }
    }
}

/// Passes lines to the sinks, otherwise to the handler that the program has chosen.
private struct LibraryLogHandler: LogHandler {
    let label: String
    var own: Logger

    var logLevel: Logger.Level {
        get { LogSinks.isEmpty ? own.logLevel : min(own.logLevel, .debug) }
        set { own.logLevel = newValue }
    }
    var metadata: Logger.Metadata {
        get { own.handler.metadata }
        set { own.handler.metadata = newValue }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { own.handler.metadataProvider }
        set { own.handler.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { own[metadataKey: key] }
        set { own[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        let (message, values) = event.printable(with: metadata)
        let isSent = LogSinks.send(level: event.level, label: label, message: message, metadata: values)
        guard !isSent else { return }
        var cleaned = event
        cleaned.message = "\(message)"
        cleaned.metadata = values
        own.handler.log(event: cleaned)
    }
}
