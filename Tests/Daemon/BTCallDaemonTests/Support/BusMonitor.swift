import BTCallAPI
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// One method call on the bus.
struct BusRequest: Hashable, CustomStringConvertible {
    var path: String
    var interface: String
    var member: String
    var arguments: [Value]

    var description: String { "\(interface).\(member)\(arguments)" }

    static func set(_ path: String, _ interface: String, _ name: String, _ value: Value) -> BusRequest {
        BusRequest(
            path: path, interface: "org.freedesktop.DBus.Properties", member: "Set",
            arguments: [.string(interface), .string(name), .variant(value)])
    }
}

/// The method calls to the daemon on a private bus, in their order: the output of dbus-monitor.
@ControlPlane
final class BusMonitor {
    private let process = Process()
    private let file: URL
    private let client: BusConnection

    /// Returns once the monitor sees every message.
    init(_ address: BusAddress) async throws {
        file = FileManager.default.temporaryDirectory.appending(path: "btcall-monitor-\(UUID().uuidString)")
        client = try BusConnection(address)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", "exec dbus-monitor --address \"$1\" type=method_call >\"$2\" 2>&1", "sh", "\(address)", file.path(),
        ]
        try process.run()
        try await mark("GetId")
    }

    /// Ends it, and returns the calls that change something, without those that only read.
    func stop() async throws -> [BusRequest] {
        try await mark("ListNames")
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        client.close()
        defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
        return Self.requests(in: try text())
    }

    private func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }

    /// Waits until a call that is made here has been seen.
    private func mark(_ member: String) async throws {
        try await eventually("dbus-monitor sees \(member)") {
            _ = try await client.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, [])
            return (try? text())?.contains("member=\(member)\n") == true
        }
    }

    private static let questions: Set = ["Get", "GetAll", "GetManagedObjects", "Introspect", "ListSettings", "Explain"]

    private static func requests(in text: String) -> [BusRequest] {
        var requests: [BusRequest] = []
        var isOurs = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("   ") {
                if isOurs, let value = value(line) { requests[requests.endIndex - 1].arguments.append(value) }
                continue
            }
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ";" })
            func field(_ name: String) -> String? {
                fields.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
            }
            guard line.hasPrefix("method call"), fields.contains("destination=\(BTCallName.bus)"),
                let path = field("path"), let interface = field("interface"), let member = field("member"),
                !questions.contains(member)
            else {
                isOurs = false
                continue
            }
            isOurs = true
            requests.append(BusRequest(path: path, interface: interface, member: member, arguments: []))
        }
        return requests
    }

    /// A Boolean, a number, a text without quotation marks, or a variant of one of them; nil for anything else.
    private static func value(_ line: Substring) -> Value? {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let kind = words.first, let rest = words.last?.drop(while: { $0 == " " }) else {
            return nil
        }
        switch kind {
        case "variant": return value(rest).map { .variant($0) }
        case "boolean": return .bool(rest == "true")
        case "double": return Double(rest).map { .double($0) }
        case "string": return .string(rest.filter { $0 != "\"" })
        default: return nil
        }
    }
}
