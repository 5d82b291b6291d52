import ControlLoop
import DBus
import Foundation
import Glibc
import Testing

/// Another user of this machine, who calls the daemon with `dbus-send`. Tests that need one run as root only.
@ControlPlane
struct OtherUser {
    /// The result of a call.
    struct Answer {
        /// The output of dbus-send, including an error.
        let text: String
        let isError: Bool

        /// Whether the bus or the daemon denies the call to this user.
        var isDenied: Bool { isError && text.contains("org.freedesktop.DBus.Error.AccessDenied") }
    }

    nonisolated static let canBe = geteuid() == 0
    nonisolated static let condition: Comment = "only root can become another user"

    let user: uid_t
    let group: gid_t
    let bus: BusAddress

    /// A user that is neither root nor a member of any group of programs on this machine.
    static func nobody(_ bus: BusAddress) -> OtherUser { OtherUser(user: 65_534, group: 65_534, bus: bus) }

    /// The user and group `daemon`, which every system has.
    static func daemon(_ bus: BusAddress) throws -> OtherUser {
        let entry = try #require(getpwnam("daemon")).pointee
        return OtherUser(user: entry.pw_uid, group: entry.pw_gid, bus: bus)
    }

    /// Makes calls, one after the other.
    ///
    /// - Parameter calls: `PATH INTERFACE.MEMBER ARGUMENT…`, with arguments as for dbus-send.
    func callAsFunction(_ calls: [[String]]) async throws -> [Answer] {
        // A line that no answer contains separates the answers.
        let script = calls.map { words in
            let quoted = words.map { "'\($0)'" }.joined(separator: " ")
            return "dbus-send --bus=\(bus) --print-reply --reply-timeout=20000 --dest=org.btcall \(quoted) 2>&1\n"
                + "status=$?; echo; echo \"=== $status\""
        }.joined(separator: "\n")
        let report = try await ControlLoop.shared.run(
            [
                "setpriv", "--reuid", "\(user)", "--regid", "\(group)", "--clear-groups", "/bin/sh", "-c", script,
            ], within: .seconds(120), keeping: 1 << 22)
        let parts = report.output.components(separatedBy: "\n=== ")
        try #require(parts.count == calls.count + 1, "\(report.output)")
        return (0..<calls.count).map { index in
            let body = index == 0 ? parts[0] : parts[index].drop { $0 != "\n" }.description
            return Answer(text: body, isError: parts[index + 1].first != "0")
        }
    }

    func callAsFunction(_ call: String...) async throws -> Answer { try #require(try await self([call]).first) }
}
