import ControlLoop
import Glibc

/// Unix stream sockets. A path that begins with `@` is one of the abstract names: it is no file, and ends with its socket.
enum UnixStream {
    /// Connects to a socket that somebody listens on.
    ///
    /// - Parameter path: at most 107 bytes.
    /// - Returns: the descriptor, blocking; the caller closes it.
    /// - Throws: `ENAMETOOLONG`, or what the system says.
    static func connect(_ path: String) throws(SystemError) -> Int32 {
        try open(path, "connect", SOCK_STREAM.rawValue) { Glibc.connect($0, $1, $2) }
    }

    /// Listens.
    ///
    /// - Parameter path: as above.
    /// - Returns: the descriptor, which does not block; the caller closes it.
    static func listen(_ path: String) throws(SystemError) -> Int32 {
        try open(path, "bind", SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue) { descriptor, address, length in
            let result = bind(descriptor, address, length)
            return result == 0 ? Glibc.listen(descriptor, 4) : result
        }
    }

    /// The user at the other end of a connected socket; nil when the system does not say.
    static func peer(of descriptor: Int32) -> uid_t? {
        // As struct ucred, which is not imported: process, user, group.
        var credentials: [UInt32] = [0, 0, 0]
        var length = socklen_t(MemoryLayout<UInt32>.size * credentials.count)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return credentials[1]
    }

    private static func open(
        _ path: String, _ call: String, _ type: UInt32,
        _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SystemError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        let size = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < size, !bytes.contains(0) else {
            throw SystemError(call: call, code: bytes.count < size ? EINVAL : ENAMETOOLONG)
        }
        var length = MemoryLayout<sockaddr_un>.size
        if bytes[0] == UInt8(ascii: "@") {
            bytes[0] = 0
            length = MemoryLayout<sa_family_t>.size + bytes.count
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = try SystemError.check("socket") {
            socket(AF_UNIX, Int32(type) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        do throws(SystemError) {
            _ = try SystemError.check(call) {
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        use(descriptor, $0, socklen_t(length))
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
