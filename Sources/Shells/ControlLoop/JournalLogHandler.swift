internal import CBTCall
internal import Glibc
package import Logging

/// Sends messages to the journal in its native protocol: one datagram of fields each.
///
/// Never waits. A message that the journal does not take (its socket is full or missing) goes to standard error, unless
/// `LogSinks` has a receiver.
package struct JournalLogHandler: LogHandler {
    /// `LogThreshold.level`, unless this handler has a level of its own.
    package var logLevel: Logger.Level {
        get { own ?? LogThreshold.level }
        set { own = newValue }
    }
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private var own: Logger.Level?
    private let socket: String

    package init(label: String, level: Logger.Level? = nil, socket: String = "/run/systemd/journal/socket") {
        self.label = label
        self.socket = socket
        own = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }
        let (message, values) = event.printable(with: all)
        let isSent = LogSinks.send(level: event.level, label: label, message: message, metadata: values)
        let datagram = Self.datagram(
            level: event.level, label: label, message: message, metadata: values, file: event.file, line: event.line)
        let sent = datagram.withUnsafeBytes { btcall_send_datagram(socket, $0.baseAddress, $0.count) }
        if sent != 0, !isSent {
            let line = StandardErrorLogHandler.line(
                "<\(event.level.priority)>", level: event.level, label: label, message: message, metadata: values)
            LineWriter.standardError.write(line)
        }
    }

    /// The program's name.
    static let identifier = CommandLine.arguments.first?.split { $0 == "/" }.last.map { String($0) } ?? "btcall"

    /// The message's fields. Metadata becomes fields too, named `BTCALL_` and the key in capitals. Texts are already
    /// cleaned.
    static func datagram(
        level: Logger.Level, label: String, message: String, metadata: Logger.Metadata, file: String, line: UInt
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        append("MESSAGE", "\(label): \(message)\(metadata.suffix(behind: message))", to: &bytes)
        append("PRIORITY", String(level.priority), to: &bytes)
        append("SYSLOG_IDENTIFIER", identifier, to: &bytes)
        append("BTCALL_MODULE", label, to: &bytes)
        append("CODE_FILE", file, to: &bytes)
        append("CODE_LINE", String(line), to: &bytes)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            append("BTCALL_" + fieldName(key), "\(value)", to: &bytes)
        }
        return bytes
    }

    /// "NAME=value" on a line: a cleaned value has no line feed, which would begin another field.
    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\(name)=\(value)\n".utf8)
    }

    private static func fieldName(_ key: String) -> String {
        String(
            key.uppercased().map { character in
                character.isASCII && (character.isLetter || character.isNumber) ? character : "_"
            })
    }
}
