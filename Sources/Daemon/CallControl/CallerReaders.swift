package import ControlLoop
package import DBus
import Glibc

/// The users who may see the other party of a call while `[privacy] callers` is `group`: root, the daemon's own user and the
/// members of a group.
@ControlPlane
package final class CallerReaders {
    /// Buffer size in bytes for an entry of the user and group databases with all its names.
    private static let bufferSize = 1 << 16

    private let bus: BusConnection
    private let group: String
    /// Looked up once; nil: the group does not exist.
    private lazy var groupID: gid_t? = Self.identifier(of: group)

    package init(bus: BusConnection, group: String) {
        self.bus = bus
        self.group = group
    }

    package var readers: ConfidentialReaders {
        ConfidentialReaders(
            "root and members of group \(group); [privacy] callers = everybody opens it to all"
        ) { [weak self] sender in await self?.contains(sender) ?? false }
    }

    private func contains(_ sender: String) async -> Bool {
        let peer: PeerCredentials
        do throws(BusError) {
            peer = try await bus.credentials(of: sender)
        } catch {
            // The sender has left the bus, or the bus does not know its credentials.
            return false
        }
        if peer.user == 0 || peer.user == geteuid() { return true }
        guard let groupID else { return false }
        return (peer.groups ?? Self.groups(of: peer.user)).contains(groupID)
    }

    private static func identifier(of group: String) -> gid_t? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bufferSize) { buffer in
            var entry = GroupEntry()
            var found: UnsafeMutablePointer<GroupEntry>?
            guard let start = buffer.baseAddress, getgrnam_r(group, &entry, start, buffer.count, &found) == 0,
                found != nil
            else { return nil }
            return entry.gr_gid
        }
    }

    /// Groups from the user database, for a bus that does not report them (dbus-daemon before 1.13.20).
    private static func groups(of user: uid_t) -> [gid_t] {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bufferSize) { buffer in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let start = buffer.baseAddress, getpwuid_r(user, &entry, start, buffer.count, &found) == 0,
                found != nil
            else { return [] }
            var groups = [gid_t](repeating: 0, count: 256)
            var count = Int32(groups.count)
            guard getgrouplist(entry.pw_name, entry.pw_gid, &groups, &count) >= 0 else { return [] }
            return Array(groups.prefix(Int(count)))
        }
    }
}

/// The C structure; the class has a property of the same name.
private typealias GroupEntry = Glibc.group
