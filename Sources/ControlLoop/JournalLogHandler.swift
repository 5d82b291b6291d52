internal import CBTCall
internal import Glibc
package import Logging

/// Sends messages to the journal in its native protocol: one datagram of fields each.
///
/// Never waits. What the journal does not take (its socket is full or away) goes to standard error, unless `LogSinks` has somebody.
package struct JournalLogHandler: LogHandler {
    /// `LogThreshold.level`, unless this one was given its own.
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
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let message = event.message.description
        let isTaken = LogSinks.take(level: event.level, label: label, message: message, metadata: all)
        let datagram = Self.datagram(
            level: event.level, label: label, message: message, metadata: all, file: event.file, line: event.line)
        let sent = datagram.withUnsafeBytes { btcall_send_datagram(socket, $0.baseAddress, $0.count) }
        if sent != 0, !isTaken {
            let line = StandardErrorLogHandler.line(
                level: event.level, label: label, message: message, metadata: all)
            StandardErrorLogHandler.write("<\(event.level.priority)>" + line)
        }
    }

    /// The message's fields. Metadata becomes fields too, named `BTCALL_` and the key in capitals.
    static func datagram(
        level: Logger.Level, label: String, message: String, metadata: Logger.Metadata, file: String, line: UInt
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        append("MESSAGE", "\(label): \(message)\(metadata.suffix(behind: message))", to: &bytes)
        append("PRIORITY", String(level.priority), to: &bytes)
        append("SYSLOG_IDENTIFIER", "btcalld", to: &bytes)
        append("BTCALL_MODULE", label, to: &bytes)
        append("CODE_FILE", file, to: &bytes)
        append("CODE_LINE", String(line), to: &bytes)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            append("BTCALL_" + fieldName(key), "\(value)", to: &bytes)
        }
        return bytes
    }

    /// "NAME=value" on a line; a value of several lines as name, newline, its length in 64 bits little endian, bytes.
    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: name.utf8)
        if value.utf8.contains(0x0A) {
            bytes.append(0x0A)
            withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append(0x3D)
        }
        bytes.append(contentsOf: value.utf8)
        bytes.append(0x0A)
    }

    private static func fieldName(_ key: String) -> String {
        String(
            key.uppercased().map { character in
                character.isASCII && (character.isLetter || character.isNumber) ? character : "_"
            })
    }
}
