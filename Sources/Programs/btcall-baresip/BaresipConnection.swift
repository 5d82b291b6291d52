import BaresipControl
import ControlLoop
import Glibc

/// A TCP connection to baresip's module `ctrl_tcp`.
///
/// Never blocks. The handler runs on the control loop, but never inside a call of this class.
@ControlPlane
final class BaresipConnection {
    enum Event {
        case connected
        /// Never empty; split at any position.
        case received([UInt8])
        /// The last event, with the reason; not after `close()`.
        case ended(String)
    }

    /// Most bytes queued for baresip, which reads each command at once.
    private static let outputLimit = 16 * 1024
    /// Most bytes read in one turn of the loop.
    private static let readSize = 4096

    private var descriptor: Int32 = -1
    private var source: DescriptorSource?
    private var isConnected = false
    private var isEnding = false
    private var output: [UInt8] = []
    private var handler: (@ControlPlane (Event) -> Void)?

    /// Starts connecting.
    init(to address: BaresipAddress, _ handler: @escaping @ControlPlane (Event) -> Void) {
        self.handler = handler
        do throws(SystemError) {
            descriptor = try Self.begin(address)
            source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] in self?.ready($0) }
        } catch {
            end("\(error)")
        }
    }

    isolated deinit { close() }

    /// - Returns: a socket that is connecting or connected; the caller closes it.
    private static func begin(_ place: BaresipAddress) throws(SystemError) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = place.port.bigEndian
        address.sin_addr.s_addr = place.host.bigEndian
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check("socket") { socket(AF_INET, type, 0) }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // An interrupted connect continues in the kernel, like one in progress.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            let error = SystemError("connect")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Sends the bytes in order, as soon as baresip accepts them. Ignored before the connection and after its end.
    func write(_ bytes: [UInt8]) {
        guard isConnected, !isEnding, !bytes.isEmpty else { return }
        guard output.count + bytes.count <= Self.outputLimit else { return end("it accepts no commands") }
        output += bytes
        flush()
    }

    /// Closes without an event. A second call does nothing.
    func close() {
        handler = nil
        source?.cancel()
        source = nil
        output = []
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func ready(_ readiness: Readiness) {
        guard isConnected else { return finishConnecting() }
        if readiness.contains(.writable) { flush() }
        if readiness != .writable, !isEnding { receive() }
    }

    private func finishConnecting() {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
            return end("\(SystemError(call: "connect", code: code))")
        }
        isConnected = true
        source?.update(.readable)
        handler?(.connected)
    }

    private func receive() {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, count in
            var result: Int
            repeat {
                result = read(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            code = result < 0 ? errno : 0
            count = max(result, 0)
        }
        if !bytes.isEmpty {
            handler?(.received(bytes))
        } else if code == 0 || code == ECONNRESET {
            end("it ended, or another program took the connection, of which it has one")
        } else if code == ETIMEDOUT {
            end("the connection timed out")
        } else if code != EAGAIN {
            end("\(SystemError(call: "read", code: code))")
        }
    }

    private func flush() {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count >= 0 {
                output.removeFirst(count)
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                return end("\(SystemError("send"))")
            }
        }
        source?.update(output.isEmpty ? .readable : [.readable, .writable])
    }

    /// Reports the end on the next turn of the loop: it may be detected while the owner performs actions.
    private func end(_ reason: String) {
        guard !isEnding else { return }
        isEnding = true
        source?.cancel()
        source = nil
        ControlLoop.shared.perform { [weak self] in
            let handler = self?.handler
            self?.close()
            handler?(.ended(reason))
        }
    }
}
