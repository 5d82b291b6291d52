internal import Glibc
package import Logging

/// Destination of log lines.
package enum LogDestination: Hashable, Sendable {
    case journal
    case standardError

    /// The journal if standard error is connected to it (`JOURNAL_STREAM`, systemd.exec(5)), otherwise standard error.
    package static var detected: LogDestination {
        guard let stream = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return .standardError }
        var status = stat()
        guard fstat(2, &status) == 0, stream == "\(status.st_dev):\(status.st_ino)" else { return .standardError }
        return .journal
    }

    /// Makes swift-log use this destination. Call it once, before the first logger is made.
    ///
    /// - Parameter level: of all loggers, until `LogThreshold.level` is changed.
    package static func bootstrap(level: Logger.Level, _ destination: LogDestination = detected) {
        LogThreshold.level = level
        switch destination {
        case .journal:
            LoggingSystem.bootstrap { JournalLogHandler(label: $0) }
        case .standardError:
            LoggingSystem.bootstrap { StandardErrorLogHandler(label: $0) }
        }
    }
}

extension Logger.Level {
    /// The syslog priority, 3 (error) to 7 (debug).
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

extension LogEvent {
    /// The message and its metadata for logs: foreign text is cleaned and cut, so that each stays within its line.
    ///
    /// - Parameter given: the logger's metadata; the event's own take precedence.
    func printable(with given: Logger.Metadata) -> (message: String, metadata: Logger.Metadata) {
        let all = given.merging(metadata ?? [:]) { $1 }
        return (
            PrintableText.line(message.description, longest: LogLine.longestText - 1),
            all.mapValues { .string(PrintableText.line("\($0)", longest: LogLine.longestText / 2)) }
        )
    }
}

extension Logger.Metadata {
    /// Metadata as " key=value key=value", sorted by key, without values that the message contains already; empty without
    /// metadata.
    func suffix(behind message: String) -> String {
        let bytes = Array(message.utf8)
        return sorted { $0.key < $1.key }.filter { !Self.stands(Array("\($0.value)".utf8), in: bytes) }
            .map { " \($0.key)=\($0.value)" }.joined()
    }

    /// `contains(_:)` of a string would bring the regular expression library into the daemon.
    private static func stands(_ word: [UInt8], in bytes: [UInt8]) -> Bool {
        guard !word.isEmpty, bytes.count >= word.count else { return false }
        return (0...bytes.count - word.count).contains { bytes[$0..<$0 + word.count].elementsEqual(word) }
    }
}
