import CBTCall
package import ControlLoop
import Glibc

/// A Unix stream socket that listens at a path.
package enum UnixListener {
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - isBlocking: whether accept(2) waits.
    /// - Returns: the descriptor; the caller closes it.
    package static func open(_ path: String, isBlocking: Bool) throws(SystemError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let flags = isBlocking ? SOCK_CLOEXEC : SOCK_NONBLOCK
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(flags.rawValue), 0)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 4) == 0 else { throw SystemError("bind") }
        return descriptor
    }
}
