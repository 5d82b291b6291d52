import Glibc

/// Two ends of a local packet socket, neither of which waits: what stands for a link or a sound card, or for a call's audio.
package enum PacketSocketPair {
    /// The caller owns both; nil when there is none to be had (`errno`).
    package static func open() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        return (ends[0], ends[1])
    }
}
