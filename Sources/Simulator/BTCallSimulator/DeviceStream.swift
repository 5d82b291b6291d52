import ControlLoop
import Glibc

/// A simulated device's end of a byte stream: RFCOMM, or one end of a socket pair.
@ControlPlane
final class DeviceStream {
    private var descriptor: Int32 = -1
    private var source: DescriptorSource?

    var isOpen: Bool { descriptor >= 0 }

    init() {}

    /// Takes a connected stream; an earlier one is closed.
    ///
    /// - Parameters:
    ///   - descriptor: ownership passes to this stream.
    ///   - onBytes: gets what the other end sends, in its pieces.
    ///   - onClosed: the other end has closed the stream, which is closed here as well. Both closures live until then.
    func open(
        _ descriptor: Int32, onBytes: @escaping @ControlPlane ([UInt8]) -> Void,
        onClosed: @escaping @ControlPlane () -> Void
    ) throws(SystemError) {
        end()
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        source = try ControlLoop.shared.add(descriptor, .readable) { _ in self.read(onBytes, onClosed) }
    }

    /// Closes the stream in order.
    func end() {
        ignore()
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Reads nothing more, and leaves the stream open.
    func ignore() {
        source?.cancel()
        source = nil
    }

    /// Sends in one piece; nothing on a stream that is not open.
    func say(_ bytes: [UInt8]) {
        guard descriptor >= 0 else { return }
        // Writing fails when the other end has gone: reading reports it.
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func read(_ onBytes: @ControlPlane ([UInt8]) -> Void, _ onClosed: @ControlPlane () -> Void) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        while descriptor >= 0 {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else {
                end()
                onClosed()
                return
            }
            onBytes(Array(bytes[..<count]))
        }
    }
}
