package import Glibc

/// The process at the other end of a connected Unix socket: the one that connected, or listens.
package struct SocketPeer: Equatable, Sendable {
    package var user: uid_t
    /// Groups of the process, including supplementary ones (from Linux 4.13 on).
    package var groups: Set<gid_t>

    /// NGROUPS_MAX of the kernel.
    private static let mostGroups = 65536

    package init(user: uid_t, groups: Set<gid_t>) {
        self.user = user
        self.groups = groups
    }

    /// Returns nil when the system does not report it.
    package init?(of descriptor: Int32) {
        // Layout of struct ucred, which is not imported: process, user, group.
        var credentials: [UInt32] = [0, 0, 0]
        var length = socklen_t(MemoryLayout<UInt32>.size * credentials.count)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        var groups = [gid_t](repeating: credentials[2], count: Self.mostGroups)
        length = socklen_t(MemoryLayout<gid_t>.size * groups.count)
        let isKnown = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0
        let count = isKnown ? Int(length) / MemoryLayout<gid_t>.size : 0
        self.init(user: credentials[1], groups: Set(groups.prefix(count) + [credentials[2]]))
    }
}
