package import Logging

/// Writes a line a message to standard error: "warning btcall.bluez: text key=value"; nothing while `LogSinks` has
/// receivers.
package struct StandardErrorLogHandler: LogHandler {
    /// `LogThreshold.level`, unless this handler has a level of its own.
    package var logLevel: Logger.Level {
        get { own ?? LogThreshold.level }
        set { own = newValue }
    }
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private var own: Logger.Level?

    package init(label: String, level: Logger.Level? = nil) {
        self.label = label
        own = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }
        let (message, values) = event.printable(with: all)
        guard !LogSinks.send(level: event.level, label: label, message: message, metadata: values) else { return }
        LineWriter.standardError.write(Self.line(level: event.level, label: label, message: message, metadata: values))
    }

    /// - Parameter prefix: start of the line: the priority, as the journal reads it from standard error (`<4>`).
    /// - Returns: always one line, no longer than a pipe takes at once (`PIPE_BUF`).
    static func line(
        _ prefix: String = "", level: Logger.Level, label: String, message: String, metadata: Logger.Metadata
    ) -> String {
        let text = "\(prefix)\(level) \(label): \(message)\(metadata.suffix(behind: message))"
        return PrintableText.line(text, longest: PrintableText.longest - 1) + "\n"
    }
}
