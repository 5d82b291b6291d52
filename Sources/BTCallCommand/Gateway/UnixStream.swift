import ControlLoop
import Glibc

/// Connects to a Unix stream socket that somebody listens on.
enum UnixStream {
    /// - Parameter path: at most 107 bytes.
    /// - Returns: the descriptor, blocking; the caller closes it.
    /// - Throws: `ENAMETOOLONG`, or what the system says.
    static func connect(_ path: String) throws(SystemError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let size = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < size, !bytes.contains(0) else {
            throw SystemError(call: "connect", code: bytes.count < size ? EINVAL : ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = try SystemError.check("socket") {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        do throws(SystemError) {
            _ = try SystemError.check("connect") {
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                }
            }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }
}
