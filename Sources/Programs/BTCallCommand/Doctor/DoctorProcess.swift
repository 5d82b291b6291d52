/// A process, as `/proc` shows it.
struct DoctorProcess: Sendable {
    let id: Int
    private let system: DoctorSystem

    /// Returns nil when there is no such process.
    init?(_ id: Int, on system: DoctorSystem) {
        guard system.exists("/proc/\(id)/status") else { return nil }
        self.id = id
        self.system = system
    }

    /// Name in the kernel, at most 15 characters.
    var name: String { system.text("/proc/\(id)/comm") ?? "process" }

    /// Its name and number.
    var title: String { "\(name) (process \(id))" }

    var arguments: [String] {
        (system.bytes("/proc/\(id)/cmdline") ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The process of a thread; for a process its own number.
    var leader: Int { numbers("Tgid").first.map { Int($0) } ?? id }
    /// The effective user.
    var user: UInt32? { numbers("Uid").dropFirst().first }
    var groups: Set<UInt32> { Set(numbers("Groups") + numbers("Gid").dropFirst().prefix(1)) }

    /// - Parameter number: number of a capability, for example 23 for `CAP_SYS_NICE`.
    func hasCapability(_ number: Int) -> Bool {
        guard let digits = field("CapEff"), let set = UInt64(digits, radix: 16) else { return false }
        return set >> UInt64(number) & 1 == 1
    }

    /// Capabilities that it can still gain; nil if they cannot be read.
    var boundingCapabilities: UInt64? { field("CapBnd").flatMap { UInt64($0, radix: 16) } }

    /// The soft limit; nil without such a limit.
    ///
    /// - Parameter name: the name in `/proc/PID/limits`, for example `Max realtime priority`.
    func limit(_ name: String) -> Limit? {
        for line in system.lines("/proc/\(id)/limits") where line.hasPrefix(name) {
            guard let word = line.dropFirst(name.count).split(separator: " ").first else { return nil }
            return word == "unlimited" ? .unlimited : UInt64(word).map { .value($0) }
        }
        return nil
    }

    enum Limit: Equatable {
        case unlimited
        case value(UInt64)

        func isBelow(_ least: UInt64) -> Bool {
            switch self {
            case .unlimited: false
            case .value(let value): value < least
            }
        }
    }

    /// Targets of its descriptors, as far as this user may see them.
    var openFiles: [String] {
        system.entries("/proc/\(id)/fd").compactMap { system.link("/proc/\(id)/fd/\($0)") }
    }

    private func field(_ name: String) -> Substring? {
        for line in system.lines("/proc/\(id)/status") where line.hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).drop { $0 == "\t" || $0 == " " }
        }
        return nil
    }

    private func numbers(_ name: String) -> [UInt32] {
        (field(name) ?? "").split { $0 == "\t" || $0 == " " }.compactMap { UInt32($0) }
    }
}

extension DoctorSystem {
    func process(_ id: Int) -> DoctorProcess? { DoctorProcess(id, on: self) }

    /// The process that owns a bus name; nil in a container that numbers processes differently from the bus.
    func process(owning name: String) -> DoctorProcess? {
        hasOwnProcessNumbers ? nil : bus.peers.first { $0.name == name }?.process.flatMap { process($0) }
    }

    /// The running btcalld.
    var daemon: DoctorProcess? {
        guard hasOwnProcessNumbers else { return process(owning: "org.btcall") }
        return entries("/proc").lazy.compactMap { Int($0) }.compactMap { process($0) }.first { $0.name == "btcalld" }
    }

    /// Processes on the bus, under any name.
    var processesOnBus: [DoctorProcess] {
        hasOwnProcessNumbers ? [] : Set(bus.peers.compactMap(\.process)).sorted().compactMap { process($0) }
    }
}
