package import Logging
import Synchronization

/// Collects log lines, as `warning: …`.
package final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let level: Logger.Level

    /// - Parameter level: lowest level to collect.
    package init(from level: Logger.Level = .info) {
        self.level = level
    }

    package var all: [String] { lines.withLock { $0 } }

    package var logger: Logger {
        var logger = Logger(label: "btcalld.test") { _ in Handler(lines: self) }
        logger.logLevel = level
        return logger
    }

    /// The lines that contain all of these parts.
    package func containing(_ parts: String...) -> [String] {
        all.filter { line in parts.allSatisfy { line.contains($0) } }
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.lines.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}
