package import BluetoothTypes
package import Configuration
import Glibc
package import HeadsetPolicy

/// The file of `ReconnectManager`: `reconnect.conf` in the state directory.
///
/// The last use of headsets and disconnections by hand outlive a reboot of the board. A headset that disconnected itself, or
/// rests because it came and went, is paged again after a reboot.
package struct ReconnectStore: Sendable {
    package var file: StateFile { sections.file }
    /// The origin section names the boot in which the file was written; the other sections are addresses.
    private let sections: StateSections
    private let boot: String

    /// - Parameters:
    ///   - directory: absolute; created if missing.
    ///   - boot: id of the present boot.
    package init(directory: String, boot: String = presentBoot) {
        sections = StateSections(
            StateFile("reconnect.conf", in: directory), origin: "start of the board",
            writtenWhen: "a headset comes or goes")
        self.boot = boot
    }

    /// The kernel's id of the present boot; empty if it cannot be read.
    package static var presentBoot: String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return "" }
        return String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }

    /// Reads the file; returns nothing if it is absent.
    ///
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package func load() throws(ConfigurationError) -> [BluetoothAddress: ReconnectManager.Memory] {
        let (origin, memories) = try sections.load(key: address, into: ReconnectManager.Memory(), apply: read)
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
            // By the monotonic clock, which continues over restarts of the daemon.
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

    private func read(
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

    /// Limited to values whose milliseconds and counts do not overflow.
    private func number(_ entry: ConfigurationEntry) throws(ConfigurationError) -> Int64 {
        try sections.number(entry, upTo: 1_000_000_000_000)
    }
}
