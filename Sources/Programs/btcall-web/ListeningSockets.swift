import ControlLoop
import Glibc

/// Sockets that listen: given by the service manager, or opened here.
enum ListeningSockets {
    private static let backlog: Int32 = 64
    /// The first descriptor that a service manager passes (sd_listen_fds(3)).
    private static let first: Int32 = 3

    /// The sockets of the service manager, non-blocking; empty without any.
    static func passed() -> [Int32] {
        func variable(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
        guard variable("LISTEN_PID") == getpid(), let count = variable("LISTEN_FDS"), (1...16).contains(count) else {
            return []
        }
        unsetenv("LISTEN_PID")
        unsetenv("LISTEN_FDS")
        return (first..<first + count).map { descriptor in
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            return descriptor
        }
    }

    /// Opens a TCP socket.
    static func open(_ address: ListenAddress) throws(SystemError) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.address, String(address.port), &hints, &list) == 0, let found = list else {
            throw SystemError(call: "getaddrinfo", code: EINVAL)
        }
        defer { freeaddrinfo(list) }
        let descriptor = try socket(found.pointee.ai_family)
        do throws(SystemError) {
            var one: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            _ = try SystemError.check("setsockopt") { setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size) }
            _ = try SystemError.check("bind") { bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) }
            _ = try SystemError.check("listen") { listen(descriptor, backlog) }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Opens a Unix socket that everybody may connect to; a file that an earlier process left is replaced.
    ///
    /// - Parameter path: at most 107 bytes.
    static func open(path: String) throws(SystemError) -> Int32 {
        removeStale(path)
        // The file is made with this mode: by its path it may be another one's meanwhile.
        let mask = umask(0o111)
        defer { umask(mask) }
        return try UnixStream.listen(path, backlog: backlog)
    }

    /// Removes the socket of a process that has ended. Anything else stays: `bind` names it.
    private static func removeStale(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        do throws(SystemError) {
            close(try UnixStream.connect(path))
        } catch {
            if error.code == ECONNREFUSED { unlink(path) }
        }
    }

    private static func socket(_ family: Int32) throws(SystemError) -> Int32 {
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return try SystemError.check("socket") { Glibc.socket(family, type, 0) }
    }

    /// The port of a listening TCP socket; 0 for others.
    static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port has the same place in both families.
        guard result == 0, [AF_INET, AF_INET6].contains(Int32(storage.sin6_family)) else { return 0 }
        return UInt16(bigEndian: storage.sin6_port)
    }
}
