internal import BluetoothTypes
internal import CBTCall
internal import Glibc

/// Unix stream sockets. A path that begins with `@` is an abstract name: it is not a file, and disappears with its socket.
package enum UnixStream {
    /// Time between two attempts to connect to a listener with a full backlog.
    private static let pause = Duration.milliseconds(50)

    /// Connects to a listening socket.
    ///
    /// - Parameter path: at most 107 bytes.
    /// - Returns: the non-blocking descriptor; the caller closes it.
    /// - Throws: `EAGAIN` when the listener's backlog is full, `ENAMETOOLONG`, or the system's error.
    package static func connect(_ path: String) throws(SystemError) -> Int32 {
        try open(path, "connect") { Glibc.connect($0, $1, $2) }
    }

    /// Connects to a listening socket, and waits while its backlog is full.
    ///
    /// - Throws: `ETIMEDOUT` after the limit; otherwise as ``connect(_:)``.
    @ControlPlane
    package static func connect(_ path: String, within limit: Duration) async throws(SystemError) -> Int32 {
        let end = ControlLoop.now.advanced(by: limit)
        while true {
            do throws(SystemError) {
                return try connect(path)
            } catch {
                guard error.code == EAGAIN else { throw error }
                guard ControlLoop.now < end else { throw SystemError(call: "connect", code: ETIMEDOUT) }
            }
            await ControlLoop.shared.sleep(for: pause)
        }
    }

    /// Listens. An existing file at the path is `EADDRINUSE`.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes. The file's mode is 0777 without the bits of the process's umask.
    ///   - backlog: connections that wait to be accepted.
    /// - Returns: the non-blocking descriptor; the caller closes it.
    package static func listen(_ path: String, backlog: Int32 = 4) throws(SystemError) -> Int32 {
        try open(path, "bind") { descriptor, address, length in
            let result = bind(descriptor, address, length)
            return result == 0 ? Glibc.listen(descriptor, backlog) : result
        }
    }

    /// The abstract names in use with this prefix, in order. Anybody may have taken one.
    package static func names(withPrefix prefix: String) -> [String] {
        let start = Array(" \(prefix)".utf8)
        let lines = list().split(separator: UInt8(ascii: "\n"))
        // A foreign name may contain anything: nobody listens at it then.
        let names = lines.compactMap { line in
            line.indices.first { line[$0...].starts(with: start) }
                .map { String(decoding: line[$0...].dropFirst(), as: UTF8.self) }
        }
        return Set(names).sorted()
    }

    /// Far more than the descriptors of all users take in the kernel's list, about 100 bytes each.
    private static let longestList = 256 << 20

    private static func list() -> [UInt8] {
        // Without the list no names are found.
        (try? ForeignFile.read("/proc/self/net/unix", atMost: longestList, .leftOut)) ?? []
    }

    private static func open(
        _ path: String, _ call: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
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
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = try SystemError.check("socket") {
            socket(AF_UNIX, Int32(bitPattern: type), 0)
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
