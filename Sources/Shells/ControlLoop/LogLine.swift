/// One message of a log, for whoever reads it in place of the console.
///
/// As a packet (`org.btcall.Manager1.SubscribeLog`) it is UTF-8 text whose parts have a NUL between them: level, module, message,
/// then `key=value` for each thing that the message was said of, keys sorted.
package struct LogLine: Hashable, Sendable {
    /// In bytes, of the message and of each value; what is longer is cut.
    package static let longestText = 4096
    /// Most values.
    package static let mostValues = 16
    /// No packet is longer.
    package static let longestPacket = longestText * (mostValues + 2)

    /// `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    package let level: String
    /// Who says it: `btcalld`, `btcall.dbus`.
    package let module: String
    package let message: String
    package let context: [String: String]

    package init(level: String, module: String, message: String, context: [String: String] = [:]) {
        self.level = level
        self.module = module
        self.message = message
        self.context = context
    }

    /// Nil for what has not at least a level, a module and a message. Bytes that are no UTF-8 are replaced.
    package init?(packet: some Sequence<UInt8>) {
        let parts = Array(packet).split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count >= 3 else { return nil }
        level = parts[0]
        module = parts[1]
        message = parts[2]
        var context: [String: String] = [:]
        for part in parts.dropFirst(3) {
            let pair = part.split(separator: Character("="), maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            context[String(pair[0])] = String(pair[1])
        }
        self.context = context
    }

    package var packet: [UInt8] {
        var bytes: [UInt8] = []
        Self.append(level, to: &bytes)
        bytes.append(0)
        Self.append(module, to: &bytes)
        bytes.append(0)
        Self.append(message, to: &bytes)
        for (key, value) in context.sorted(by: { $0.key < $1.key }).prefix(Self.mostValues - 1) {
            bytes.append(0)
            Self.append("\(key)=\(value)", to: &bytes)
        }
        return bytes
    }

    /// A NUL would be the end of the part.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8.prefix(longestText - 1) { bytes.append(byte == 0 ? 0x20 : byte) }
    }
}
