internal import CBTCall
internal import Glibc
package import Logging

/// Accepts the connections of a listening socket.
///
/// While the process or the system has no descriptor to spare the socket stays readable: it is left alone for ``pause``, those that
/// connect wait in the kernel's queue, and the log says so once until one of them is accepted.
@ControlPlane
package final class Listener {
    package static let pause = Duration.seconds(1)
    /// Connections that are accepted at once; the next ones wait for their turn.
    private static let mostAtOnce = 8
    /// So many closes that last (`btcall_close_elsewhere`): nobody new is let in who could add to them.
    private static let mostCloses = 16

    private let descriptor: Int32
    private let name: String
    private let logger: Logger?
    private let onAccept: @ControlPlane (Int32) -> Void
    private var source: DescriptorSource?
    private var resumption: Timer?
    private var isShort = false

    /// - Parameters:
    ///   - descriptor: listens and does not block; stays the caller's, who cancels this before it closes it.
    ///   - name: for the log, what it serves: `metrics`.
    ///   - onAccept: gets each connection, which is its own from then on; it does not block and is close-on-exec.
    /// - Throws: why the descriptor cannot be waited for.
    package init(
        _ descriptor: Int32, _ name: String, logger: Logger?, onAccept: @escaping @ControlPlane (Int32) -> Void
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.name = name
        self.logger = logger
        self.onAccept = onAccept
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.acceptAll() }
    }

    /// No connection follows.
    package func cancel() {
        source?.cancel()
        source = nil
        resumption?.cancel()
        resumption = nil
    }

    private func acceptAll() {
        for _ in 0..<Self.mostAtOnce where source != nil {
            guard btcall_closes_waiting() < Self.mostCloses else {
                return rest("a client's descriptors are still being closed: end the program that passed them")
            }
            let accepted = btcall_accept(descriptor)
            guard accepted < 0 else {
                if isShort { logger?.notice("\(name): connections are accepted again") }
                isShort = false
                onAccept(accepted)
                continue
            }
            switch errno {
            case EAGAIN: return
            // Gone before it was accepted, or broken on its way (accept(2)).
            case ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, ENETUNREACH: continue
            default: return rest("\(SystemError("accept")): see LimitNOFILE of the unit")
            }
        }
    }

    private func rest(_ reason: String) {
        if !isShort {
            logger?.warning("\(name): no connection can be accepted, those that come wait: \(reason)")
        }
        isShort = true
        source?.update([])
        resumption = ControlLoop.shared.schedule(after: Self.pause) { [weak self] in
            self?.resumption = nil
            self?.source?.update(.readable)
        }
    }
}
