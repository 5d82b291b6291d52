package import BluetoothTypes
package import Configuration
import Glibc
package import HeadsetPolicy

/// The file of `ReconnectManager`: `reconnect.conf` in the state directory.
///
/// Who was used last and who was disconnected by hand outlives the board's start. That a headset said good-bye, or rests
/// because it came and went, does not: then it is paged again.
package struct ReconnectStore: Sendable {
    package var file: StateFile { sections.file }
    /// The origin is the start of the board in which it was written; the other sections are addresses.
    private let sections: StateSections
    private let boot: String

    /// - Parameters:
    ///   - directory: absolute; made when it does not exist.
    ///   - boot: which start of the board this is.
    package init(directory: String, boot: String = presentBoot) {
        sections = StateSections(
            StateFile("reconnect.conf", in: directory), origin: "start of the board",
            writtenWhen: "a headset comes or goes")
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
        let (origin, memories) = try sections.load(key: address, into: ReconnectManager.Memory(), take: take)
        guard origin["id"] != boot || boot.isEmpty else { return memories }
        return memories.mapValues { memory in
            ReconnectManager.Memory(used: memory.used, left: memory.left == .byHand ? .byHand : nil)
        }
    }

    /// The file's text.
    package func text(_ memories: [BluetoothAddress: ReconnectManager.Memory]) -> String {
        let all = memories.sorted { $0.key < $1.key }.map { address, memory in
            var values = [("used", "\(memory.used)")]
            if let left = memory.left { values.append(("left", left.rawValue)) }
            // Of the monotonic clock, which goes on over restarts of the daemon.
            if let quarantine = memory.quarantine {
                values.append(("quarantine", "\(quarantine.nanoseconds / 1_000_000)"))
            }
            return (name: "\(address)", values: values)
        }
        return sections.text(origin: [("id", boot)], all)
    }

    private func address(_ entry: ConfigurationEntry) throws(ConfigurationError) -> BluetoothAddress {
        guard let address = BluetoothAddress(entry.section) else {
            throw sections.error(entry, "this section is not of a headset")
        }
        return address
    }

    private func take(
        _ entry: ConfigurationEntry, into memory: inout ReconnectManager.Memory
    ) throws(ConfigurationError) {
        switch entry.key {
        case "used": memory.used = Int(clamping: try number(entry))
        case "left":
            guard let left = ReconnectManager.Left(rawValue: entry.value) else {
                throw sections.error(entry, "\"\(entry.value)\" is neither hand nor headset")
            }
            memory.left = left
        case "quarantine": memory.quarantine = Instant(milliseconds: try number(entry))
        default: throw sections.error(entry, "there is no such key")
        }
    }

    /// Up to what milliseconds and counts reach without an overflow.
    private func number(_ entry: ConfigurationEntry) throws(ConfigurationError) -> Int64 {
        try sections.number(entry, upTo: 1_000_000_000_000)
    }
}
