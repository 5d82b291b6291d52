import CBTCall
package import ControlLoop
import Glibc

/// Replaces the service manager: the socket named by `NOTIFY_SOCKET`, and its messages.
package final class NotifySocket {
    package let path: String
    private let descriptor: Int32
    /// All messages so far, in order.
    package private(set) var messages: [String] = []

    /// - Parameter path: at most 107 bytes; removed with the socket.
    package init(_ path: String) throws(SystemError) {
        self.path = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        unlink(path)
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind") }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// Number of times a message was received.
    package func count(_ message: String) -> Int {
        receive()
        return messages.count { $0 == message }
    }

    /// Receives pending messages.
    package func receive() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let length = recv(descriptor, &buffer, buffer.count, 0)
            guard length > 0 else { return }
            messages.append(String(decoding: buffer.prefix(length), as: UTF8.self))
        }
    }
}
