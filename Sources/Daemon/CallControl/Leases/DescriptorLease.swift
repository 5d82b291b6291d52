package import ControlLoop
package import DBus
import Glibc

/// A lease that lasts as long as its holder keeps a descriptor open.
///
/// The holder gets one end of a pipe, and the control loop watches the other end. When the last copy of the holder's end is
/// closed, by its owner or by the owner's death, the lease ends. Bytes written into the pipe are discarded. After `cancel`
/// the holder sees its end broken (`POLLERR`).
@ControlPlane
package final class DescriptorLease {
    private let descriptor: Int32
    private var source: DescriptorSource?
    private var onReleased: (@ControlPlane () -> Void)?

    /// Creates the pipe.
    ///
    /// - Parameter onReleased: called once, from the control loop, when the holder's end is closed; not after `cancel`.
    /// - Returns: the lease, and the holder's end; the caller must not keep that end.
    /// - Throws: the error of `pipe` or `epoll_ctl` (`EMFILE`: too many descriptors, also when only the reserve is left).
    package static func make(
        onReleased: @escaping @ControlPlane () -> Void
    ) throws(SystemError) -> (held: DescriptorLease, holdersEnd: PassedDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let holdersEnd = PassedDescriptor(taking: ends[1])
        let held = DescriptorLease(ends[0], onReleased)
        do throws(SystemError) {
            try DescriptorReserve.check(ends)
            held.source = try ControlLoop.shared.add(ends[0], .readable) { [weak held] readiness in
                held?.look(readiness)
            }
        } catch {
            held.cancel()
            throw error
        }
        return (held, holdersEnd)
    }

    private init(_ descriptor: Int32, _ onReleased: @escaping @ControlPlane () -> Void) {
        self.descriptor = descriptor
        self.onReleased = onReleased
    }

    isolated deinit { cancel() }

    /// Ends the lease from btcalld's side. A second call does nothing.
    package func cancel() {
        guard onReleased != nil else { return }
        onReleased = nil
        source?.cancel()
        source = nil
        close(descriptor)
    }

    private func look(_ readiness: Readiness) {
        if readiness.contains(.readable) { discard() }
        guard readiness.contains(.hangup) || readiness.contains(.error) else { return }
        let handler = onReleased
        cancel()
        handler?()
    }

    /// Reads once a turn, so that a holder that never stops writing does not block the control loop.
    private func discard() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        // No data, or the end of the pipe: the hang-up reports it.
        _ = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    }
}
