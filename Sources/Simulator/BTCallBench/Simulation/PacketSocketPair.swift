import Glibc

/// The two ends of a local non-blocking packet socket: stands for a link, a sound card, or a call's audio.
package enum PacketSocketPair {
    /// The caller owns both; nil when none can be created (`errno`).
    package static func open() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        return (ends[0], ends[1])
    }
}
