/// One message of a log, for receivers that replace the console.
///
/// As a packet (`org.btcall.Manager1.SubscribeLog`) it is UTF-8 text whose parts are separated by NUL: level, module,
/// message, then `key=value` for each metadata entry, sorted by key.
package struct LogLine: Hashable, Sendable {
    /// Longest message and value in bytes; the rest is cut.
    package static let longestText = 4096
    /// Most values.
    package static let mostValues = 16
    /// Longest packet in bytes.
    package static let longestPacket = longestText * (mostValues + 2)

    /// `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    package let level: String
    /// Module that logged it: `btcalld`, `btcall.dbus`.
    package let module: String
    package let message: String
    package let context: [String: String]

    package init(level: String, module: String, message: String, context: [String: String] = [:]) {
        self.level = level
        self.module = module
        self.message = message
        self.context = context
    }

    /// Nil without at least level, module and message. Bytes that are not UTF-8 are replaced.
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

    /// Replaces NUL, which would end the part.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8.prefix(longestText - 1) { bytes.append(byte == 0 ? 0x20 : byte) }
    }
}
