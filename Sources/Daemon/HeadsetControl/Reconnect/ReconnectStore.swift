package import BluetoothTypes
package import Configuration
import Glibc
package import HeadsetPolicy

/// The file of `ReconnectManager`: `reconnect.conf` in the state directory.
///
/// Who was used last and who was disconnected by hand outlives the board's start. That a headset said good-bye, or rests
/// because it came and went, does not: then it is paged again.
package struct ReconnectStore: Sendable {
    package let file: StateFile
    private let boot: String

    /// The section of the start of the board in which it was written; the other sections are addresses.
    private static let origin = "start of the board"

    /// - Parameters:
    ///   - directory: absolute; made when it does not exist.
    ///   - boot: which start of the board this is.
    package init(directory: String, boot: String = presentBoot) {
        file = StateFile("reconnect.conf", in: directory)
        self.boot = boot
    }

    /// What the kernel calls this start of the board; empty where it does not say.
    package static var presentBoot: String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return "" }
        return String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }

    /// What was kept; an absent file is nothing.
    ///
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package func load() throws(ConfigurationError) -> [BluetoothAddress: ReconnectManager.Memory] {
        guard file.exists else { return [:] }
        var origin = ""
        var memories: [BluetoothAddress: ReconnectManager.Memory] = [:]
        for entry in try ConfigurationReader.entries(ofFile: file.path) {
            if entry.section == Self.origin, entry.key == "id" {
                origin = entry.value
                continue
            }
            guard let address = BluetoothAddress(entry.section) else {
                throw error(entry, "this section is not of a headset")
            }
            try take(entry, into: &memories[address, default: ReconnectManager.Memory()])
        }
        guard origin != boot || boot.isEmpty else { return memories }
        return memories.mapValues { memory in
            ReconnectManager.Memory(used: memory.used, left: memory.left == .byHand ? .byHand : nil)
        }
    }

    /// The file's text.
    package func text(_ memories: [BluetoothAddress: ReconnectManager.Memory]) -> String {
        var text = "[\(Self.origin)]\nid = \(boot)\n"
        for (address, memory) in memories.sorted(by: { $0.key < $1.key }) {
            text += "[\(address)]\nused = \(memory.used)\n"
            if let left = memory.left { text += "left = \(left.rawValue)\n" }
            // Of the monotonic clock, which goes on over restarts of the daemon.
            if let quarantine = memory.quarantine { text += "quarantine = \(quarantine.nanoseconds / 1_000_000)\n" }
        }
        return text
    }

    private func take(
        _ entry: ConfigurationEntry, into memory: inout ReconnectManager.Memory
    ) throws(ConfigurationError) {
        switch entry.key {
        case "used": memory.used = Int(clamping: try number(entry))
        case "left":
            guard let left = ReconnectManager.Left(rawValue: entry.value) else {
                throw error(entry, "\"\(entry.value)\" is neither hand nor headset")
            }
            memory.left = left
        case "quarantine": memory.quarantine = Instant(milliseconds: try number(entry))
        default: throw error(entry, "there is no such key")
        }
    }

    private func number(_ entry: ConfigurationEntry) throws(ConfigurationError) -> Int64 {
        // Up to what milliseconds and counts reach without an overflow.
        guard let number = Int64(entry.value), (0...1_000_000_000_000).contains(number) else {
            throw error(entry, "\"\(entry.value)\" is not a number from 0 to 1000000000000")
        }
        return number
    }

    private func error(_ entry: ConfigurationEntry, _ problem: String) -> ConfigurationError {
        ConfigurationError(
            file: file.path, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: problem,
            accepted: "btcalld writes this file anew when a headset comes or goes; remove it if it was edited")
    }
}
