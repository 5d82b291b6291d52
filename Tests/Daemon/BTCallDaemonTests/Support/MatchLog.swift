import BTCallSimulator
import ControlLoop
import DBus
import TestSupport
import Testing

/// The number of match rules of each client of a private bus, from the requests to the bus; needs dbus-monitor.
@ControlPlane
final class MatchLog {
    private let monitor: RunningProgram
    private let client: BusConnection

    /// Counts rules from now on.
    init(_ address: BusAddress) async throws {
        client = try BusConnection(address)
        let rules = ["AddMatch", "RemoveMatch", "GetId"].map {
            "type='method_call',interface='org.freedesktop.DBus',member='\($0)'"
        }
        monitor = try RunningProgram(
            "/usr/bin/dbus-monitor", ["--address", "\(address)", "--profile"] + rules, address)
        _ = try await rulesPerClient()
    }

    func close() async throws {
        monitor.terminate()
        _ = try await monitor.status()
        client.close()
    }

    /// Added rules minus removed ones, by unique name; clients without rules are left out.
    func rulesPerClient() async throws -> [String: Int] {
        let name = client.uniqueName ?? ""
        let before = count("GetId", name)
        // The monitor gets messages in order: once this one is in its lines, all earlier ones are.
        try await eventually("the monitor is up to date") {
            _ = try await self.client.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
            return self.count("GetId", name) > before
        }
        var rules: [String: Int] = [:]
        for fields in calls {
            switch fields.last {
            case "AddMatch": rules[fields[3], default: 0] += 1
            case "RemoveMatch": rules[fields[3], default: 0] -= 1
            default: continue
            }
        }
        return rules.filter { $0.value != 0 }
    }

    private func count(_ member: String, _ sender: String) -> Int {
        calls.count { $0.last == member && $0[3] == sender }
    }

    /// Kind, time, serial, sender, destination, path, interface, member.
    private var calls: [[String]] {
        monitor.lines.map { $0.split(separator: "\t").map(String.init) }.filter { $0.count == 8 && $0[0] == "mc" }
    }
}
