import ControlLoop
import Glibc

/// A set-up without a waiting caller, kept until the kernel has decided it.
///
/// Closing a socket in the middle of a set-up does not end the set-up: the link may come up later without an owner and stay
/// (seen with 6.1 when a headset answers just after the deadline), and a second set-up beside it can break both. While it
/// lasts, another request to this headset is answered with EBUSY.
@ControlPlane
final class AbandonedSetup {
    /// The kernel gives up after 40 s.
    private static let limit = Duration.seconds(45)

    private let descriptor: Int32
    private var source: DescriptorSource?
    private var timer: Timer?

    /// Keeps itself alive until the socket is closed.
    @discardableResult
    init(_ socket: consuming SocketHandle) {
        descriptor = socket.take()
        timer = ControlLoop.shared.schedule(after: Self.limit) { self.close() }
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .writable) { _ in self.close() }
        } catch {
            close()
        }
    }

    private func close() {
        timer?.cancel()
        timer = nil
        source?.cancel()
        source = nil
        // Ends a link that has come up meanwhile; fails without one.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        _ = Glibc.close(descriptor)
    }
}
