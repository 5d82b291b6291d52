import ControlLoop
import Glibc

/// A read-only descriptor: passes bytes to a handler until the device behind it goes away.
@ControlPlane
final class EventDescriptor {
    private var descriptor: Int32
    private var source: DescriptorSource?
    private let onBytes: @ControlPlane (ArraySlice<UInt8>) -> Void
    private let onGone: @ControlPlane () -> Void
    private static let readSize = 1536

    /// - Parameters:
    ///   - descriptor: non-blocking; ownership passes, even if the initialiser throws.
    ///   - onBytes: not empty, split anywhere.
    ///   - onGone: called once; the descriptor is closed then.
    init(
        _ descriptor: Int32, onBytes: @escaping @ControlPlane (ArraySlice<UInt8>) -> Void,
        onGone: @escaping @ControlPlane () -> Void
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.onBytes = onBytes
        self.onGone = onGone
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
        } catch {
            Glibc.close(descriptor)
            self.descriptor = -1
            throw error
        }
    }

    isolated deinit { close() }

    func close() {
        source?.cancel()
        source = nil
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: Self.readSize)
        while descriptor >= 0 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                onBytes(buffer[0..<count])
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN {
                return
            } else {
                close()
                onGone()
            }
        }
    }
}
