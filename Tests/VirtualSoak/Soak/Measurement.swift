import ControlLoop
import DBus
import Glibc

/// Resources of the process and its bus at one moment.
struct Measurement: Sendable {
    /// Open descriptors of the process.
    var descriptors = 0
    var threads = 0
    /// Allocated memory in KiB.
    var allocatedKiB = 0
    /// Resident anonymous memory in KiB: `Anonymous` of `smaps_rollup`.
    var anonymousKiB = 0
    /// Match rules and connections on the bus, and the descriptors of dbus-daemon.
    var matchRules = 0
    var connections = 0
    /// Size of the files in the state directory in KiB.
    var stateKiB = 0

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The judged quantities, and the permitted growth of each from the second quarter to the last.
    ///
    /// Allocated bytes are reproducible to some KiB in quiet moments; pages vary with the allocator's behaviour.
    static let judged: [(name: String, bound: Int, value: @Sendable (Measurement) -> Int)] = [
        ("descriptors", 0, { $0.descriptors }),
        ("threads", 0, { $0.threads }),
        ("match rules", 0, { $0.matchRules }),
        ("connections", 0, { $0.connections }),
        ("allocated KiB", 32, { $0.allocatedKiB }),
        ("anonymous KiB", 512, { $0.anonymousKiB }),
        ("state KiB", 64, { $0.stateKiB }),
    ]

    @ControlPlane
    static func make(_ bus: BusConnection, stateDirectory: String) async throws -> Measurement {
        let reply = try await bus.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Debug.Stats", "GetStats")
        guard let statistics = reply.first?.vardictValue, let rules = statistics["MatchRules"]?.uint32Value,
            let active = statistics["ActiveConnections"]?.uint32Value
        else { throw Failure(description: "dbus-daemon gives no statistics: it was built without them") }
        var measurement = Measurement()
        measurement.matchRules = Int(rules)
        measurement.connections = Int(active)
        // The state directory first: reading opens descriptors of this process.
        measurement.stateKiB = try files(stateDirectory).reduce(0) { $0 + size("\(stateDirectory)/\($1)") } / 1024
        measurement.threads = try files("/proc/self/task").count
        // One descriptor belongs to the listing itself.
        measurement.descriptors = try files("/proc/self/fd").count - 1
        measurement.anonymousKiB = try anonymous()
        measurement.allocatedKiB = VirtualTime.allocated / 1024
        return measurement
    }

    private static func files(_ path: String) throws(Failure) -> [String] {
        guard let directory = opendir(path) else {
            throw Failure(description: "\(path) cannot be read: errno \(errno)")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func size(_ path: String) -> Int {
        var found = stat()
        // A file that is just being replaced counts in the next measurement.
        return stat(path, &found) == 0 ? Int(found.st_size) : 0
    }

    private static func anonymous() throws(Failure) -> Int {
        guard let file = fopen("/proc/self/smaps_rollup", "r") else {
            throw Failure(description: "/proc/self/smaps_rollup cannot be read: errno \(errno)")
        }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = line.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            if text.hasPrefix("Anonymous:") {
                let digits = text.filter { $0 >= "0" && $0 <= "9" }
                if let number = Int(digits) { return number }
            }
        }
        throw Failure(description: "/proc/self/smaps_rollup has no line 'Anonymous:'")
    }
}
