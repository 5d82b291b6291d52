import CBTCall
package import ControlLoop
import Glibc

/// A socket pair with one end for a program on the bus: audio (docs/Applications.md), or the log.
package struct PassedSocketPair {
    /// For the code that serves it here, which closes it. It does not block.
    package let ours: Int32
    /// For the application. It blocks: available data, or room for writing, is its clock.
    package let theirs: PassedDescriptor

    /// - Parameter isStream: SOCK_STREAM instead of SOCK_SEQPACKET.
    /// - Throws: the error of `socketpair` (`EMFILE`: too many descriptors, also when only the reserve is left).
    package init(isStream: Bool = false) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        let kind = isStream ? SOCK_STREAM : SOCK_SEQPACKET
        let type = Int32(kind.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemError("socketpair") }
        do throws(SystemError) {
            try DescriptorReserve.check(ends)
        } catch {
            for end in ends { close(end) }
            throw error
        }
        _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK)
        ours = ends[0]
        theirs = PassedDescriptor(taking: ends[1])
    }

    /// Limits the application's writes to about `bytes` ahead of playback; then it has to wait.
    package func limit(bytes: Int) { Self.limit(theirs.descriptor, bytes) }

    /// Keeps about `bytes` for an application that does not read; more is lost.
    package func limitOurs(bytes: Int) { Self.limit(ours, bytes) }

    /// Closes our end if nobody serves it.
    package func closeOurs() { btcall_close_peer(ours) }

    private static func limit(_ descriptor: Int32, _ bytes: Int) {
        // The kernel doubles it for its own overhead, and has a minimum of its own.
        var size = Int32(clamping: bytes)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
}
