import BluetoothTypes
import ControlLoop
import DBus
import Glibc

extension BusPeer {
    private static let busService = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// More clients than a box has; each costs one round trip to the bus.
    private static let searchLimit = 512
    private static let timeout = Duration.seconds(2)

    /// Finds known programs among the clients of the bus: by the well-known names that they own, then by the names of their
    /// processes. bluetoothd itself does not say who has registered a profile.
    ///
    /// - Returns: at most one entry for each process, those with a known bus name first; empty if the bus does not answer. Of
    ///   PipeWire's two processes only the session manager, bluetoothd's client.
    @ControlPlane
    static func search(_ bus: BusConnection) async -> [BusPeer] {
        let names = await list(bus)
        let bluez = await owner(of: BlueZNames.service, bus)
        var found: [BusPeer] = []
        var seen: Set<UInt32> = []
        var candidates: [(uniqueName: String, program: Program?)] = []
        for name in names where !name.hasPrefix(":") {
            guard let program = Program(busName: name), let owner = await owner(of: name, bus) else { continue }
            candidates.append((owner, program))
        }
        for name in names where name.hasPrefix(":") { candidates.append((name, nil)) }
        for (uniqueName, program) in candidates where uniqueName != bus.uniqueName && uniqueName != bluez {
            let processID = await processID(of: uniqueName, bus)
            let process = processID.map { readProcess($0, "comm") } ?? ""
            guard let program = program ?? Program(process: process) else { continue }
            guard processID.map({ seen.insert($0).inserted }) ?? true else { continue }
            found.append(
                BusPeer(
                    uniqueName: uniqueName, processID: processID, processName: process,
                    unit: processID.map { unit(ofCgroup: readProcess($0, "cgroup")) } ?? "", program: program))
        }
        return found.filter { $0.program != .pipewire || !found.contains { $0.program == .wireplumber } }
    }

    /// The unit in the text of `/proc/PID/cgroup`: the last path component of the last line, if it is a service or scope.
    static func unit(ofCgroup text: String) -> String {
        guard let line = text.split(separator: "\n").last, let last = line.split(separator: "/").last else { return "" }
        return last.hasSuffix(".service") || last.hasSuffix(".scope") ? String(last) : ""
    }

    @ControlPlane
    private static func list(_ bus: BusConnection) async -> [String] {
        do throws(BusError) {
            let values = try await bus.call(busService, busPath, busService, "ListNames", timeout: timeout)
            return Array((values.first?.stringsValue ?? []).prefix(searchLimit))
        } catch {
            // The message then names no program; the registration is retried anyway.
            return []
        }
    }

    @ControlPlane
    private static func owner(of name: String, _ bus: BusConnection) async -> String? {
        // A name without an owner is a valid answer.
        try? await bus.owner(of: name)
    }

    @ControlPlane
    private static func processID(of name: String, _ bus: BusConnection) async -> UInt32? {
        // The client may have left since the list was made.
        try? await bus.processID(of: name)
    }

    /// Reads the start of `/proc/PID/FILE` without the last line's end; empty if that is not allowed.
    private static func readProcess(_ processID: UInt32, _ file: String) -> String {
        let descriptor = open("/proc/\(processID)/\(file)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { _ = Glibc.close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &buffer, buffer.count)
        var bytes = buffer.prefix(max(count, 0))
        while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
